/** A publish into a bucket: real rows and files, a model of the store, and what a failure at each step leaves. */
import { existsSync } from 'node:fs'
import { readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { StoppedError } from '../../../../src/base/errors.js'
import type { PublishFormat } from '../../../../src/model/publish-formats.js'
import type { PublishReport } from '../../../../src/model/run.js'
import { ObjectStoreError } from '../../../../src/object-store/object-store.js'
import { manifestSchema, pointerSchema } from '../../../../src/storage/bucket/documents.js'
import { acquireLease } from '../../../../src/storage/bucket/lease.js'
import { fencePointer } from '../../../../src/storage/bucket/pointer.js'
import {
  commitVersion,
  createBucketPublisher,
  createPagePublisher,
  SNAPSHOT_EVERY_MS,
  startSnapshots,
} from '../../../../src/storage/bucket/publisher.js'
import { bucketStates, readNote } from '../../../../src/storage/bucket/restore.js'
import {
  type BucketPublishing,
  listData,
  presentFiles,
  uploadFiles,
} from '../../../../src/storage/bucket/upload.js'
import { openWarehouse } from '../../../../src/warehouse/lifecycle/open.js'
import { temporaryDirectory } from '../../../support/files/temporary.js'
import { testLog } from '../../../support/log/test-log.js'
import { DEFAULTS } from '../../../support/settings/settings-from-yaml.js'
import {
  ALWAYS_HELD,
  holderNamed,
  LOST_LEASE,
  manifestOf,
  NEVER,
  namedObject,
} from '../../../support/storage/bucket.js'
import { type ModelFault, type ModelRequest, ModelStore } from '../../../support/storage/model-store.js'
import { SLOW, slow } from '../../../support/suite/slow.js'
import { minute } from '../../../support/time/instants.js'
import { testClock } from '../../../support/time/test-clock.js'
import { query } from '../../../support/warehouse/duckdb.js'
import { list, survey } from '../../../support/warehouse/rows.js'
import { copiesOf, type TestWarehouse, testWarehouse } from '../../../support/warehouse/warehouse.js'

type Fault = (request: ModelRequest) => ModelFault | null

const DAY_MS = 24 * 3_600_000

const ALL: readonly PublishFormat[] = ['duckdb', 'parquet', 'delta', 'ducklake']

/** As the program names runs. Clean-up leaves what no run has written. */
const RUN = '20260301T000000Z-0000ab'

/** A run with a warehouse of two surveys, on a store that holds these objects. */
const trial = async (
  formats: readonly PublishFormat[] = ALL,
  { warehouse, objects }: { warehouse?: TestWarehouse; objects?: ModelStore['objects'] } = {},
) => {
  const opened = warehouse ?? (await testWarehouse())
  if (warehouse === undefined) await list(opened.account, [survey(1), survey(2)], minute(0))
  const clock = testClock()
  const model = new ModelStore({ nowMs: clock.nowMs })
  for (const [key, { body }] of objects ?? []) model.write(key, body)
  const log = testLog()
  const decide: { fault: Fault } = { fault: () => null }
  const store = model.client({ fault: (request) => decide.fault(request) })
  const stopping = new AbortController()
  // Its time stands still, so that it stays held.
  const held = { store, holder: holderNamed(RUN), clock: testClock(), log, signal: NEVER }
  const lease = await acquireLease(held)
  const release = () => lease.release({ ledgers: {}, signal: NEVER })
  onTestFinished(release)
  const pointer = await fencePointer({ store, lease, signal: NEVER })
  const publishing: BucketPublishing = {
    ...{ store, lease, pointer, formats, runId: RUN, clock, log, stopping: stopping.signal },
    ...{ database: opened.database, directory: opened.directory },
    report: DEFAULTS.report,
    views: SLOW ? DEFAULTS.publish.views : [],
  }
  const current = () =>
    pointerSchema.parse(JSON.parse(model.objects.get('current.json')?.body.toString() ?? 'null'))
  return {
    ...{
      warehouse: opened,
      model,
      clock,
      log,
      decide,
      store,
      stopping,
      pointer,
      publishing,
      current,
      release,
    },
    publish: (signal = NEVER, runId = RUN, given = formats) =>
      createBucketPublisher({ ...publishing, runId, formats: given }).publish(signal),
    publishPage: () => createPagePublisher(publishing).publish(NEVER),
  }
}

const first: { objects: ModelStore['objects']; reports: readonly PublishReport[] } = {
  objects: new Map(),
  reports: [],
}
const publishedCopy = copiesOf(async (warehouse) => {
  await list(warehouse.account, [survey(1), survey(2)], minute(0))
  const { model, publish, release } = await trial(ALL, { warehouse })
  first.reports = await publish()
  await release()
  first.objects = model.objects
})

/** The next run after the first version, which was published once in all formats. */
const nextTrial = async (formats: readonly PublishFormat[] = ALL) => {
  const warehouse = await testWarehouse(await publishedCopy())
  return trial(formats, { warehouse, objects: first.objects })
}

const byPath = (one: { readonly path?: unknown }, other: typeof one) =>
  String(one.path) < String(other.path) ? -1 : 1

const refusing =
  (match: RegExp): Fault =>
  ({ verb, key }) =>
    match.test(`${verb} ${key}`) ? 'refused' : null

describe('a publish', () => {
  test('reports each format with its address, and leaves nothing in the local directory but the note', async () => {
    const { model, current, warehouse } = await nextTrial()
    expect(first.reports.map(({ format, path }) => ({ format, path }))).toEqual([
      { format: 'duckdb', path: 's3://model/test/fieldwork.duckdb' },
      { format: 'parquet', path: `s3://model/test/versions/000001-${RUN}.json` },
      { format: 'delta', path: 's3://model/test/data/' },
      { format: 'ducklake', path: 's3://model/test/fieldwork.ducklake' },
    ])
    expect(current()).toMatchObject({ version: 1, manifest: `versions/000001-${RUN}.json`, snapshot: null })
    expect(first.reports[0]?.bytes).toBe(model.objects.get(`duckdb/000001-${RUN}.duckdb`)?.body.length)
    expect(await readNote(warehouse.directory)).toMatchObject({ state: `versions/000001-${RUN}.json` })
    expect(await readdir(warehouse.directory)).not.toContain('upload')
  })

  slow(
    'without Parquet uploads the database alone, and is committed although the report cannot be written or read, which fails the run',
    async () => {
      const { publish, publishPage, decide, current, model } = await trial(['duckdb', 'report'])
      decide.fault = refusing(/put\w+ report/)
      expect((await publish()).map(({ format }) => format)).toEqual(['duckdb'])
      expect([...model.objects.keys()].filter((key) => key.startsWith('data/'))).toEqual([])
      await expect(publishPage()).rejects.toThrow(ObjectStoreError)
      decide.fault = refusing(/list report/)
      await expect(publishPage()).rejects.toThrow(ObjectStoreError)
      expect(current()).toMatchObject({ version: 1 })
    },
  )

  test('writes and replaces the report, despite a repeated request and a lost answer, and clean-up leaves it', async () => {
    const { publish, publishPage, model, warehouse, decide, clock } = await nextTrial(['duckdb', 'report'])
    for (const fault of ['repeated', 'lost_answer'] as const) {
      decide.fault = ({ verb, key }) => (/^put/.test(verb) && key === 'report.html' ? fault : null)
      await list(warehouse.account, [survey(1, { title: `new: ${fault}` })], minute(1))
      const [report] = await publishPage()
      const html = model.objects.get('report.html')?.body.toString() ?? ''
      const bytes = Buffer.byteLength(html)
      expect(report).toEqual({ format: 'report', path: 's3://model/test/report.html', bytes })
      expect(html).toMatch(new RegExp(`^<!doctype html>[^]*new: ${fault}`))
    }
    clock.advance(60 * DAY_MS)
    await publish(NEVER, 'RUN-2')
    expect(model.objects.get('report.html')?.body.toString()).toContain('new: lost_answer')
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

  test.runIf(SLOW)('writes a file again that somebody deleted from the bucket, and says so', async () => {
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
})

describe('a failure', () => {
  slow('at any step leaves the published version and an empty staging directory', async () => {
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

  test.runIf(SLOW)('of Delta says that the version is published, and the next catches up', async () => {
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

  test.runIf(SLOW)(
    'without Delta keeps the logs for 30 days, and then removes them; with Delta again they start anew',
    async () => {
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
    },
  )

  test('of clean-up is only logged', async () => {
    const { publish, decide, log } = await trial(['duckdb'])
    decide.fault = refusing(/list duckdb/)
    expect(await publish()).toHaveLength(1)
    expect(log.lines.map(({ message }) => message)).toContain(
      'objects that no version needs could not be removed; the next run tries again',
    )
  })
})

test('a signal lets the next run continue from the uploaded database, even if there is no time for the rest', async () => {
  const { publish, decide, stopping, current, warehouse } = await nextTrial()
  await list(warehouse.account, [survey(1, { title: 'new' })], minute(1))
  stopping.abort(new StoppedError('stopped by SIGTERM'))
  const deadline = new AbortController()
  decide.fault = ({ verb, key }) => {
    if (verb === 'putIfAbsent' && key.startsWith('data/')) deadline.abort(new StoppedError('no time left'))
    return null
  }
  await expect(publish(deadline.signal)).rejects.toThrow('no time left')
  expect(current()).toMatchObject({ version: 1, snapshot: { key: `duckdb/000002-${RUN}.duckdb` } })
  expect(await readNote(warehouse.directory)).toMatchObject({ state: `duckdb/000002-${RUN}.duckdb` })
})

test.runIf(SLOW)('a long run saves the work database every 15 minutes, despite a failure', async () => {
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

test.runIf(SLOW)('a damaged local work database is filled again from the bucket', async () => {
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

/** Files for an upload, to a store whose puts have the first of `faults`. */
const filesToUpload = async () => {
  const directory = await temporaryDirectory()
  const model = new ModelStore()
  const faults: (ModelFault | null)[] = []
  const store = model.client({
    fault: ({ verb }) => (verb === 'putIfAbsent' ? (faults.shift() ?? null) : null),
  })
  const options = { store, lease: ALWAYS_HELD, signal: NEVER, clock: testClock(), log: testLog() }
  const fileOf = async (key: string, text: string) => {
    const file = join(directory, key.replaceAll('/', '_'))
    await writeFile(file, text)
    return { ...namedObject(key, text), file }
  }
  return { model, store, options, fileOf, faults }
}

test.each<ModelFault>(['lost_answer', 'repeated'])('an upload with %s has happened', async (fault) => {
  const { options, fileOf, faults, model } = await filesToUpload()
  const pointer = await fencePointer(options)
  faults.push(fault)
  await uploadFiles(options, [await fileOf('data/a', 'text')], NEVER)
  faults.push(fault)
  const manifest = manifestOf(1, namedObject('duckdb/1', 'database'))
  await commitVersion({ ...options, pointer, run: 'RUN', manifest })
  expect(model.objects.get('data/a')?.body.toString()).toBe('text')
  expect(pointer.contents.version).toBe(1)
})

test('nothing is uploaded without the lease, and a foreign object under one of our keys is an error', async () => {
  const { options, fileOf, model } = await filesToUpload()
  const files = [await fileOf('data/a', 'ours')]
  await expect(uploadFiles({ ...options, lease: LOST_LEASE }, files, NEVER)).rejects.toThrow('lost')
  expect(model.objects.size).toBe(0)
  model.write('data/a', 'of somebody else')
  await expect(uploadFiles(options, files, NEVER)).rejects.toThrow('something else writes to this prefix')
})

test('a file that is missing or truncated is not named again', async () => {
  const { model, store } = await filesToUpload()
  const files = ['a', 'b', 'c'].map((name) => namedObject(`data/${name}`, `text ${name}`))
  model.write('data/a', 'text a')
  model.write('data/b', 'text')
  const found = presentFiles(manifestOf(1, namedObject('duckdb/1', ''), files), await listData(store, NEVER))
  expect(found.missing).toEqual(['data/b', 'data/c'])
  expect(found.manifest.tables[0]?.files.map(({ path }) => path)).toEqual(['data/a'])
})
