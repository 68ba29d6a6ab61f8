/** The versions of a bucket. What must hold at each write of the pointer and at each delete, whatever happens to the writers. */
import { createHash } from 'node:crypto'
import { parseJson } from '../../../src/base/parse.js'
import { ADDRESSES } from '../../../src/model/publish-formats.js'
import type { ObjectStore } from '../../../src/object-store/object-store.js'
import type { CleanUpLimits } from '../../../src/storage/bucket/clean-up.js'
import {
  type BucketManifest,
  manifestSchema,
  type NamedObject,
  NOTHING_PUBLISHED,
  type PointerContents,
  pointerSchema,
  stateOf,
} from '../../../src/storage/bucket/documents.js'
import { ModelStore } from '../../support/storage/model-store.js'

interface Version {
  readonly manifest: string
  readonly content: BucketManifest
  readonly manifestAtMs: number
  readonly databaseAtMs: number
}

export class Versions {
  readonly violations: string[] = []
  /** Keys of the objects that a fault removed or cut. */
  readonly damaged = new Set<string>()
  readonly versions: Version[] = []
  pointer: PointerContents = NOTHING_PUBLISHED
  /** The version that readers find at each address. */
  readonly #shown = new Map<string, number>()
  readonly model: ModelStore
  readonly #nowMs: () => number
  readonly #limits: CleanUpLimits

  constructor(nowMs: () => number, limits: CleanUpLimits) {
    const written = (key: string) => this.#written(key)
    this.#nowMs = nowMs
    this.#limits = limits
    this.model = new (class extends ModelStore {
      override write(key: string, body: Buffer | string): string {
        const etag = super.write(key, body)
        written(key)
        return etag
      }
    })({ nowMs })
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
        this.checkCatalogFiles()
      },
    }
  }

  fail(text: string): void {
    this.violations.push(text)
  }

  protected onVersion(_version: number, _manifest: BucketManifest): void {}
  /** Called when the pointer names another state. `database` is what the next run would restore. */
  protected onState(_before: PointerContents, _after: PointerContents, _database: NamedObject): void {}

  /** A run says that readers find version `version` at an address. */
  checkAddress(key: string, version: number): void {
    const shown = this.#shown.get(key) ?? 0
    if (shown < version) this.fail(`${key} shows version ${shown} after version ${version} was reported`)
  }

  /** Called when an address shows `version`; undefined if it is no version that was published. */
  protected showsAt(key: string, version: number | undefined): void {
    const before = this.#shown.get(key) ?? 0
    if (version === undefined) this.fail(`${key} shows what was never published`)
    else if (version < before) this.fail(`${key} goes back from version ${before} to ${version}`)
    else this.#shown.set(key, version)
  }

  protected onCatalog(): void {}
  checkCatalogFiles(): void {}

  /** Whether an object equals what a manifest says. */
  isWhole({ key, bytes, sha256 }: NamedObject): boolean {
    const body = this.model.objects.get(key)?.body
    return body?.length === bytes && createHash('sha256').update(body).digest('hex') === sha256
  }

  manifest(key: string): BucketManifest | null {
    const body = this.model.objects.get(key)?.body
    return body === undefined ? null : parseJson(manifestSchema, body)
  }

  /** What readers see when the pointer is so, and what the next run would restore. */
  at({ manifest: key, snapshot }: PointerContents): {
    readonly manifest: BucketManifest | null
    readonly state: NamedObject | null
  } {
    const manifest = key === null ? null : this.manifest(key)
    return { manifest, state: snapshot ?? manifest?.database ?? null }
  }

  /** The current version must be whole, and there must be nothing that neither the pointer nor one of `manifests` names. */
  checkNamed(manifests: readonly string[] = []): void {
    const { manifest: current, earlier, snapshot } = this.pointer
    const readable = [...(current === null ? [] : [current]), ...earlier]
    const named = new Set<string>(snapshot === null ? [] : [snapshot.key])
    for (const key of [...readable, ...manifests]) {
      const manifest = this.manifest(key)
      if (manifest === null) continue
      for (const object of [{ key }, ...objectsOf(manifest)]) named.add(object.key)
      if (readable.includes(key)) named.add(manifest.database.key)
      if (key !== current) continue
      const cut = [manifest.database, ...objectsOf(manifest)].filter((object) => !this.isWhole(object))
      if (cut.length > 0) this.fail(`the last version names ${cut[0]?.key}, which is missing or cut`)
    }
    const orphans = [...this.model.objects.keys()].filter(
      (key) => WRITTEN_ONCE.test(key) && !key.includes('/_delta_log/') && !named.has(key),
    )
    if (orphans.length > 0) this.fail(`nothing names ${orphans.join(' ')}`)
  }

  #written(key: string): void {
    if (key === ADDRESSES.duckdb) {
      const { length: bytes = 0 } = this.model.objects.get(key)?.body ?? {}
      const isShown = ({ database: { sha256 } }: BucketManifest) => this.isWhole({ key, bytes, sha256 })
      this.showsAt(key, this.versions.findLast(({ content }) => isShown(content))?.content.version)
    }
    if (key === ADDRESSES.ducklake) this.onCatalog()
    if (key !== 'current.json') return
    if (this.model.ignored.size > 0) this.fail('a run goes on in a store without conditional writes')
    const body = this.model.objects.get(key)?.body ?? Buffer.alloc(0)
    const pointer = parseJson(pointerSchema, body)
    if (pointer === null) {
      this.fail('the pointer cannot be read')
      return
    }
    const before = this.pointer
    this.pointer = pointer
    if (stateOf(pointer) === stateOf(before) && pointer.version === before.version) return
    if (pointer.version !== before.version) this.#checkVersion(pointer, before)
    const { state } = this.at(pointer)
    if (state !== null) this.onState(before, pointer, state)
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
    this.onVersion(pointer.version, manifest)
  }

  #writtenMs(key: string): number {
    return this.model.objects.get(key)?.writtenMs ?? 0
  }

  #checkAge(key: string): void {
    const found = this.model.objects.get(key)
    if (found !== undefined && this.#nowMs() - found.writtenMs < this.#limits.sweepAfterMs && isLasting(key))
      this.fail(`${key} was removed although it is young`)
  }

  /** A committed version that is young, or one of the newest three, must be whole. */
  #checkKept(): void {
    const nowMs = this.#nowMs()
    this.versions.forEach(({ manifest, content, manifestAtMs }, place) => {
      const isNewest = place >= this.versions.length - NEWEST
      // Nobody can read a version whose manifest was removed.
      if (this.damaged.has(manifest)) return
      if (!(isNewest || nowMs - manifestAtMs < this.#limits.keepMs - LISTED_MS_MAX)) return
      const names = [manifest, ...objectsOf(content).map(({ key }) => key)]
      if (isNewest) names.push(content.database.key)
      for (const key of names)
        if (!(this.model.objects.has(key) || this.damaged.has(key)))
          this.fail(`clean-up removed ${key}, which version ${content.version} names`)
    })
  }
}

const NEWEST = 3
/** Between the listing of a clean-up and its last delete. It includes a pause shorter than the lease. */
const LISTED_MS_MAX = 5 * 60_000

/** Not taken from `src`, whose faults this must find. */
const WRITTEN_ONCE = /^(?:versions|data|duckdb|snapshots)\//

/** The probe of conditional writes removes its own object. */
const isLasting = (key: string): boolean => !key.startsWith('check/')

export const objectsOf = (manifest: BucketManifest): readonly NamedObject[] =>
  manifest.tables
    .flatMap(({ files }) => files)
    .map(({ path, bytes, sha256 }) => ({ key: path, bytes, sha256 }))
