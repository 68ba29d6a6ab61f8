/** Rebuilding a lost work database from published Parquet files. */
import { chmod, readFile, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { holdOpen } from '../../../support/process/other-process.js'
import { testWarehouse } from '../../../support/warehouse/warehouse.js'
import { night, publishDuckdb, publishedOnce, titles, warnings } from './reader-restore-shared.js'

describe('a published state that cannot be read now may be the newest: exit 7, and nothing is replaced', () => {
  /** The newest state is in `fieldwork.duckdb`, an older one in a version of Parquet files; the work database is lost. */
  const lostWithBoth = async () => {
    const warehouse = await publishedOnce()
    await night(warehouse, 2)
    await publishDuckdb(warehouse)
    await warehouse.database.close()
    await rm(join(warehouse.directory, 'work.duckdb'))
    return warehouse.directory
  }

  test('another process has the published file open for writing, and the message names it; then the newer of both is used', async () => {
    const directory = await lostWithBoth()
    const [published, versions] = [join(directory, 'fieldwork.duckdb'), join(directory, 'parquet')]
    const before = await readFile(published)
    // The published file may be write-protected.
    await chmod(published, 0o644)
    const other = await holdOpen(published)
    const refused = {
      code: 'warehouse_unusable',
      exitCode: 7,
      message: expect.stringMatching(
        new RegExp(
          `^the work database is lost and cannot be rebuilt from ${published} now: process ${other.pid} \\(.*node.*\\) has it open for writing\\. Nothing was replaced\\. Close it there`,
        ),
      ),
    }
    await expect(testWarehouse(directory)).rejects.toMatchObject(refused)
    // The same when it is the only published state.
    await rename(versions, `${versions}.away`)
    await expect(testWarehouse(directory)).rejects.toMatchObject(refused)
    await rename(`${versions}.away`, versions)
    await other.end()
    expect((await readFile(published)).equals(before)).toBe(true)
    const rebuilt = await testWarehouse(directory)
    expect(await titles(rebuilt)).toEqual(['night 2'])
    expect(warnings(rebuilt).at(-1)?.message).toMatch(/rebuilt from the published file$/)
  })
})
