/**
 * One run of a process: the real modules in the order in which a sync uses them. A text file with a row a line stands for the work
 * database, and a file a partition for Parquet.
 */
import { createHash } from 'node:crypto'
import { appendFile, readFile, rm, writeFile } from 'node:fs/promises'
import { type Clock, sleep } from '../../../src/base/clock.js'
import { hasCode } from '../../../src/base/errors.js'
import type { Log } from '../../../src/base/log.js'
import { Secret } from '../../../src/base/secret.js'
import { Ledger } from '../../../src/http/rate-limit/ledger.js'
import { ADDRESSES, type PublishFormat } from '../../../src/model/publish-formats.js'
import type { ObjectStore } from '../../../src/object-store/object-store.js'
import { dataKey } from '../../../src/publish/parquet/write-version.js'
import type { AccountSettings } from '../../../src/settings/settings.js'
import { cleanUp, mark } from '../../../src/storage/bucket/clean-up.js'
import { databaseKey, LEASE_KEY, snapshotKey, stateOf } from '../../../src/storage/bucket/documents.js'
import { catalogOf, replaceObject } from '../../../src/storage/bucket/follow-pointer.js'
import { acquireLease, type Lease, type NamedLedgers } from '../../../src/storage/bucket/lease.js'
import { type HandingOver, restoreLedgers, uploadLedgers } from '../../../src/storage/bucket/ledgers.js'
import { type FencedPointer, fencePointer, LostPublishError } from '../../../src/storage/bucket/pointer.js'
import { agreeOnLayout, proveConditionalWrites } from '../../../src/storage/bucket/preconditions.js'
import { commitVersion } from '../../../src/storage/bucket/publisher.js'
import { prepareLocal, readManifest, writeNote } from '../../../src/storage/bucket/restore.js'
import { baseDatabase, listData, presentFiles, uploadFiles } from '../../../src/storage/bucket/upload.js'
import { WarehouseHeldError } from '../../../src/warehouse/connection/errors.js'
import { manifestOf, namedObject } from '../../support/storage/bucket.js'
import type { Machine } from './machine.js'
import { CAP, LIMITS, type Oracle, WINDOW_MS } from './oracle.js'

export interface Work {
  readonly requests: number
  readonly snapshots: boolean
  readonly cleansUp: boolean
}

interface WriterOptions {
  readonly machine: Machine
  readonly store: ObjectStore
  readonly oracle: Oracle
  readonly work: Work
  /** Ledgers that the world closes after a kill. */
  readonly openLedgers: Set<Ledger>
}

const ACCOUNT: AccountSettings = {
  name: 'only',
  baseUrl: 'https://api.example',
  id: 1,
  token: new Secret('simulated-token'),
  rate: { requests: CAP, perMs: WINDOW_MS },
  shared: null,
  proxy: null,
  exclude: { status: [], surveys: [], projects: [] },
}
const TIMING = { perMs: WINDOW_MS, requestTimeoutMs: 10_000 }
const FORMATS: readonly PublishFormat[] = ['duckdb', 'parquet', 'ducklake']
/** More than the runs without faults at the end write. */
const PARTITIONS = 11
/** A signal for the work before and after the lease. Nothing aborts it. */
const unaborted = (): AbortSignal => new AbortController().signal

export const writerRun = async (options: WriterOptions): Promise<void> => {
  const { machine, store, oracle } = options
  const { clock, place, run } = machine
  const log = logOf(machine, oracle)
  const since = new Date(clock.nowMs()).toISOString()
  const holder = { id: run, host: place.name, pid: 1, command: 'sync', since }
  const lease = await acquired(options, acquireLease({ store, holder, clock, log, signal: unaborted() }))
  machine.say(`holds the lease after ${JSON.stringify(lease.previous)}`)
  const settings = { accounts: [ACCOUNT], warehouseDirectory: place.ledgers }
  const ledgers: HandingOver = { store, lease, settings, clock, log }
  let named: NamedLedgers | null = null
  let ledger: Ledger | null = null
  try {
    const signal = lease.lost
    await proveConditionalWrites(store, null, signal)
    await agreeOnLayout(store, null, signal)
    const pointer = await fencePointer({ store, lease, signal })
    const { directory } = place
    const prepared = await prepareLocal({ store, pointer: pointer.contents, directory, log, signal })
    machine.say(`${prepared.action} ${prepared.state}`)
    await restoreLedgers(ledgers, prepared.ledgersOf, signal)
    await writeNote(directory, { storage: store.address, state: prepared.state, holder: run })
    ledger = new Ledger({ directory: place.ledgers, owner: ACCOUNT, timing: TIMING, clock })
    options.openLedgers.add(ledger)
    const writing = { ...options, lease, pointer, signal, clock, log }
    await sync(writing, ledger)
    await publish(writing)
    await follow(writing)
  } catch (error) {
    checkLoss(options, lease, error)
    throw error
  } finally {
    if (ledger !== null) {
      ledger.close()
      options.openLedgers.delete(ledger)
      named = await handedOn(ledgers)
    }
    await lease.release({ ledgers: named, signal: unaborted() })
    machine.say(`released, ledgers ${named === null ? 'not ' : ''}uploaded`)
  }
}

/** A run may be refused only by the lease of another one. */
const acquired = async ({ machine, oracle }: WriterOptions, lease: Promise<Lease>): Promise<Lease> => {
  try {
    return await lease
  } catch (error) {
    const stored = oracle.model.objects.get(LEASE_KEY)?.body.toString() ?? ''
    const isReliable = oracle.model.ignored.size === 0
    if (isReliable && error instanceof WarehouseHeldError && stored.includes(`"${machine.run}"`))
      oracle.fail(`${machine.run} holds the lease, but was refused`)
    throw error
  }
}

/** Only a run that lost its lease may lose the pointer. */
const checkLoss = ({ machine, oracle }: WriterOptions, lease: Lease, error: unknown): void => {
  if (!(error instanceof LostPublishError) || oracle.isLedgerLost) return
  try {
    lease.assertHeld()
  } catch {
    return
  }
  oracle.fail(`${machine.run} holds the lease, but could not commit`)
}

const handedOn = async (ledgers: HandingOver): Promise<NamedLedgers | null> => {
  try {
    return await uploadLedgers(ledgers, unaborted())
  } catch {
    return null
  }
}

interface Writing extends WriterOptions {
  readonly lease: Lease
  readonly pointer: FencedPointer
  readonly signal: AbortSignal
  readonly clock: Clock
  readonly log: Log
}

const workFile = ({ place }: Machine): string => `${place.directory}/work.duckdb`

const readWork = async (machine: Machine): Promise<string> => {
  try {
    return await readFile(workFile(machine), 'utf8')
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return ''
    throw error
  }
}

/** Sends requests, each with a row as its answer. */
const sync = async (writing: Writing, ledger: Ledger): Promise<void> => {
  const { machine, work, signal } = writing
  const { clock } = machine
  const freeAtMs = ledger.occupiedMs(CAP).map((ms) => clock.monotonicMs() + ms)
  while (freeAtMs.length < CAP) freeAtMs.push(0)
  for (let request = 1; request <= work.requests; request += 1) {
    const slot = freeAtMs.indexOf(Math.min(...freeAtMs))
    const waitMs = (freeAtMs[slot] ?? 0) - clock.monotonicMs()
    if (waitMs > 0) await sleep(clock, waitMs, signal)
    const holdMs = await sendOne(writing, ledger)
    freeAtMs[slot] = clock.monotonicMs() + holdMs
    await appendFile(workFile(machine), `${machine.run}.${request}\n`)
    if (work.snapshots && request === 2) await snapshot(writing)
  }
}

/** Returns for how long the slot stays taken. */
const sendOne = async ({ machine, oracle, lease }: Writing, ledger: Ledger): Promise<number> => {
  const { random, schedule, run } = machine
  const arrivesMs = random.chance(0.1) ? random.whole(0, 9_900) : random.whole(0, 300)
  const isLost = random.chance(0.1)
  lease.assertHeld()
  const id = ledger.send()
  oracle.sent(run)
  machine.say('sends a request')
  schedule.after(arrivesMs, () => oracle.arrived())
  await new Promise<void>((resolve) => {
    machine.after(isLost ? TIMING.requestTimeoutMs : arrivesMs + 50, () => {
      if (machine.step('answer of the API')) void machine.settle().then(resolve)
    })
  })
  ledger.end(id, isLost ? 'loss' : 'answer')
  return WINDOW_MS + 50 + (isLost ? TIMING.requestTimeoutMs : 0)
}

const snapshot = async (writing: Writing): Promise<void> => {
  const { machine, store, lease, pointer, signal } = writing
  const { place, run } = machine
  const text = await readWork(machine)
  const file = `${place.directory}/snapshot`
  await writeFile(file, text)
  const object = namedObject(snapshotKey(pointer.contents.version + 1, run, 1), text)
  await uploadFiles(writing, [{ ...object, file, base: await baseDatabase(writing, signal) }], signal)
  await pointer.commitSnapshot(object, signal)
  machine.say(`committed ${object.key}`)
  lease.assertHeld()
  await writeNote(place.directory, { storage: store.address, state: object.key, holder: machine.run })
}

const publish = async (writing: Writing): Promise<void> => {
  const { machine, store, oracle, lease, pointer, signal } = writing
  const { place, run } = machine
  const version = pointer.contents.version + 1
  const text = await readWork(machine)
  const database = namedObject(databaseKey(version, run), text)
  const known = await baseFiles(store, pointer, signal)
  const files = partitionsOf(text).map(([partition, rows]) => {
    const digest = createHash('sha256').update(rows).digest('hex')
    const same = known.find(({ sha256, path }) => sha256 === digest && path.includes(`/p=${partition}/`))
    const key = same?.path ?? dataKey(`t/p=${partition}`, version, run, digest)
    return { object: namedObject(key, rows), rows, isNew: same === undefined }
  })
  const fileOf = (key: string) => `${place.directory}/staging/${key}`
  const staged = files.filter(({ isNew }) => isNew)
  for (const { object, rows } of staged) await writeFile(fileOf(object.key), rows)
  await writeFile(fileOf(database.key), text)
  const base = await baseDatabase(writing, signal)
  const uploads = [{ ...database, base }, ...staged.map(({ object }) => object)]
  const filesToUpload = uploads.map((object) => ({ ...object, file: fileOf(object.key) }))
  await uploadFiles(writing, filesToUpload, signal)
  for (const { key } of uploads) await rm(fileOf(key))
  const named = files.map(({ object }) => object)
  const published_at = new Date(machine.clock.nowMs()).toISOString()
  const manifest = { ...manifestOf(version, database, named), published_at }
  oracle.reported(await commitVersion({ store, lease, signal, pointer, run, manifest }))
  machine.say(`committed version ${version}: ${text.split('\n').length - 1} rows`)
  lease.assertHeld()
  const state = stateOf(pointer.contents)
  await writeNote(place.directory, { storage: store.address, state, holder: machine.run })
}

/** Brings the addresses to the version, the rows of a catalog as JSON, and then cleans up. */
const follow = async (writing: Writing): Promise<void> => {
  const { machine, store, oracle, work, pointer, signal, log } = writing
  const { contents } = pointer
  const { version, manifest, database } = contents
  const bytes = oracle.manifest(manifest ?? '')?.database.bytes ?? 0
  await replaceObject(writing, ADDRESSES.duckdb, { copyOf: database ?? '', bytes })
  oracle.checkAddress(ADDRESSES.duckdb, version)
  const { add, rows } = catalogOf(contents)
  const marking = { store, pointer: contents, formats: FORMATS, log, signal, limits: LIMITS }
  const marked = await mark(marking, add)
  const catalog = { snapshot: rows().of('snapshot'), data_file: rows().of('data_file') }
  await replaceObject(writing, ADDRESSES.ducklake, Buffer.from(JSON.stringify(catalog)))
  oracle.checkAddress(ADDRESSES.ducklake, version)
  machine.say(`shows version ${version} of ${catalog.snapshot.length}`)
  if (!work.cleansUp) return
  const removed = await cleanUp(
    {
      ...{ ...writing, ...marking, followed: new Set<string>() },
      readLog: (directory) => Promise.reject(new Error(`${directory} has a Delta log`)),
    },
    marked,
  )
  machine.say(`removed ${removed} objects`)
}

/** The files of the version before that are still there. */
const baseFiles = async (store: ObjectStore, pointer: FencedPointer, signal: AbortSignal) => {
  const { manifest: key } = pointer.contents
  const manifest = key === null ? null : await readManifest(store, key, signal)
  if (manifest === null || typeof manifest === 'string') return []
  const found = presentFiles(manifest, await listData(store, signal))
  return found.manifest.tables.flatMap(({ files }) => files)
}

/** Rows by partition. Old partitions rest: a row belongs to the partition of its run's number. */
const partitionsOf = (text: string): (readonly [number, string])[] => {
  const partitions = new Map<number, string>()
  for (const row of text.split('\n').filter((line) => line !== '')) {
    const partition = Number.parseInt(row.split('-')[1] ?? '', 16) % PARTITIONS
    partitions.set(partition, `${partitions.get(partition) ?? ''}${row}\n`)
  }
  return [...partitions]
}

const logOf = (machine: Machine, oracle: Oracle): Log => {
  const line = (fields: Readonly<Record<string, unknown>>, message: string) => {
    machine.say(`log: ${message}`)
    if (typeof fields.restored === 'string') oracle.restoredAloud(fields.restored)
  }
  return { debug: line, info: line, warn: line, error: line }
}
