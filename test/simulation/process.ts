/** One start of the command, composed like `commands/sync`, until it ends, is killed, or hangs. */
import fs from 'node:fs'
import { join } from 'node:path'
import { StoppedError } from '../../src/base/errors.js'
import { Secret } from '../../src/base/secret.js'
import { reportError } from '../../src/commands/report-error.js'
import { syncAccounts } from '../../src/commands/sync.js'
import type { SyncReport } from '../../src/model/run.js'
import { DEFAULT_WEIGHTS } from '../../src/rules/refresh.js'
import type { Settings } from '../../src/settings/settings.js'
import type { StorageSettings } from '../../src/settings/storage.js'
import type { PointerContents } from '../../src/storage/bucket/documents.js'
import type { Versions } from './bucket/versions.js'
import type { Databases } from './databases.js'
import { Generation, generations, type Moment } from './generation.js'
import { createNetwork, type NetworkLog } from './network.js'
import { watchLog } from './operations.js'
import { lastStart, type Plan, publishOf, type Start } from './plan.js'
import { endRival, type Rival, startRival } from './rival.js'
import { createOpenStore } from './store.js'
import type { VirtualTime } from './virtual-time.js'
import type { World } from './world.js'

type Command = Parameters<typeof syncAccounts>[0]

export interface StartResult {
  /** Null when the process was killed. */
  readonly exitCode: number | null
  readonly report: SyncReport | null
  /** The printed error. */
  readonly problem: string | null
  readonly network: NetworkLog
  readonly generation: Generation
  /** How a second run on another machine ended; null if it was still active when the first one had ended. */
  readonly rival: Rival | null
  readonly warnings: readonly string[]
  /** From the signal to the end, milliseconds; null without a signal. */
  readonly stoppingTookMs: number | null
  readonly tookMs: number
  /** The directory of a copy of the warehouse that was taken while it ran. */
  readonly snapshot: string | null
  /** The bucket's pointer at that moment. */
  readonly snapshotPointer: PointerContents | null
  /** The directory of the warehouse now. After a kill it is a copy of the files at that moment. */
  readonly directory: string
}

export interface StartOptions {
  readonly plan: Plan
  readonly start: Start
  readonly world: World
  /** The name of the account in the settings. */
  readonly account: string
  readonly time: VirtualTime
  readonly databases: Databases
  readonly directory: string
  /** The directory for the files of a killed process. */
  readonly nextDirectory: string
  /** The directory for a copy that is taken while the process runs. */
  readonly snapshotDirectory: string
  /** Null if the warehouse is a directory. */
  readonly bucket: Versions | null
  /** Makes the last start read everything again. */
  readonly readAll: boolean
}

export const runStart = async (options: StartOptions): Promise<StartResult> => {
  const { start, world, time, databases, directory, nextDirectory, snapshotDirectory } = options
  const generation = new Generation(start)
  watchLog(generation, join(directory, 'work.duckdb.wal'))
  const network: NetworkLog = { events: [], refused: new Set(), untypable: 0 }
  const warnings: string[] = []
  const stop = new AbortController()
  const startedMs = time.nowMs
  const later = (afterMs: number, act: () => void) =>
    generations.run(generation, () => setTimeout(act, afterMs))
  const log = {
    debug: () => undefined,
    info: () => undefined,
    warn: (fields: object, message: string) => void warnings.push(`${message} ${JSON.stringify(fields)}`),
    error: (fields: object, message: string) => void warnings.push(`${message} ${JSON.stringify(fields)}`),
  }
  let signalledAtMs: number | null = null
  const at = (moment: Moment | undefined, act: () => void) => {
    if (moment === undefined) return
    if ('afterMs' in moment) later(moment.afterMs, act)
    else generation.watch(moment, act)
  }
  at(start.signal ?? undefined, () => {
    signalledAtMs = time.nowMs
    stop.abort(new StoppedError('stopped by SIGTERM'))
  })
  const outage = start.bucket?.outage ?? null
  let outUntilMs = 0
  at(outage?.from, () => {
    outUntilMs = time.nowMs + (outage?.forMs ?? 0)
  })
  let snapshotPointer: PointerContents | null = null
  at(start.snapshot ?? undefined, () => {
    snapshotPointer = options.bucket?.pointer ?? null
    generations.exit(() => copyDirectory(directory, snapshotDirectory))
  })
  if (start.crash !== null && 'afterMs' in start.crash.at) at(start.crash.at, () => generation.die())
  const compose = (of: Generation, home: string, calm: Start): Command => ({
    settings: settingsOf({ ...options, directory: home }),
    log,
    observer: {
      listed: () => undefined,
      refreshed: () => undefined,
      ended: () => undefined,
      publishing: () => undefined,
    },
    signal: of === generation ? stop.signal : new AbortController().signal,
    onSource: () => undefined,
    createTransport: createNetwork(world, calm, network, of),
    openStore:
      options.bucket === null || calm.bucket === null
        ? undefined
        : createOpenStore({
            store: options.bucket.client(),
            start: calm.bucket,
            log: network,
            generation: of,
            isOut: () => time.nowMs < outUntilMs,
          }),
  })
  const work = generations.run(generation, () => syncAccounts(compose(generation, directory, start)))
  const rivalDirectory = `${directory}-rival`
  const rivals: Rival[] = []
  at(start.bucket?.rival ?? undefined, () => {
    rivals.push(startRival(rivalDirectory, (of, home) => compose(of, home, lastStart(options.plan))))
  })
  if (start.wallJump !== null) {
    const { afterMs, byMs } = start.wallJump
    later(afterMs, () => {
      time.wallMs += byMs
    })
  }
  const ended = time.drive(
    Promise.race([
      work.then(
        (report) => ({ exitCode: report.exitCode as number, report, problem: report.publishError }),
        (error: unknown) => {
          const { exitCode, text } = reportError(error)
          return { exitCode: exitCode as number, report: null, problem: text }
        },
      ),
      generation.died.then(() => ({ exitCode: null, report: null, problem: null })),
    ]),
  )
  const outcome = await ended.catch(async (error: unknown) => {
    for (const close of generation.closers) close()
    await databases.settled()
    throw error
  })
  for (const rival of rivals) await endRival(rival, rivalDirectory, options, closeAll)
  const tookMs = time.nowMs - startedMs
  const stoppingTookMs = signalledAtMs === null ? null : time.nowMs - signalledAtMs
  generation.note(`ended ${outcome.exitCode} after ${tookMs}`)
  if (outcome.exitCode === null) await leaveBehind(generation, options)
  await databases.settled()
  generation.dead = true
  time.sweep()
  return {
    ...outcome,
    network,
    generation,
    warnings,
    rival: rivals.find(({ exitCode }) => exitCode !== null) ?? null,
    stoppingTookMs,
    snapshot: fs.existsSync(snapshotDirectory) ? snapshotDirectory : null,
    snapshotPointer,
    tookMs,
    directory: outcome.exitCode === null ? nextDirectory : directory,
  }
}

/** `fs.cpSync` never returns if DuckDB makes a file shorter meanwhile: libuv then waits for the bytes that are gone. */
const copyDirectory = (from: string, to: string): void => {
  fs.mkdirSync(to, { recursive: true })
  for (const entry of fs.readdirSync(from, { withFileTypes: true })) {
    const [source, target] = [join(from, entry.name), join(to, entry.name)]
    if (entry.isDirectory()) copyDirectory(source, target)
    else if (entry.isSymbolicLink()) fs.symlinkSync(fs.readlinkSync(source), target)
    else fs.writeFileSync(target, fs.readFileSync(source), { mode: fs.statSync(source).mode })
  }
}

/** Functions that close the handles of killed processes. */
const leftOpen: (() => Promise<void>)[] = []

/** Copies the files as SIGKILL leaves them. Then closes what the dead process has open, which changes only the old files. */
const leaveBehind = async (
  generation: Generation,
  { time, databases, directory, nextDirectory }: StartOptions,
): Promise<void> => {
  await time.idle()
  if (fs.existsSync(directory)) copyDirectory(directory, nextDirectory)
  else fs.mkdirSync(nextDirectory, { recursive: true })
  const wal = join(nextDirectory, 'work.duckdb.wal')
  if (generation.tornLogFrom !== null && fs.existsSync(wal)) {
    const { size } = fs.statSync(wal)
    const from = Math.min(size, generation.tornLogFrom)
    fs.truncateSync(wal, from + Math.floor((size - from) / 2))
  }
  await closeAll(generation, databases)
  fs.rmSync(directory, { recursive: true, force: true })
}

/** Closes what a dead process has open. */
const closeAll = async (generation: Generation, databases: Databases): Promise<void> => {
  for (const close of generation.closers) close()
  // Not awaited, because a handle that a stream was reading never closes. Kept, or the garbage collector warns about it.
  for (const close of generation.handles) {
    leftOpen.push(close)
    close().catch(() => undefined)
  }
  for (const descriptor of generation.descriptors) {
    try {
      fs.closeSync(descriptor)
    } catch {
      // The process has closed it itself through a handle.
    }
  }
  await databases.settled()
}

const DAY_MS = 86_400_000

const STORAGE: StorageSettings = {
  bucket: 'model',
  rootPrefix: 'test',
  prefix: 'test',
  endpoint: null,
  region: null,
  pathStyle: false,
  secrets: [],
}

const settingsOf = ({ plan, start, world, account, directory, readAll }: StartOptions): Settings => {
  const { settings } = plan
  return {
    accounts: [
      {
        name: account,
        baseUrl: 'http://127.0.0.1:1/api/v1',
        id: world.account.id,
        token: new Secret(world.account.token),
        rate: plan.world.rate,
        shared: null,
        proxy: null,
        weight: 1,
      },
    ],
    accountNames: [account],
    metrics: null,
    notify: null,
    warehouseDirectory: directory,
    storage: start.bucket === null ? null : STORAGE,
    shard: null,
    publish: publishOf(plan, start),
    contract: settings.contract,
    discover: { overlap: settings.overlapMs, full_listing_every: settings.full_listing_every },
    history: { progress_keep_all_for: null },
    report: { time_zone: 'UTC', locale: 'en-GB' },
    refresh: {
      settle_for: readAll ? 100_000 * DAY_MS : settings.settleForMs,
      max_age: readAll ? 0 : 30 * DAY_MS,
      weights: DEFAULT_WEIGHTS,
      list_sources_every: readAll ? 0 : 7 * DAY_MS,
      skip_unchanged: !readAll && settings.skip_unchanged,
      recheck_unchanged_after: 7 * DAY_MS,
      daily_windows: null,
    },
    limits: {
      request_timeout: settings.requestTimeoutMs,
      attempts: settings.attemptsMax,
      backoff_base: 500,
      backoff_max: 30_000,
      response_bytes_max: 4_194_304,
      rejected_rows_max: 0,
      consecutive_failures_max: settings.consecutive_failures_max,
    },
    log_level: 'silent',
    budget: { requests_max: start.requestsMax, duration_max: start.durationMsMax },
    full: start.full,
    json: false,
    settingsFile: null,
  }
}
