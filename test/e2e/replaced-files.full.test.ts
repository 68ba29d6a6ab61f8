/** A file that `query`, `report` or `export` replaces keeps its mode, and a link to it stays a link. */
import { chmod, lstat, mkdir, readFile, stat, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openSynced } from '../support/command/trial.js'

const modeOf = async (path: string): Promise<number> => (await stat(path)).mode & 0o777

test.concurrent.for([
  ['query', 'rows.csv', ['query', 'SELECT 7 AS seven']],
  ['report', 'page.html', ['report']],
] as const)('%s', async ([, name, args], context) => {
  const trial = await openSynced(context)
  const directory = await trial.temporary()
  const [file, link] = [join(directory, name), join(directory, `link-${name}`)]
  await writeFile(file, '')
  await symlink(name, link)
  await chmod(file, 0o606)
  const ended = await trial.runWarm([...args, '--output', link])
  expect(ended).toMatchObject({ code: 0, stdout: expect.stringContaining(link) })
  expect((await readFile(file, 'utf8')).length).toBeGreaterThan(0)
  expect(await modeOf(file)).toBe(0o606)
  expect((await lstat(link)).isSymbolicLink()).toBe(true)
})

test.concurrent('export', async (context) => {
  const trial = await openSynced(context)
  const out = join(await trial.temporary(), 'out')
  await mkdir(out)
  const args = ['export', '--format', 'csv', '--tables', 'surveys', '--out', out]
  expect(await trial.runWarm(args)).toMatchObject({ code: 0 })
  const files = [out, join(out, 'surveys.csv'), join(out, 'export.json')]
  await chmod(out, 0o705)
  for (const file of files.slice(1)) await chmod(file, 0o606)
  expect(await trial.runWarm(args)).toMatchObject({ code: 0 })
  expect(await Promise.all(files.map(modeOf))).toEqual([0o705, 0o606, 0o606])
})
