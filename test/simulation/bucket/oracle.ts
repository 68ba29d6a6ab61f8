/** What must hold at every moment, whatever happens to the writers. */
import { z } from 'zod'
import { ADDRESSES } from '../../../src/model/publish-formats.js'
import type { CleanUpLimits } from '../../../src/storage/bucket/clean-up.js'
import {
  type BucketManifest,
  type NamedObject,
  type PointerContents,
  stateOf,
} from '../../../src/storage/bucket/documents.js'
import type { Schedule } from './machine.js'
import { objectsOf, Versions } from './versions.js'

export const CAP = 4
export const WINDOW_MS = 60_000

const MINUTE_MS = 60_000
export const LIMITS: CleanUpLimits = { keepMs: 150 * MINUTE_MS, sweepAfterMs: 60 * MINUTE_MS }

/** The rows that stand for a catalog. */
const catalogSchema = z.object({
  snapshot: z.array(z.object({ snapshot_id: z.number() })),
  data_file: z.array(
    z.object({ path: z.string(), begin_snapshot: z.number(), end_snapshot: z.number().nullable() }),
  ),
})
const NO_CATALOG: z.output<typeof catalogSchema> = { snapshot: [], data_file: [] }

export class Oracle extends Versions {
  readonly #schedule: Schedule
  readonly #rowsOf = new Map<string, readonly string[]>([['nothing', []]])
  /** The older state that a run restored, and said so. */
  #restoredAloud: string | null = null
  /** Whether somebody deleted, cut or restored a ledger. A run that is writing it takes that for another run. */
  isLedgerLost = false
  readonly #arrivals: number[] = []
  readonly #senders: string[] = []

  constructor(schedule: Schedule) {
    super(() => schedule.nowMs, LIMITS)
    this.#schedule = schedule
  }

  override fail(text: string): void {
    super.fail(`${(this.#schedule.nowMs / 1_000).toFixed(1)} s: ${text}`)
  }

  restoredAloud(state: string): void {
    if (this.damaged.size === 0)
      this.fail(`${state} was restored instead of a newer state, and nothing is damaged`)
    this.#restoredAloud = state
  }

  reported(key: string): void {
    if (!this.versions.some(({ manifest }) => manifest === key))
      this.fail(`${key} was reported, but is not published`)
  }

  /** Checks the catalog, which holds every file of each version that it shows. */
  protected override onCatalog(): void {
    const { snapshot, data_file } = this.#catalog()
    this.showsAt(ADDRESSES.ducklake, snapshot.at(-1)?.snapshot_id)
    for (const { snapshot_id: id } of snapshot) {
      const files = data_file
        .filter(({ begin_snapshot: begin, end_snapshot: end }) => begin <= id && (end === null || id < end))
        .map(({ path }) => path)
      const published = this.versions.find(({ content }) => content.version === id)
      const named = published === undefined ? [] : objectsOf(published.content).map(({ key }) => key)
      if (published === undefined || files.toSorted().join() !== named.toSorted().join())
        this.fail(`the catalog shows other files for version ${id} than it has`)
    }
    this.checkCatalogFiles()
  }

  /** No file of a version in the catalog is missing. */
  override checkCatalogFiles(): void {
    const lost = this.#catalog().data_file.filter(
      ({ path }) => !(this.model.objects.has(path) || this.damaged.has(path)),
    )
    if (lost.length > 0) this.fail(`the catalog shows ${lost[0]?.path}, which is gone`)
  }

  #catalog(): z.output<typeof catalogSchema> {
    const body = this.model.objects.get(ADDRESSES.ducklake)?.body
    return body === undefined ? NO_CATALOG : catalogSchema.parse(JSON.parse(body.toString()))
  }

  sent(run: string): void {
    this.#checkConditions()
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

  protected override onVersion(version: number, manifest: BucketManifest): void {
    const files = objectsOf(manifest)
    const rows = files.flatMap(({ key }) => this.#lines(key))
    const database = this.#lines(manifest.database.key)
    // A late put of the pointer may name what was damaged meanwhile.
    const isExcused = [...files, manifest.database].some(({ key }) => this.damaged.has(key))
    if (!isExcused && rows.toSorted().join() !== database.toSorted().join())
      this.fail(`the files of version ${version} do not hold the rows of its database`)
  }

  protected override onState(before: PointerContents, after: PointerContents, database: NamedObject): void {
    this.#checkConditions()
    const rows = this.#lines(database.key)
    const held = new Set(rows)
    this.#rowsOf.set(stateOf(after), rows)
    const base = this.#restoredAloud ?? stateOf(before)
    this.#restoredAloud = null
    const missing = (this.#rowsOf.get(base) ?? []).filter((row) => !held.has(row))
    if (missing.length > 0 && !this.damaged.has(database.key))
      this.fail(`${stateOf(after)} is not derived from ${base}: ${missing.length} rows are lost`)
  }

  /** Two runs at once would overwrite each other. */
  #checkConditions(): void {
    if (this.model.ignored.size > 0) this.fail('a run goes on in a store without conditional writes')
  }

  #lines(key: string): readonly string[] {
    const text = this.model.objects.get(key)?.body.toString() ?? ''
    return text.split('\n').filter((line) => line !== '')
  }
}
