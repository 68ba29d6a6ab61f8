/** A publish into a bucket: real rows and files, a model of the store, and what a failure at each step leaves. */
import { existsSync } from 'node:fs'
import { readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { PublishFormat } from '../../../../src/model/publish-formats.js'
import { ObjectStoreError } from '../../../../src/object-store/object-store.js'
import { manifestSchema } from '../../../../src/storage/bucket/documents.js'
import { SNAPSHOT_EVERY_MS, startSnapshots } from '../../../../src/storage/bucket/publisher.js'
import { bucketStates } from '../../../../src/storage/bucket/restore.js'
import { openWarehouse } from '../../../../src/warehouse/lifecycle/open.js'
import { temporaryDirectory } from '../../../support/files/temporary.js'
import { testLog } from '../../../support/log/test-log.js'
import { NEVER } from '../../../support/storage/bucket.js'
import { minute } from '../../../support/time/instants.js'
import { testClock } from '../../../support/time/test-clock.js'
import { query } from '../../../support/warehouse/duckdb.js'
import { list, survey } from '../../../support/warehouse/rows.js'
import { ALL, DAY_MS, nextTrial, RUN, refusing, trial } from './publisher-shared.js'

describe('a publish', () => {
  test('without Parquet uploads the database alone, and is committed although the report cannot be written or read, which fails the run', async () => {
    const { publish, publishPage, decide, current, model } = await trial(['duckdb', 'report'])
    decide.fault = refusing(/put\w+ report/)
    expect((await publish()).map(({ format }) => format)).toEqual(['duckdb'])
    expect([...model.objects.keys()].filter((key) => key.startsWith('data/'))).toEqual([])
    await expect(publishPage()).rejects.toThrow(ObjectStoreError)
    decide.fault = refusing(/list report/)
    await expect(publishPage()).rejects.toThrow(ObjectStoreError)
    expect(current()).toMatchObject({ version: 1 })
  })

  test('writes a file again that somebody deleted from the bucket, and says so', async () => {
    const { publish, model, log } = await nextTrial()
    const [lost] = [...model.objects.keys()].filter((key) => /^data\/surveys\/account.*parquet$/.test(key))
    model.objects.delete(String(lost))
    await publish(NEVER, 'RUN-2')
    const files = [...model.objects.keys()].filter((key) => /^data\/surveys\/account.*parquet$/.test(key))
    expect(files).toHaveLength(1)
    expect(files[0]).toContain('v2-RUN-2')
    const message = 'published files are missing in the bucket and are written again'
    expect(log.lines).toContainEqual(expect.objectContaining({ level: 'warn', message }))
  })

  test('shows the version at both addresses, with every file of each version that is kept', async () => {
    const { publish, model, warehouse, clock } = await nextTrial()
    clock.advance(DAY_MS)
    await list(warehouse.account, [survey(1, { title: 'new' })], minute(1))
    const run = '20260302T000000Z-0000ab'
    await publish(NEVER, run)
    const bodyOf = (key: string) => model.objects.get(key)?.body ?? Buffer.alloc(0)
    expect(bodyOf('fieldwork.duckdb').equals(bodyOf(`duckdb/000002-${run}.duckdb`))).toBe(true)
    const file = join(await temporaryDirectory(), 'fieldwork.ducklake')
    await writeFile(file, bodyOf('fieldwork.ducklake'))
    const shown = await query(
      file,
      `SELECT s.snapshot_id AS version, epoch_ms(s.snapshot_time) AS at, f.path, f.file_size_bytes AS bytes
        FROM ducklake_snapshot s JOIN ducklake_data_file f
        ON s.snapshot_id >= f.begin_snapshot AND s.snapshot_id < coalesce(f.end_snapshot, 99)`,
    )
    for (const [key, version] of [
      [`versions/000001-${RUN}.json`, 1],
      [`versions/000002-${run}.json`, 2],
    ] as const) {
      const { tables, published_at } = manifestSchema.parse(JSON.parse(bodyOf(key).toString()))
      const files = tables
        .filter(({ is_view: isView }) => isView !== true)
        .flatMap((table) => table.files)
        .filter(({ rows }) => rows > 0)
        .map(({ path, bytes }) => ({ version, at: Date.parse(published_at), path, bytes }))
      const found = shown.filter((row) => row.version === version)
      expect(found.toSorted(byPath)).toEqual(files.toSorted(byPath))
      for (const { path, bytes } of files) expect(bodyOf(path)).toHaveLength(bytes)
    }
  })
})

describe('a failure', () => {
  test('at any step leaves the published version and an empty staging directory', async () => {
    const { publish, decide, current, warehouse } = await nextTrial(['duckdb', 'parquet'])
    await list(warehouse.account, [survey(1, { title: 'new' })], minute(1))
    for (const [nth, match] of [
      /putIfAbsent duckdb/,
      /putIfAbsent data\/surveys\/account/,
      /putIfAbsent versions/,
      /putIfMatch current/,
    ].entries()) {
      decide.fault = refusing(match)
      await expect(publish(NEVER, `RUN-${nth + 2}`), String(match)).rejects.toThrow('refused (403)')
      expect(current(), String(match)).toMatchObject({ version: 1, manifest: `versions/000001-${RUN}.json` })
      expect(await readdir(warehouse.directory), String(match)).not.toContain('upload')
    }
    decide.fault = () => null
    expect(await publish(NEVER, 'RUN-9')).toHaveLength(2)
    expect(current()).toMatchObject({ version: 2, manifest: 'versions/000002-RUN-9.json' })
  })

  test('of Delta says that the version is published, and the next catches up', async () => {
    const { publish, decide, current, model } = await trial()
    decide.fault = refusing(/putIfAbsent .*_delta_log/)
    await expect(publish()).rejects.toMatchObject({ code: 'delta_behind' })
    await expect(publish(NEVER, 'RUN-2')).rejects.toThrow(
      /^version 2 is published in s3:\/\/model\/test, but its Delta tables are behind: .*\. The next run catches up$/,
    )
    expect(current()).toMatchObject({ version: 2 })
    decide.fault = () => null
    expect(await publish(NEVER, 'RUN-3')).toHaveLength(ALL.length)
    expect(
      [...model.objects.keys()].filter((key) => key.startsWith('data/surveys/_delta_log/')),
    ).toHaveLength(1)
  })

  test('without Delta keeps the logs for 30 days, and then removes them; with Delta again they start anew', async () => {
    const { publish, model, clock, log } = await nextTrial()
    const night = async (number: number, formats: readonly PublishFormat[]) => {
      await publish(NEVER, `2026030${number}T000000Z-0000ab`, formats)
      clock.advance(15 * DAY_MS)
    }
    const logs = () => [...model.objects.keys()].filter((key) => key.includes('/_delta_log/'))
    const before = logs()
    clock.advance(15 * DAY_MS)
    await night(2, ['duckdb', 'parquet'])
    expect(logs()).toEqual(before)
    const said = log.lines.filter(({ level }) => level !== 'debug').map(({ message }) => message)
    expect(said.join()).not.toContain('Delta')
    await night(3, ['duckdb', 'parquet'])
    expect(logs()).toEqual([])
    await night(4, ALL)
    expect(logs().toSorted()).toEqual(before.toSorted())
  })

  test('of an address says that the version is published, brings up the other, and the next catches up', async () => {
    const { publish, decide, current, model, warehouse } = await nextTrial(['duckdb', 'parquet', 'ducklake'])
    const bodyOf = (key: string) => model.objects.get(key)?.body ?? Buffer.alloc(0)
    const isCurrent = () => bodyOf('fieldwork.duckdb').equals(bodyOf(String(current().database)))
    const before = bodyOf('fieldwork.ducklake')
    await list(warehouse.account, [survey(1, { title: 'new' })], minute(1))
    decide.fault = refusing(/put\w+ fieldwork.ducklake/)
    await expect(publish(NEVER, 'RUN-2')).rejects.toMatchObject({
      code: 'address_behind',
      message: expect.stringMatching(
        /^version 2 is published in s3:\/\/model\/test, but fieldwork.ducklake is behind: .*refused \(403\)\. The next run/,
      ),
    })
    expect([isCurrent(), bodyOf('fieldwork.ducklake').equals(before)]).toEqual([true, true])
    await list(warehouse.account, [survey(1, { title: 'newer' })], minute(2))
    decide.fault = refusing(/list fieldwork.duckdb/)
    await expect(publish(NEVER, 'RUN-3')).rejects.toMatchObject({ code: 'address_behind' })
    expect([isCurrent(), bodyOf('fieldwork.ducklake').equals(before)]).toEqual([false, false])
    decide.fault = () => null
    model.objects.delete('fieldwork.ducklake')
    expect(await publish(NEVER, 'RUN-4')).toHaveLength(3)
    expect([isCurrent(), bodyOf('fieldwork.ducklake').length > 0]).toEqual([true, true])
  })
})

test('a long run saves the work database every 15 minutes, despite a failure', async () => {
  const { publishing, decide, clock, log, current } = await trial(['duckdb'])
  const stop = startSnapshots(publishing)
  const saved = async (count: number) => {
    while (log.lines.filter(({ message }) => /^saved|could not be saved/.test(message)).length < count)
      await new Promise((resolve) => setImmediate(resolve))
  }
  decide.fault = refusing(/putIfAbsent snapshots/)
  clock.advance(SNAPSHOT_EVERY_MS)
  await saved(1)
  expect(current().snapshot).toBeNull()
  decide.fault = () => null
  clock.advance(SNAPSHOT_EVERY_MS)
  await saved(2)
  expect(current()).toMatchObject({ version: 0, snapshot: { key: `snapshots/000001-${RUN}-2.duckdb` } })
  await stop()
})

test('a damaged local work database is filled again from the bucket', async () => {
  const { publish, store, pointer, warehouse } = await trial(['duckdb'])
  await list(warehouse.account, [survey(7)], minute(1))
  await publish()
  const directory = await temporaryDirectory()
  const log = testLog()
  const places = [bucketStates({ store, pointer: pointer.contents, directory, log, signal: NEVER })]
  const opening = { directory, clock: testClock(), log, command: 'a test', published: places }
  await using database = await openWarehouse(opening)
  expect(database.file).toBe(join(directory, 'work.duckdb'))
  expect(existsSync(join(directory, '.bucket.rebuilding'))).toBe(false)
  const rebuilt = 'the work database was lost and is rebuilt from the bucket'
  expect(log.lines.map(({ message }) => message)).toContain(rebuilt)
})

const byPath = (one: { readonly path?: unknown }, other: typeof one) =>
  String(one.path) < String(other.path) ? -1 : 1
