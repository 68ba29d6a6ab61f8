/** Delta commits on the model of an object store, with its faults. The manifests are made by hand. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { ObjectStoreError } from '../../../../src/object-store/object-store.js'
import { parseActions, readCheckpoint } from '../../../../src/publish/delta/actions.js'
import { commitDelta } from '../../../../src/publish/delta/commit.js'
import { stateAfter } from '../../../../src/publish/delta/log.js'
import type { Manifest } from '../../../../src/publish/parquet/manifest.js'
import { type Database, openDatabase } from '../../../../src/warehouse/connection/database.js'
import { TEMPORARY_ROOT, temporaryDirectory } from '../../../support/files/temporary.js'
import { testLog } from '../../../support/log/test-log.js'
import { COLUMNS, manifestKeyOf, manifestWith } from '../../../support/storage/manifests.js'
import { type ModelFault, type ModelRequest, ModelStore } from '../../../support/storage/model-store.js'
import { testClock } from '../../../support/time/test-clock.js'

const LOG = 'data/surveys/_delta_log/'
const commitAt = (number: number) => `${LOG}${String(number).padStart(20, '0')}.json`
const NEW_PROTOCOL = '{"protocol":{"minReaderVersion":3,"minWriterVersion":7}}'
const DAY_MS = 86_400_000

/** Writes and reads checkpoints, and keeps nothing of them. */
let database: Database
beforeAll(async () => {
  database = await openDatabase(':memory:', { directories: [TEMPORARY_ROOT] })
  return () => database.close()
})

const bucket = async () => {
  const clock = testClock()
  const model = new ModelStore({ nowMs: clock.nowMs })
  const scratch = await temporaryDirectory()
  const log = testLog()
  const manifests = new Map<string, Manifest>()
  const read: string[] = []

  const commit = async (
    manifest: Manifest,
    fault?: (request: ModelRequest) => Promise<ModelFault | null> | ModelFault | null,
    signal = new AbortController().signal,
  ) => {
    manifests.set(manifestKeyOf(manifest), manifest)
    await commitDelta({
      ...{ store: model.client(fault === undefined ? {} : { fault }), database, scratch, clock, log, signal },
      ...{ manifest, manifestKey: manifestKeyOf(manifest) },
      readManifest: (key) => {
        read.push(key)
        return Promise.resolve(manifests.get(key) ?? null)
      },
    })
  }
  const numbers = () =>
    [...model.objects.keys()]
      .filter((key) => key.startsWith(LOG) && key.endsWith('.json'))
      .map((key) => Number(key.slice(LOG.length, -'.json'.length)))
      .toSorted((a, b) => a - b)
  const actionsOf = (number: number) => parseActions(String(model.objects.get(commitAt(number))?.body ?? ''))
  /** Active files by the log alone, each as `month version`. */
  const active = () =>
    [...stateAfter(numbers().flatMap(actionsOf)).files.keys()].map((path) =>
      path.replace(/^account=(.*)\/created_month=(.*)\/(v\d+)-.*$/, '$1|$2|$3'),
    )
  return { clock, model, scratch, log, manifests, read, commit, numbers, actionsOf, active }
}

const files = (...names: readonly string[]) => Object.fromEntries(names.map((name) => [`acme|${name}`, 1]))
const [JANUARY, FEBRUARY] = ['2026-01|v1', '2026-02|v1']
const ONE = manifestWith(1, { files: files(JANUARY, FEBRUARY) })
/** January has changed. */
const changed = (version: number) => manifestWith(version, { files: files(`2026-01|v${version}`, FEBRUARY) })

/** The same change in every one of these tables. */
const withTables = (manifest: Manifest, names: readonly string[]): Manifest => ({
  ...manifest,
  tables: manifest.tables.flatMap((table) =>
    names.map((name) => ({
      ...table,
      name,
      files: table.files.map((file) => ({
        ...file,
        path: file.path.replace('data/surveys/', `data/${name}/`),
      })),
    })),
  ),
})

describe('a Delta log', () => {
  test('follows the manifests, a commit a version', async () => {
    const { commit, numbers, actionsOf, active } = await bucket()
    await commit(ONE)
    expect(numbers()).toEqual([0])
    await commit(changed(2))
    expect(numbers()).toEqual([0, 1])
    const kinds = actionsOf(1).map((action) => Object.keys(action).join())
    expect(kinds).toEqual(['commitInfo', 'txn', 'remove', 'add'])
    expect(active()).toEqual(['acme|2026-02|v1', 'acme|2026-01|v2'])
  })

  test('is not written for a version that it has, or that changes nothing', async () => {
    const { commit, numbers, model } = await bucket()
    await commit(ONE)
    const before = model.requests.length
    await commit(ONE)
    await commit({ ...ONE, version: 2, run_id: 'run-2' })
    expect(numbers()).toEqual([0])
    expect(model.requests.slice(before).map(({ verb }) => verb)).toEqual(['list', 'get', 'list', 'get'])
  })

  test.each([2, 5])('that ended at version 1 catches up with version %i in one commit', async (version) => {
    const { commit, numbers, active, read } = await bucket()
    await commit(ONE)
    await commit(changed(version))
    expect(read).toEqual(['versions/000001-run-1.json'])
    expect(numbers()).toEqual([0, 1])
    expect(active()).toEqual(['acme|2026-02|v1', `acme|2026-01|v${version}`])
  })

  test('needs the earlier manifest once for all tables', async () => {
    const { commit, read } = await bucket()
    for (const manifest of [ONE, changed(2)]) await commit(withTables(manifest, ['surveys', 'other']))
    expect(read).toEqual(['versions/000001-run-1.json'])
  })

  test('is compared with its own files when its manifest is gone, and then names the new one', async () => {
    const { commit, numbers, actionsOf, active, manifests, read } = await bucket()
    await commit(ONE)
    await commit(changed(2))
    manifests.clear()
    const same = { ...changed(2), version: 3, run_id: 'run-3' }
    await commit(same)
    expect(numbers()).toEqual([0, 1, 2])
    expect(actionsOf(2).map((action) => Object.keys(action).join())).toEqual(['commitInfo', 'txn'])
    manifests.clear()
    await commit(changed(4))
    expect(active()).toEqual(['acme|2026-02|v1', 'acme|2026-01|v4'])
    expect(read).toHaveLength(3)
  })

  test('that somebody else has written to equals the manifest afterwards', async () => {
    const { commit, model, active } = await bucket()
    await commit(ONE)
    const directory = 'account=acme/created_month=2026-01'
    const part = { path: `${directory}/part-0.parquet`, size: 9, modificationTime: 9, dataChange: false }
    const foreign = [
      { commitInfo: { operation: 'OPTIMIZE', operationParameters: { predicate: '[]' }, txnId: 7 } },
      { remove: { path: `${directory}/v1-run-0123456789abcdef.parquet`, dataChange: false } },
      { add: { ...part, partitionValues: { account: 'acme', created_month: '2026-01' } } },
    ]
    model.write(commitAt(1), foreign.map((line) => JSON.stringify(line)).join('\n'))
    await commit(changed(2))
    expect(active()).toEqual(['acme|2026-02|v1', 'acme|2026-01|v2'])
  })

  test('gets a second metadata with a new column, under the same id', async () => {
    const { commit, actionsOf } = await bucket()
    await commit(ONE)
    const columns = [...COLUMNS, { name: 'title', type: 'VARCHAR', nullable: true, comment: '' } as const]
    await commit(manifestWith(2, { files: files('2026-01|v2', '2026-02|v2'), columns }))
    const metaDataOf = (number: number) => actionsOf(number).find(({ metaData }) => metaData)?.metaData
    const [first, second] = [0, 1].map(metaDataOf)
    expect(second?.id).toBe(first?.id)
    expect(second?.schemaString).toContain('title')
    await commit(manifestWith(3, { files: files('2026-01|v3', '2026-02|v2'), columns }))
    expect(actionsOf(2).some(({ metaData }) => metaData)).toBe(false)
  })

  test.each([
    ['is at a later version', 'it is at version 3, and this is 2', (model: ModelStore) => model],
    ['is no JSON', 'commit 0 is no commit', (model: ModelStore) => model.write(commitAt(0), 'oops')],
    [
      'has a protocol that is not ours',
      'reader 3, writer 7',
      (model: ModelStore) => model.write(commitAt(1), `{"commitInfo":{}}\n${NEW_PROTOCOL}`),
    ],
    [
      'lost a commit',
      'commit 0 is missing',
      (model: ModelStore) => {
        model.write(commitAt(1), '{"commitInfo":{}}')
        model.objects.delete(commitAt(0))
      },
    ],
  ])('that %s is not continued, and the error says what to do', async (_, why, damage) => {
    const { commit, model } = await bucket()
    await commit(manifestWith(3, { files: files(JANUARY) }))
    damage(model)
    const problem = await commit(changed(why.includes('this is 2') ? 2 : 4)).catch((error: unknown) => error)
    expect(problem).toBeInstanceOf(ObjectStoreError)
    expect(String(problem)).toContain(why)
    expect(String(problem)).toContain('Delete the log')
  })
})

describe('a commit', () => {
  const onPut = (fault: ModelFault, times = 1) => {
    let left = times
    return ({ verb, key }: ModelRequest) => {
      if (verb !== 'putIfAbsent' || !key.endsWith('.json') || left === 0) return null
      left -= 1
      return fault
    }
  }

  test.each<ModelFault>(['lost_answer', 'repeated'])('with %s is made once', async (fault) => {
    const { commit, numbers, active } = await bucket()
    await commit(ONE, onPut(fault))
    expect(numbers()).toEqual([0])
    await commit(changed(2), onPut(fault))
    expect(numbers()).toEqual([0, 1])
    expect(active()).toEqual(['acme|2026-02|v1', 'acme|2026-01|v2'])
  })

  test.each<ModelFault>(['refused', 'unreachable'])('that is %s is made by the next run', async (fault) => {
    const { commit, numbers } = await bucket()
    await expect(commit(ONE, onPut(fault))).rejects.toThrow(ObjectStoreError)
    expect(numbers()).toEqual([])
    await commit(changed(2))
    expect(numbers()).toEqual([0])
  })

  test.each([
    { to: 'the same version is not made again', version: 2, number: 1, state: 'acme|2026-01|v2' },
    { to: 'an older version follows it', version: 3, number: 2, state: 'acme|2026-01|v3' },
  ])('that loses its number to $to', async ({ version, number, state }) => {
    const { commit, numbers, active } = await bucket()
    await commit(ONE)
    let isFirst = true
    await commit(changed(version), async ({ verb, key }) => {
      if (verb === 'putIfAbsent' && key.endsWith('.json') && isFirst) {
        isFirst = false
        await commit(changed(2))
      }
      return null
    })
    expect(numbers()).toEqual([0, 1, 2].slice(0, number + 1))
    expect(active()).toEqual(['acme|2026-02|v1', state])
  })

  test('is not made after a signal', async () => {
    const { commit, numbers } = await bucket()
    const stop = new Error('stop')
    await expect(commit(ONE, undefined, AbortSignal.abort(stop))).rejects.toBe(stop)
    expect(numbers()).toEqual([])
  })
})

describe('a checkpoint', () => {
  const tenNights = async () => {
    const made = await bucket()
    await made.commit(ONE)
    for (let version = 2; version <= 12; version += 1) {
      made.clock.advance(DAY_MS)
      await made.commit(changed(version))
    }
    return made
  }

  test('is made every ten commits, and holds the state and the removed files', async () => {
    const { model, active, scratch, numbers } = await tenNights()
    const pointer = JSON.parse(String(model.objects.get(`${LOG}_last_checkpoint`)?.body))
    expect(pointer).toEqual({ version: 10, size: 15 })
    const file = join(scratch, 'checkpoint')
    await writeFile(file, model.objects.get(`${LOG}00000000000000000010.checkpoint.parquet`)?.body ?? '')
    const state = stateAfter(await readCheckpoint(database, file))
    expect([...state.files.keys()]).toHaveLength(2)
    expect(state.removed.size).toBe(10)
    expect(state.txns.get('fieldwork-sync')?.version).toBe(11)
    expect(state.metaData?.partitionColumns).toEqual(['account', 'created_month'])
    expect([...state.files.values()][0]).toMatchObject({
      partitionValues: { account: 'acme', created_month: '2026-02' },
      stats: '{"numRecords":1}',
    })
    expect(numbers()).toHaveLength(12)
    expect(active()).toHaveLength(2)
  })

  test('is where a log is read from, and old commits below it are deleted', async () => {
    const { commit, clock, numbers, manifests, model } = await tenNights()
    clock.advance(25 * DAY_MS)
    await commit(changed(13))
    expect(numbers()).toContain(0)
    clock.advance(10 * DAY_MS)
    await commit(changed(14))
    expect(numbers()).toEqual([10, 11, 12, 13])
    manifests.clear()
    model.requests.length = 0
    await commit(changed(15))
    expect(numbers().at(-1)).toBe(14)
    expect(model.requests.map(({ verb }) => verb)).toContain('getToFile')
  })

  test('of tables that grow together is made in different publishes', async () => {
    const { commit, clock, model } = await bucket()
    const names = Array.from({ length: 9 }, (_, at) => `table_${at}`)
    const putsEach: number[] = []
    for (let version = 1; version <= 28; version += 1) {
      clock.advance(DAY_MS)
      model.requests.length = 0
      await commit(withTables(changed(version), names))
      putsEach.push(model.requests.filter(({ verb }) => verb.startsWith('put')).length)
    }
    const CHECKPOINTS_MAX = 3
    expect(Math.max(...putsEach)).toBeLessThanOrEqual(names.length + 2 * CHECKPOINTS_MAX)
    // A checkpoint is at most as late as all tables need that are due at once.
    const latest = 10 + Math.ceil(names.length / CHECKPOINTS_MAX)
    for (const name of names) {
      const checkpoints = [...model.objects.keys()].flatMap(
        (key) =>
          new RegExp(`^data/${name}/_delta_log/0*(\\d+)\\.checkpoint`).exec(key)?.slice(1).map(Number) ?? [],
      )
      expect(checkpoints.length, name).toBeGreaterThanOrEqual(2)
      const gaps = checkpoints.map((number, at) => number - (checkpoints[at - 1] ?? 0))
      expect(Math.max(...gaps), name).toBeLessThanOrEqual(latest)
    }
  })

  test('that fails is only a warning, and the next commit makes it', async () => {
    const { commit, model, log } = await bucket()
    await commit(ONE)
    const refuse = ({ key }: ModelRequest): ModelFault | null =>
      key.includes('checkpoint') ? 'refused' : null
    for (let version = 2; version <= 11; version += 1) await commit(changed(version), refuse)
    expect(log.lines).toMatchObject([{ level: 'warn', message: expect.stringContaining('checkpoint') }])
    expect([...model.objects.keys()].filter((key) => key.includes('checkpoint'))).toEqual([])
    await commit(changed(12))
    expect(String(model.objects.get(`${LOG}_last_checkpoint`)?.body)).toContain('"version":11,')
  })
})
