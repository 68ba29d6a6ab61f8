/** What must hold at every moment, whatever happens to the writers. */
import { createHash } from 'node:crypto'
import type { ObjectStore } from '../../../src/object-store/object-store.js'
import type { CleanUpLimits } from '../../../src/publish/bucket/clean-up.js'
import {
  type BucketManifest,
  manifestSchema,
  type NamedObject,
  NOTHING_PUBLISHED,
  type PointerContents,
  parseDocument,
  pointerSchema,
  stateOf,
} from '../../../src/publish/bucket/documents.js'
import { ModelStore } from '../../support/storage/model-store.js'
import type { Schedule } from './schedule.js'

/** The cap of the API. */
export const CAP = 4
export const WINDOW_MS = 60_000

const MINUTE_MS = 60_000
export const LIMITS: CleanUpLimits = { keepMs: 150 * MINUTE_MS, sweepAfterMs: 60 * MINUTE_MS }

interface Version {
  readonly manifest: string
  readonly content: BucketManifest
  readonly manifestAtMs: number
  readonly databaseAtMs: number
}

export class Oracle {
  readonly violations: string[] = []
  /** Keys of the objects that a fault removed or cut. */
  readonly damaged = new Set<string>()
  readonly versions: Version[] = []
  pointer: PointerContents = NOTHING_PUBLISHED
  readonly model: ModelStore
  readonly #schedule: Schedule
  readonly #rowsOf = new Map<string, readonly string[]>([['nothing', []]])
  /** The older state that a run restored, and said so. */
  #restoredAloud: string | null = null
  readonly #arrivals: number[] = []
  readonly #senders: string[] = []

  constructor(schedule: Schedule) {
    this.#schedule = schedule
    const written = (key: string) => this.#written(key)
    this.model = new (class extends ModelStore {
      override write(key: string, body: Buffer | string): string {
        const etag = super.write(key, body)
        written(key)
        return etag
      }
    })({ nowMs: () => schedule.nowMs })
  }

  /** A client without faults, whose deletes are checked. */
  client(): ObjectStore {
    const client = this.model.client()
    return {
      ...client,
      delete: async (keys, signal) => {
        for (const key of keys) this.#checkAge(key)
        await client.delete(keys, signal)
        this.#checkKept()
      },
    }
  }

  fail(text: string): void {
    this.violations.push(`${(this.#schedule.nowMs / 1_000).toFixed(1)} s: ${text}`)
  }

  restoredAloud(state: string): void {
    if (this.damaged.size === 0)
      this.fail(`${state} was restored instead of a newer state, and nothing is damaged`)
    this.#restoredAloud = state
  }

  /** A run reported that this version is published. */
  reported(key: string): void {
    if (!this.versions.some(({ manifest }) => manifest === key))
      this.fail(`${key} was reported, but is not published`)
  }

  sent(run: string): void {
    const last = this.#senders.at(-1)
    if (last === run) return
    if (this.#senders.includes(run)) this.fail(`${run} sends requests again after ${last} has sent some`)
    this.#senders.push(run)
  }

  arrived(): void {
    const { nowMs } = this.#schedule
    this.#arrivals.push(nowMs)
    const inWindow = this.#arrivals.filter((atMs) => atMs > nowMs - WINDOW_MS).length
    if (inWindow > CAP) this.fail(`${inWindow} requests in one window`)
  }

  /** Whether an object equals what a manifest says. */
  isWhole({ key, bytes, sha256 }: NamedObject): boolean {
    const body = this.model.objects.get(key)?.body
    return body?.length === bytes && createHash('sha256').update(body).digest('hex') === sha256
  }

  manifest(key: string): BucketManifest | null {
    const body = this.model.objects.get(key)?.body
    return body === undefined ? null : parseDocument(manifestSchema, body)
  }

  /** After the last run: the version must be whole, and there must be nothing that is not named. */
  checkEnd(): void {
    const named = new Set<string>()
    for (const key of [this.pointer.manifest, ...this.pointer.earlier]) {
      const manifest = key === null ? null : this.manifest(key)
      if (key === null || manifest === null) continue
      for (const object of [{ key }, manifest.database, ...objectsOf(manifest)]) named.add(object.key)
      if (key !== this.pointer.manifest) continue
      const cut = [manifest.database, ...objectsOf(manifest)].filter((object) => !this.isWhole(object))
      if (cut.length > 0) this.fail(`the last version names ${cut[0]?.key}, which is missing or cut`)
    }
    const orphans = [...this.model.objects.keys()].filter(
      (key) => /^(versions|data|duckdb|snapshots)\//.test(key) && !named.has(key),
    )
    if (orphans.length > 0) this.fail(`nothing names ${orphans.join(' ')}`)
  }

  #written(key: string): void {
    if (key !== 'current.json') return
    const body = this.model.objects.get(key)?.body ?? Buffer.alloc(0)
    const pointer = parseDocument(pointerSchema, body)
    if (pointer === null) {
      this.fail('the pointer cannot be read')
      return
    }
    const before = this.pointer
    this.pointer = pointer
    if (stateOf(pointer) === stateOf(before) && pointer.version === before.version) return
    if (pointer.version !== before.version) this.#checkVersion(pointer, before)
    const manifest = pointer.manifest === null ? null : this.manifest(pointer.manifest)
    const database = pointer.snapshot ?? manifest?.database
    if (database === undefined) return
    this.#checkLineage(before, pointer, database)
  }

  #checkVersion(pointer: PointerContents, before: PointerContents): void {
    if (pointer.version !== before.version + 1)
      this.fail(`version ${pointer.version} follows version ${before.version}`)
    const manifest = pointer.manifest === null ? null : this.manifest(pointer.manifest)
    if (manifest === null || pointer.manifest === null) {
      this.fail(`version ${pointer.version} has no manifest when it is published`)
      return
    }
    this.versions.push({
      manifest: pointer.manifest,
      content: manifest,
      manifestAtMs: this.#writtenMs(pointer.manifest),
      databaseAtMs: this.#writtenMs(manifest.database.key),
    })
    for (const object of [manifest.database, ...objectsOf(manifest)])
      if (!this.isWhole(object) && !this.damaged.has(object.key))
        this.fail(`${object.key} is not whole when version ${pointer.version} is published`)
    const rows = filesOf(manifest).flatMap(({ path }) => this.#lines(path))
    const database = this.#lines(manifest.database.key)
    const isExcused = objectsOf(manifest).some(({ key }) => this.damaged.has(key))
    if (!isExcused && rows.toSorted().join() !== database.toSorted().join())
      this.fail(`the files of version ${pointer.version} do not hold the rows of its database`)
  }

  #checkLineage(before: PointerContents, after: PointerContents, database: NamedObject): void {
    const rows = this.#lines(database.key)
    const held = new Set(rows)
    this.#rowsOf.set(stateOf(after), rows)
    const base = this.#restoredAloud ?? stateOf(before)
    this.#restoredAloud = null
    const missing = (this.#rowsOf.get(base) ?? []).filter((row) => !held.has(row))
    if (missing.length > 0)
      this.fail(`${stateOf(after)} is not derived from ${base}: ${missing.length} rows are lost`)
  }

  #writtenMs(key: string): number {
    return this.model.objects.get(key)?.writtenMs ?? 0
  }

  #lines(key: string): readonly string[] {
    const text = this.model.objects.get(key)?.body.toString() ?? ''
    return text.split('\n').filter((line) => line !== '')
  }

  #checkAge(key: string): void {
    const found = this.model.objects.get(key)
    if (found !== undefined && this.#schedule.nowMs - found.writtenMs < LIMITS.sweepAfterMs)
      this.fail(`${key} was removed although it is young`)
  }

  /** A committed version that is young, or one of the newest three, must be whole. */
  #checkKept(): void {
    const { nowMs } = this.#schedule
    this.versions.forEach(({ manifest, content, manifestAtMs }, place) => {
      const isNewest = place >= this.versions.length - NEWEST
      // Nobody can read a version whose manifest was removed.
      if (this.damaged.has(manifest)) return
      if (!(isNewest || nowMs - manifestAtMs < LIMITS.keepMs - LISTED_MS_MAX)) return
      const names = [manifest, ...filesOf(content).map(({ path }) => path)]
      if (isNewest) names.push(content.database.key)
      for (const key of names)
        if (!(this.model.objects.has(key) || this.damaged.has(key)))
          this.fail(`clean-up removed ${key}, which version ${content.version} names`)
    })
  }
}

const NEWEST = 3
/** Between the listing of a clean-up and its last delete. It includes a pause shorter than the lease. */
const LISTED_MS_MAX = 5 * MINUTE_MS

const filesOf = (manifest: BucketManifest | null) => manifest?.tables.flatMap(({ files }) => files) ?? []

export const objectsOf = (manifest: BucketManifest): readonly NamedObject[] =>
  filesOf(manifest).map(({ path, bytes, sha256 }) => ({ key: path, bytes, sha256 }))
