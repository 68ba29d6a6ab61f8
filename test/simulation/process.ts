/** One start of the command, composed like `commands/sync`, until it ends, is killed, or hangs. */
import fs from 'node:fs'
import { join } from 'node:path'
import { hasCode, StoppedError } from '../../src/base/errors.js'
import { Secret } from '../../src/base/secret.js'
import { newRunId } from '../../src/commands/context.js'
import { reportError } from '../../src/commands/report-error.js'
import { syncAccounts } from '../../src/commands/sync.js'
import type { SyncReport } from '../../src/model/run.js'
import type { Settings } from '../../src/settings/settings.js'
import type { StorageSettings } from '../../src/settings/storage.js'
import type { PointerContents } from '../../src/storage/bucket/documents.js'
import { testLog, UNOBSERVED } from '../support/log/test-log.js'
import { DEFAULTS } from '../support/settings/settings-from-yaml.js'
import type { Versions } from './bucket/versions.js'
import type { Databases } from './databases.js'
import { Generation, generations, type Moment, UNDISTURBED } from './generation.js'
import { createNetwork, type NetworkLog } from './network.js'
import { type Plan, publishOf, type Start } from './plan.js'
import { lastStart } from './plan-start.js'
import { createOpenStore } from './store.js'
import type { VirtualTime } from './virtual-time.js'
import type { World } from './world.js'

interface Ended {
  readonly exitCode: number
  readonly report: SyncReport | null
  readonly problem: string | null
}

export interface StartResult extends Omit<Ended, 'exitCode'> {
  readonly runId: string
  readonly exitCode: number | null
  readonly network: NetworkLog
  readonly generation: Generation
  /** How a second run on another machine ended; null if it was still active when the first one had ended. */
  readonly rival: Ended | null
  readonly warnings: readonly string[]
  /** From the signal to the end, milliseconds; null without a signal. */
  readonly stoppingTookMs: number | null
  readonly tookMs: number
  /** The directory of a copy of the warehouse that was taken while it ran. */
  readonly snapshot: string | null
  readonly snapshotPointer: PointerContents | null
  /** The directory of the warehouse now. After a kill it is a copy of the files at that moment. */
  readonly directory: string
}

interface StartOptions {
  readonly plan: Plan
  readonly start: Start
  readonly world: World
  readonly account: string
  readonly time: VirtualTime
  readonly databases: Databases
  readonly directory: string
  /** The directory for the files of a killed process. */
  readonly nextDirectory: string
  /** The directory for a copy that is taken while the process runs. */
  readonly snapshotDirectory: string
  readonly bucket: Versions | null
  /** Makes the last start read everything again. */
  readonly readAll: boolean
}

export const runStart = async (options: StartOptions): Promise<StartResult> => {
  const { start, world, time, databases, directory, nextDirectory, snapshotDirectory, bucket } = options
  const generation = new Generation(start, join(directory, 'work.duckdb.wal'))
  const network: NetworkLog = { events: [], refused: new Set(), untypable: [] }
  const log = testLog()
  const stop = new AbortController()
  const startedMs = time.nowMs
  const at = (moment: Moment | null | undefined, act: () => void) => {
    if (moment === null || moment === undefined) return
    if ('afterMs' in moment) generations.run(generation, () => setTimeout(act, moment.afterMs))
    else generation.watch(moment, act)
  }
  let signalledAtMs: number | null = null
  at(start.signal, () => {
    signalledAtMs = time.nowMs
    stop.abort(new StoppedError('stopped by SIGTERM'))
  })
  const outage = start.bucket?.outage ?? null
  let outUntilMs = 0
  at(outage?.from, () => {
    outUntilMs = time.nowMs + (outage?.forMs ?? 0)
  })
  let snapshotPointer: PointerContents | null = null
  at(start.snapshot, () => {
    snapshotPointer = bucket?.pointer ?? null
    generations.exit(() => copyDirectory(directory, snapshotDirectory))
  })
  if (start.crash !== null && 'afterMs' in start.crash.at) at(start.crash.at, () => generation.die())
  const runId = newRunId(time.nowMs)
  const run = (of: Generation, home: string, calm: Start): Promise<Ended> =>
    generations.run(of, () =>
      syncAccounts({
        settings: settingsOf({ ...options, directory: home }),
        runId: of === generation ? runId : newRunId(time.nowMs),
        log,
        observer: UNOBSERVED,
        signal: of === generation ? stop.signal : new AbortController().signal,
        onSource: () => undefined,
        createTransport: createNetwork(world, calm, network, of),
        openStore:
          bucket === null || calm.bucket === null
            ? undefined
            : createOpenStore({
                store: bucket.client(),
                start: calm.bucket,
                log: network,
                generation: of,
                isOut: () => time.nowMs < outUntilMs,
              }),
      }).then(
        (report) => ({ exitCode: report.exitCode, report, problem: report.publishError }),
        (error: unknown) => {
          const { exitCode, text } = reportError(error)
          return { exitCode, report: null, problem: text }
        },
      ),
    )
  const work = run(generation, directory, start)
  // A second run of the same bucket, which another machine starts meanwhile. It meets no faults of its own.
  const rivalDirectory = `${directory}-rival`
  const rivals: Generation[] = []
  let rival: Ended | null = null
  at(start.bucket?.rival, () => {
    fs.mkdirSync(rivalDirectory, { recursive: true })
    const second = new Generation(UNDISTURBED)
    rivals.push(second)
    generations.exit(() =>
      run(second, rivalDirectory, lastStart(options.plan)).then((ended) => {
        if (!second.dead) rival = ended
      }),
    )
  })
  at(start.wallJump, () => {
    time.wallMs += start.wallJump?.byMs ?? 0
  })
  const ended = time.drive(
    Promise.race([work, generation.died.then(() => ({ exitCode: null, report: null, problem: null }))]),
  )
  const outcome = await ended.catch(async (error: unknown) => {
    for (const close of generation.closers) close()
    await databases.settled()
    throw error
  })
  for (const second of rivals) {
    second.die()
    await time.idle()
    await closeAll(second, databases)
    fs.rmSync(rivalDirectory, { recursive: true, force: true })
  }
  const tookMs = time.nowMs - startedMs
  const stoppingTookMs = signalledAtMs === null ? null : time.nowMs - signalledAtMs
  generation.note(`ended ${outcome.exitCode} after ${tookMs}`)
  if (outcome.exitCode === null) await leaveBehind(generation, options)
  await databases.settled()
  generation.dead = true
  time.sweep()
  return {
    ...outcome,
    runId,
    network,
    generation,
    warnings: log.lines
      .filter(({ level }) => level === 'warn' || level === 'error')
      .map(({ message, fields }) => `${message} ${JSON.stringify(fields)}`),
    rival,
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

/** Begins again if DuckDB removes a file meanwhile, as the end of a checkpoint does: half a checkpoint is no state that a kill leaves. */
const copyWhole = (from: string, to: string): void => {
  fs.mkdirSync(to, { recursive: true })
  if (!fs.existsSync(from)) return
  try {
    copyDirectory(from, to)
  } catch (error) {
    if (!hasCode(error, 'ENOENT')) throw error
    fs.rmSync(to, { recursive: true })
    copyWhole(from, to)
  }
}

const leftOpen: (() => Promise<void>)[] = []

/** Copies the files as SIGKILL leaves them. Then closes what the dead process has open, which changes only the old files. */
const leaveBehind = async (
  generation: Generation,
  { time, databases, directory, nextDirectory }: StartOptions,
): Promise<void> => {
  await time.idle()
  copyWhole(directory, nextDirectory)
  const wal = join(nextDirectory, 'work.duckdb.wal')
  if (generation.tornLogFrom !== null && fs.existsSync(wal)) {
    const { size } = fs.statSync(wal)
    const from = Math.min(size, generation.tornLogFrom)
    fs.truncateSync(wal, from + Math.floor((size - from) / 2))
  }
  await closeAll(generation, databases)
  fs.rmSync(directory, { recursive: true, force: true })
}

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

const STORAGE: StorageSettings = {
  bucket: 'model',
  rootPrefix: 'test',
  prefix: 'test',
  endpoint: null,
  region: null,
  pathStyle: false,
  azure: null,
  secrets: [],
}

const settingsOf = ({ plan, start, world, account, directory, readAll }: StartOptions): Settings => {
  const { settings } = plan
  return {
    accounts: [
      {
        ...{ name: account, baseUrl: 'http://127.0.0.1:1/api/v1', id: world.account.id },
        token: new Secret(world.account.token),
        rate: plan.world.rate,
        ...{ shared: null, proxy: null },
        exclude: { status: [], surveys: [], projects: [] },
      },
    ],
    accountNames: [account],
    metrics: null,
    notify: null,
    plan: null,
    warehouseDirectory: directory,
    storage: start.bucket === null ? null : STORAGE,
    shard: null,
    // With views, 40 seeds take 142 s of CPU instead of 82.
    publish: { views: plan.checksViews ? DEFAULTS.publish.views : [], formats: publishOf(plan, start) },
    contract: settings.contract,
    time_zone: DEFAULTS.time_zone,
    alarms: DEFAULTS.alarms,
    discover: { overlap: settings.overlapMs, full_listing_every: settings.full_listing_every },
    history: DEFAULTS.history,
    report: DEFAULTS.report,
    refresh: {
      ...DEFAULTS.refresh,
      ...{ recheck_sources_after: settings.recheckSourcesAfterMs, max_age: settings.maxAgeMs },
      // A short list of an inactive survey counts only if it is read.
      ...(readAll || start.shortSources !== null ? { max_age: 0, recheck_sources_after: 0 } : {}),
    },
    limits: {
      ...{ ...DEFAULTS.limits, backoff_max: 30_000, response_bytes_max: 4_194_304 },
      request_timeout: settings.requestTimeoutMs,
      attempts: settings.attemptsMax,
      consecutive_failures_max: settings.consecutive_failures_max,
    },
    log_level: 'silent',
    budget: { requests_max: start.requestsMax, duration_max: start.durationMsMax },
    full: start.full,
    json: false,
    settingsFile: null,
    foundFile: null,
    warnings: [],
  }
}
