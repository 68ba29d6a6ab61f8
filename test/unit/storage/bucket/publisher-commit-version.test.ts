import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { systemClock } from '../../../../src/base/clock.js'
import { fencePointer, readPointer } from '../../../../src/storage/bucket/pointer.js'
import { commitVersion } from '../../../../src/storage/bucket/publisher.js'
import { listData, presentFiles, uploadFiles } from '../../../../src/storage/bucket/upload.js'
import { temporaryDirectory } from '../../../support/files/temporary.js'
import { SILENT } from '../../../support/log/test-log.js'
import { ALWAYS_HELD, LOST_LEASE, manifestOf, NEVER, namedObject } from '../../../support/storage/bucket.js'
import { type ModelFault, ModelStore } from '../../../support/storage/model-store.js'

const trial = async () => {
  const directory = await temporaryDirectory()
  const model = new ModelStore()
  const faults: (ModelFault | null)[] = []
  const store = model.client({
    fault: ({ verb }) => (verb === 'putIfAbsent' ? (faults.shift() ?? null) : null),
  })
  const options = { store, lease: ALWAYS_HELD, signal: NEVER, clock: systemClock, log: SILENT }
  const fileOf = async (key: string, text: string) => {
    const file = join(directory, key.replaceAll('/', '_'))
    await writeFile(file, text)
    return { ...namedObject(key, text), file }
  }
  return { model, store, options, fileOf, faults }
}

test('files are uploaded, and then a version that names them is committed', async () => {
  const { model, store, options, fileOf } = await trial()
  const pointer = await fencePointer(options)
  const places = Array.from({ length: 20 }, (_, place) => place)
  const files = await Promise.all(places.map((place) => fileOf(`data/surveys/${place}`, `file ${place}`)))
  const database = await fileOf('duckdb/1', 'database')
  await uploadFiles(options, [...files, database], NEVER)
  expect(model.objects.size).toBe(22)
  expect(model.objects.get('data/surveys/7')?.body.toString()).toBe('file 7')
  const manifest = manifestOf(1, namedObject('duckdb/1', 'database'), files)
  expect(await commitVersion({ ...options, pointer, run: 'RUN', manifest })).toBe('versions/000001-RUN.json')
  const committed = { version: 1, manifest: 'versions/000001-RUN.json', database: 'duckdb/1', run: 'RUN' }
  expect(await readPointer(store, NEVER)).toMatchObject(committed)
})

test.each<ModelFault>(['lost_answer', 'repeated'])('an upload with %s has happened', async (fault) => {
  const { options, fileOf, faults, model } = await trial()
  const pointer = await fencePointer(options)
  faults.push(fault)
  await uploadFiles(options, [await fileOf('data/a', 'text')], NEVER)
  faults.push(fault)
  const manifest = manifestOf(1, namedObject('duckdb/1', 'database'))
  await commitVersion({ ...options, pointer, run: 'RUN', manifest })
  expect(model.objects.get('data/a')?.body.toString()).toBe('text')
  expect(pointer.contents.version).toBe(1)
})

test.each<ModelFault>(['refused', 'unreachable'])('an upload that is %s ends the publish', async (fault) => {
  const { options, fileOf, faults, model } = await trial()
  faults.push(null, fault)
  const files = [await fileOf('data/a', 'a'), await fileOf('data/b', 'b'), await fileOf('data/c', 'c')]
  await expect(uploadFiles(options, files, NEVER)).rejects.toThrow('data/b')
  expect(model.objects.has('data/b')).toBe(false)
})

test('a foreign object under one of our keys is an error', async () => {
  const { options, fileOf, model } = await trial()
  model.write('data/a', 'of somebody else')
  const uploaded = uploadFiles(options, [await fileOf('data/a', 'ours')], NEVER)
  await expect(uploaded).rejects.toThrow('something else writes to this prefix')
})

test('nothing is uploaded without the lease', async () => {
  const { options, fileOf, model } = await trial()
  const files = [await fileOf('data/a', 'a')]
  await expect(uploadFiles({ ...options, lease: LOST_LEASE }, files, NEVER)).rejects.toThrow('lost')
  expect(model.objects.size).toBe(0)
})

test('a file that is missing or truncated is not named again', async () => {
  const { model, store } = await trial()
  const files = ['a', 'b', 'c'].map((name) => namedObject(`data/${name}`, `text ${name}`))
  model.write('data/a', 'text a')
  model.write('data/b', 'text')
  const found = presentFiles(manifestOf(1, namedObject('duckdb/1', ''), files), await listData(store, NEVER))
  expect(found.missing).toEqual(['data/b', 'data/c'])
  expect(found.manifest.tables[0]?.files.map(({ path }) => path)).toEqual(['data/a'])
})
