/** The bucket of a seed, which outlives its processes, and the directories of the machines on which they run. */
import fs from 'node:fs'
import { dirname, join } from 'node:path'
import { ADDRESSES, type PublishFormat } from '../../src/model/publish-formats.js'
import { directoryOf } from '../../src/publish/delta/commit.js'
import { nextNumber, readState } from '../../src/publish/delta/read-log.js'
import { CLEAN_UP_LIMITS, cleanUp } from '../../src/storage/bucket/clean-up.js'
import {
  type NamedObject,
  type PointerContents,
  STATE_NOTHING,
  stateOf,
  VERSIONS,
} from '../../src/storage/bucket/documents.js'
import { openDatabase } from '../../src/warehouse/connection/database.js'
import { SILENT } from '../support/log/test-log.js'
import { ALWAYS_HELD, NEVER } from '../support/storage/bucket.js'
import { Versions } from './bucket/versions.js'
import { checkDeltaFiles } from './oracle/published.js'
import type { Plan, Start } from './plan.js'
import type { StartResult } from './process.js'
import type { OpenFile, Readers } from './readers.js'
import type { VirtualTime } from './virtual-time.js'

const HOUR_MS = 3_600_000

export class BucketSide {
  readonly versions: Versions
  readonly #time: VirtualTime
  readonly #home: string
  readonly #empty: Buffer | null
  readonly #directories = new Map<number, string>()
  /** Runs that the bucket held at the last look. */
  #runs: ReadonlySet<string> = new Set()

  /** `empty`: the work database of a machine that starts with an empty bucket; null for none. */
  constructor(time: VirtualTime, home: string, empty: Buffer | null, ignored: Plan['ignored']) {
    this.versions = new Versions(() => time.nowMs, CLEAN_UP_LIMITS)
    this.#time = time
    this.#home = home
    this.#empty = empty
    for (const verb of ignored) this.versions.model.ignored.add(verb)
  }

  /** Lets time pass between two processes. Requests that are under way arrive meanwhile. */
  async pass(ms: number): Promise<void> {
    await this.#time.drive(new Promise<void>((resolve) => setTimeout(resolve, ms)))
  }

  /** The local directory of a start; null without a machine. Deletes what somebody deletes before it. */
  prepare(place: number, { bucket }: Start): string | null {
    if (bucket === null) return null
    const { machine, isEmptied, lost } = bucket
    const { objects } = this.versions.model
    for (const key of [...objects.keys()]) if (lost !== null && key.startsWith(lost)) objects.delete(key)
    const known = this.#directories.get(machine)
    // The kill may have come before the note, which no run with a work database of its own lacks.
    if (known !== undefined && !isEmptied && fs.existsSync(join(known, 'bucket.json'))) return known
    if (known !== undefined) fs.rmSync(known, { recursive: true, force: true })
    const directory = join(this.#home, `machine-${machine}-from-${place}`)
    fs.mkdirSync(directory, { recursive: true })
    if (this.#empty !== null && stateOf(this.versions.pointer) === STATE_NOTHING)
      fs.writeFileSync(join(directory, 'work.duckdb'), this.#empty)
    return directory
  }

  leave({ bucket }: Start, directory: string): void {
    if (bucket !== null) this.#directories.set(bucket.machine, directory)
  }

  /** Writes what readers see into a directory, as a run publishes it there. */
  publishInto(directory: string, pointer: PointerContents): string {
    fs.rmSync(directory, { recursive: true, force: true })
    fs.mkdirSync(directory, { recursive: true })
    const { manifest } = this.versions.at(pointer)
    if (manifest === null) return directory
    this.#write(manifest.database, join(directory, 'fieldwork.duckdb'))
    const files = manifest.tables.flatMap((table) => table.files)
    if (files.length === 0) return directory
    const current = join(directory, 'parquet', 'current')
    fs.mkdirSync(current, { recursive: true })
    fs.writeFileSync(join(current, 'manifest.json'), JSON.stringify(manifest))
    for (const { path } of files) this.#write({ key: path }, join(current, path))
    return directory
  }

  /** What a run on a new machine would restore; null if nothing was uploaded. */
  async openState(readers: Readers, pointer: PointerContents): Promise<OpenFile | null> {
    const { state } = this.versions.at(pointer)
    if (state === null) return null
    const file = join(this.#home, 'state.duckdb')
    fs.rmSync(file, { force: true })
    this.#write(state, file)
    return await readers.open(file)
  }

  #write({ key }: Pick<NamedObject, 'key'>, file: string): void {
    const body = this.versions.model.objects.get(key)?.body
    if (body === undefined) return
    fs.mkdirSync(dirname(file), { recursive: true })
    fs.writeFileSync(file, body)
  }

  /** What a run reported is in the bucket, and nothing was found damaged there. */
  checkReport({ report, rival, exitCode, warnings }: StartResult): void {
    if (rival !== null && rival.exitCode !== 6 && (exitCode === 0 || rival.exitCode === 1))
      this.versions.fail(`a second run at the same time ended with exit ${rival.exitCode}: ${rival.problem}`)
    for (const warning of warnings)
      if (/of the bucket is damaged|missing in the bucket|uploaded again/.test(warning))
        this.versions.fail(`nothing is damaged, but a run warned: ${warning}`)
    for (const { format, path } of report?.published ?? [])
      if (format === 'duckdb' && path.endsWith(`/${ADDRESSES.duckdb}`)) {
        const runId = report?.accounts[0]?.runId
        const published = this.versions.versions.find(({ content }) => content.run_id === runId)
        this.versions.checkAddress(ADDRESSES.duckdb, published?.content.version ?? 1)
      }
  }

  /** No run that the bucket held is missing. */
  async checkRuns(state: OpenFile | null): Promise<void> {
    const { versions } = this
    const rows = state === null ? [] : await state.query('SELECT run_id FROM _sync.runs')
    const runs = new Set(rows.map(({ run_id }) => String(run_id)))
    const lost = [...this.#runs].filter((run) => !runs.has(run))
    if (lost.length > 0) versions.fail(`the bucket lost ${lost.length} runs, such as ${lost[0]}`)
    this.#runs = runs
  }

  /** After the last start: clean-up leaves nothing that is not named. */
  async checkCleanUp(formats: readonly PublishFormat[]): Promise<void> {
    const { versions } = this
    const tables = versions.at(versions.pointer).manifest?.tables ?? []
    const hasDelta = formats.includes('delta')
    const followed = new Set(hasDelta ? tables.map(directoryOf) : [])
    await using database = await openDatabase(':memory:', { directories: [this.#home] })
    const removeOld = async () => {
      const store = versions.client()
      const reading = { store, database, scratch: this.#home, signal: NEVER }
      await cleanUp({
        ...{
          store,
          lease: ALWAYS_HELD,
          pointer: versions.pointer,
          log: SILENT,
          signal: NEVER,
          formats,
          followed,
        },
        readLog: (directory, files) => readState(reading, directory, files, nextNumber(files) - 1),
      })
    }
    this.#time.nowMs += 49 * HOUR_MS
    await removeOld()
    versions.checkNamed([...versions.model.objects.keys()].filter((key) => key.startsWith(VERSIONS)))
    for (const violation of checkDeltaFiles(versions.model)) versions.fail(violation)
    this.#time.nowMs += CLEAN_UP_LIMITS.keepMs
    await removeOld()
    versions.checkNamed()
    if (!hasDelta && [...versions.model.objects.keys()].some((key) => key.includes('/_delta_log/')))
      versions.fail('a Delta log is left a month after Delta was switched off')
  }
}
