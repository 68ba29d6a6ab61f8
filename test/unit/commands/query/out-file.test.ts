/** Who may not read the file of `--out` may not read the file that will replace it either. */
import { chmod, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { writeFile as writeOut } from '../../../../src/commands/query/out-file.js'
import { temporaryDirectory } from '../../../support/files/temporary.js'

test('a file that is closed to others stays closed while it is replaced', async () => {
  const out = join(await temporaryDirectory(), 'rows.csv')
  await writeFile(out, 'old')
  await chmod(out, 0o400)
  let mode = 0
  await writeOut(out, [], async (file, write) => {
    mode = (await stat(file)).mode
    // DuckDB opens the file again to write Parquet.
    await writeFile(file, '')
    await write('new')
    return 1
  })
  expect((mode & 0o077).toString(8)).toBe('0')
  expect(((await stat(out)).mode & 0o777).toString(8)).toBe('400')
  expect(await readFile(out, 'utf8')).toBe('new')
})
