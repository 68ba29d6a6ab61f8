/** The checksums of the blocks of a DuckDB file, against files that DuckDB wrote. */
import { copyFile, open, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { haveBlocksChecksums } from '../../../src/publish/block-checksums.js'
import { openDatabase } from '../../../src/warehouse/connection/database.js'
import { temporaryDirectory } from '../../support/files/temporary.js'
import { chance } from '../../support/suite/chance.js'

const HEADERS_BYTES = 12_288
const BLOCK_BYTES = 262_144
const goOn = new AbortController().signal

/** Some dozens of blocks of numbers, texts and nulls. */
const written = async (): Promise<string> => {
  const file = join(await temporaryDirectory(), 'written.duckdb')
  const database = await openDatabase(file)
  await database.exclusively(async (sql) => {
    await sql.run(`CREATE TABLE t AS SELECT i, hash(i) AS h, 'text ' || hash(i) AS text, CASE WHEN i % 3 = 0 THEN i END AS n
      FROM range(300_000) r(i)`)
    await sql.run('CHECKPOINT')
  })
  await database.close()
  return file
}

test('every block that DuckDB wrote has its checksum, and a single changed byte of any block shows', async () => {
  const file = await written()
  const { size } = await stat(file)
  expect((size - HEADERS_BYTES) / BLOCK_BYTES).toBeGreaterThan(20)
  expect(await haveBlocksChecksums(file, goOn)).toBe(true)
  const lots = chance()
  const changed = `${file}.changed`
  await copyFile(file, changed)
  await using handle = await open(changed, 'r+')
  for (let block = HEADERS_BYTES; block < size; block += BLOCK_BYTES) {
    const at = block + lots.below(BLOCK_BYTES)
    const { buffer } = await handle.read(Buffer.alloc(1), 0, 1, at)
    const [byte = 0] = buffer
    await handle.write(Buffer.from([byte ^ (1 << lots.below(8))]), 0, 1, at)
    expect(await haveBlocksChecksums(changed, goOn), `byte ${at}, ${lots.replay}`).toBe(false)
    await handle.write(buffer, 0, 1, at)
  }
  expect(await haveBlocksChecksums(changed, goOn)).toBe(true)
})
