/** Publishing `fieldwork.duckdb`: what readers see while it is replaced, and afterwards. */
import { chmod, link, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DuckDBInstance } from '@duckdb/node-api'
import { describe, expect, test } from 'vitest'
import { StoppedError } from '../../../src/base/errors.js'
import type { Database } from '../../../src/warehouse/connection/database.js'
import { query } from '../../support/warehouse/duckdb.js'
import { testWarehouse } from '../../support/warehouse/warehouse.js'
import { comments, publish, published, publishedOnce, shrunken, titles, withSteps } from './duckdb-shared.js'

describe('the published file', () => {
  test('ignores the log of a killed reader who wrote into the previous file', async () => {
    const warehouse = await publishedOnce()
    const scribbled = join(warehouse.directory, 'scribbled.duckdb')
    await link(published(warehouse), scribbled)
    await chmod(scribbled, 0o644)
    const scribbler = await DuckDBInstance.create(scribbled)
    const connection = await scribbler.connect()
    try {
      await connection.run("UPDATE surveys SET title = 'scribbled'")
      // A kill leaves the log of the old file beside the name of the new one.
      await writeFile(`${published(warehouse)}.wal`, await readFile(`${scribbled}.wal`))
    } finally {
      connection.closeSync()
      scribbler.closeSync()
    }
    await publish(warehouse)
    expect(await titles(published(warehouse))).toEqual([{ title: 'Survey 1' }])
    expect(await readdir(warehouse.directory)).not.toContain('fieldwork.duckdb.wal')
  })
})

describe('a work database that has lost most of its rows', () => {
  test('is rebuilt from its compacted copy when it is lost', async () => {
    const warehouse = await shrunken()
    await publish(warehouse)
    await warehouse.database.close()
    await writeFile(join(warehouse.directory, 'work.duckdb'), 'garbage')
    const rebuilt = await testWarehouse(warehouse.directory)
    expect(await rebuilt.rows('SELECT title FROM surveys ORDER BY id')).toEqual([
      { title: 'Survey 1' },
      { title: 'Survey 2' },
    ])
    expect(await rebuilt.rows(comments)).toEqual(await query(published(warehouse), comments))
    await expect(rebuilt.run('INSERT INTO freshness (account) VALUES (1)')).rejects.toThrow('NOT NULL')
  })
})

describe('a publish that a signal stops', () => {
  const stopped = new StoppedError('stopped by SIGTERM')

  test('during a compacted copy leaves nothing behind, and the next one publishes', async () => {
    const warehouse = await shrunken()
    const controller = new AbortController()
    const interruptibly: Database['interruptibly'] = (signal, work) =>
      warehouse.database.interruptibly(signal, () => {
        const working = work()
        controller.abort(stopped)
        return working
      })
    await expect(publish(withSteps(warehouse, { interruptibly }), controller.signal)).rejects.toBe(stopped)
    expect((await readdir(warehouse.directory)).filter((name) => name.includes('fieldwork'))).toEqual([])
    await publish(warehouse)
    expect(await titles(published(warehouse))).toEqual([{ title: 'Survey 1' }, { title: 'Survey 2' }])
  })
})
