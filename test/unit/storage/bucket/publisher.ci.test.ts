/** A publish into a bucket: real rows and files, a model of the store, and what a failure at each step leaves. */
import { createHash } from 'node:crypto'
import { readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { StoppedError } from '../../../../src/base/errors.js'
import { manifestSchema } from '../../../../src/storage/bucket/documents.js'
import { fencePointer } from '../../../../src/storage/bucket/pointer.js'
import { commitVersion } from '../../../../src/storage/bucket/publisher.js'
import { readNote } from '../../../../src/storage/bucket/restore.js'
import { listData, presentFiles, uploadFiles } from '../../../../src/storage/bucket/upload.js'
import { temporaryDirectory } from '../../../support/files/temporary.js'
import { testLog } from '../../../support/log/test-log.js'
import { ALWAYS_HELD, LOST_LEASE, manifestOf, NEVER, namedObject } from '../../../support/storage/bucket.js'
import { type ModelFault, ModelStore } from '../../../support/storage/model-store.js'
import { minute } from '../../../support/time/instants.js'
import { testClock } from '../../../support/time/test-clock.js'
import { list, survey } from '../../../support/warehouse/rows.js'
import { DAY_MS, first, nextTrial, RUN, refusing, trial } from './publisher-shared.js'

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
})

describe('the database of a night', () => {
  const night = async (change: (base: Buffer) => Buffer | null) => {
    const { publish, model, warehouse, log, current } = await nextTrial(['duckdb'])
    const before = String(current().database)
    const base = change(model.objects.get(before)?.body ?? Buffer.alloc(0))
    if (base === null) model.objects.delete(before)
    else model.write(before, base)
    await list(warehouse.account, [survey(1, { title: 'new' })], minute(1))
    await publish(NEVER, 'RUN-2')
    const bodyOf = (key: string) => model.objects.get(key)?.body ?? Buffer.alloc(0)
    const { database } = manifestSchema.parse(JSON.parse(String(bodyOf(String(current().manifest)))))
    expect(bodyOf(database.key)).toHaveLength(database.bytes)
    expect(createHash('sha256').update(bodyOf(database.key)).digest('hex')).toBe(database.sha256)
    const uploaded = log.lines.find(({ message }) => message === 'uploaded')
    const said = log.lines.filter(({ message }) => message.startsWith('the store does not copy parts'))
    return { bytes: database.bytes, sent: Number(uploaded?.fields.sent_bytes), said: said.length }
  }

  test('is sent where it differs from that of the night before', async () => {
    const { bytes, sent, said } = await night((base) => base)
    expect(sent).toBeGreaterThan(0)
    expect(sent).toBeLessThan(bytes)
    expect(said).toBe(0)
  })

  test('is whole and proved although that of the night before is damaged, cut or gone', async () => {
    const changed = await night((base) => Buffer.concat([base.subarray(0, -1), Buffer.from('?')]))
    expect(changed.sent).toBeLessThan(changed.bytes)
    expect(changed.said).toBe(0)
    for (const damage of [(base: Buffer) => base.subarray(0, base.length / 2), () => null]) {
      const { bytes, sent, said } = await night(damage)
      expect(sent).toBeLessThanOrEqual(bytes)
      expect(said).toBe(1)
    }
  })
})

describe('a failure', () => {
  test('of clean-up is only logged', async () => {
    const { publish, decide, log } = await trial(['duckdb'])
    decide.fault = refusing(/list duckdb/)
    expect(await publish()).toHaveLength(1)
    expect(log.lines.map(({ message }) => message)).toContain(
      'objects that no version needs could not be removed; the next run tries again',
    )
  })
})

test('the next run continues from the uploaded database, also if the run is killed or stopped in the rest of the publish', async () => {
  const { publish, decide, current, warehouse } = await nextTrial()
  await list(warehouse.account, [survey(1, { title: 'new' })], minute(1))
  const deadline = new AbortController()
  decide.fault = ({ verb, key }) => {
    if (verb === 'putIfAbsent' && key.startsWith('data/')) deadline.abort(new StoppedError('no time left'))
    return null
  }
  await expect(publish(deadline.signal)).rejects.toThrow('no time left')
  expect(current()).toMatchObject({ version: 1, snapshot: { key: `duckdb/000002-${RUN}.duckdb` } })
  expect(await readNote(warehouse.directory)).toMatchObject({ state: `duckdb/000002-${RUN}.duckdb` })
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
