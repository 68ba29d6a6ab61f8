/**
 * What `verify` does: the comparison of a sample with the API, and the local checks. The sample holds the warehouse, because its requests
 * beside a sync's would exceed the cap. The local checks hold nothing and send nothing to the API.
 */
import { randomBytes } from 'node:crypto'
import { systemClock } from '../base/clock.js'
import { EXIT_CODES } from '../base/errors.js'
import { humanCount } from '../base/human.js'
import type { Log } from '../base/log.js'
import type { Settings } from '../settings/settings.js'
import { requireShardLayout } from '../storage/directory.js'
import { findState, holdStorage, requirePublished } from '../storage/open.js'
import type { Storage } from '../storage/storage.js'
import { sideBySide } from '../sync/side-by-side.js'
import { openDatabaseFile, openParquetVersion } from '../verify/local/check-tables.js'
import type { LocalProof } from '../verify/local/proof.js'
import { verifyBucket, verifyDirectory } from '../verify/local/run.js'
import { verifySample } from '../verify/sample/run.js'
import { unreadable } from '../warehouse/connection/duckdb-error.js'
import type { CliContext, Work } from './context.js'
import { openTelemetry } from './monitored-run.js'
import { type AccountSample, endOfVerify, exitCodeOf, outputOf, type VerifyReport } from './verify/result.js'
import { openSource } from './warehouse-run.js'

interface VerifyRequest {
  readonly settings: Settings
  readonly isLocal: boolean
  /** Surveys to compare per account; null if not given. */
  readonly sample: number | null
  /** Chooses the surveys; undefined if not given. */
  readonly seed: string | undefined
  readonly startedMs: number
}

export const verify = async (context: CliContext, request: VerifyRequest): Promise<void> => {
  const { settings, startedMs, seed = randomBytes(SEED_BYTES).toString('hex') } = request
  await requireShardLayout(settings)
  const { runId, log, redact } = await openTelemetry(settings, context)
  const report = await verifyAll({ ...request, runId, log, signal: context.signal, seed })
  const output = outputOf(report, settings.json, systemClock.monotonicMs() - startedMs)
  context.exit(report.exitCode, {
    reason: endOfVerify(report),
    ...(report.exitCode === EXIT_CODES.data && {
      next: 'do what the output on stdout says about each finding',
    }),
  })
  // The output quotes values of the API, and a value may contain a token.
  await (settings.json ? context.print : context.tell)(redact(output))
}

const SEED_BYTES = 4

type VerifyWork = Work & VerifyRequest & { readonly seed: string }

/** Throws `nothing_published` or a `WarehouseError`. Failures of the API are in the report. */
const verifyAll = async (work: VerifyWork): Promise<VerifyReport> => {
  const { settings, signal, isLocal, seed, sample } = work
  await requireState(settings, signal)
  if (isLocal) {
    const local = await verifyPublished(settings, signal)
    return { exitCode: exitCodeOf(local, null), local, sample: null }
  }
  await using held = await holdStorage({ ...work, command: 'verify' })
  const local = await verifyPublished(settings, held.signal)
  // A state that cannot be read was already reported.
  const isReadable = !local.problems.some(({ rule }) => UNREADABLE.includes(rule))
  const accounts = isReadable ? await sampleAll(work, held) : []
  const outcome = { accounts, isSampleGiven: sample !== null, isSignalled: held.signal.aborted }
  return { exitCode: exitCodeOf(local, outcome), local, sample: { seed, accounts } }
}

/** Called before the storage is held: after a holder of a new bucket ends early, the next run has to wait for a window. */
const requireState = async (settings: Settings, signal: AbortSignal): Promise<void> => {
  const { storage } = settings
  if (storage === null) {
    await requirePublished(settings, await findState(settings, signal))
    return
  }
  const { holdsState } = await import('../storage/bucket/published.js')
  if (!(await holdsState(storage, signal))) await requirePublished(settings, NOTHING)
}

const NOTHING = { published: null, holder: null, runs: { running: null, last: null } } as const

/** Rules whose break means that rows cannot be read. */
const UNREADABLE: readonly string[] = [
  'state_can_be_read',
  'objects_are_intact',
  'files_exist',
  'files_have_their_size',
  'files_have_their_checksum',
]

const verifyPublished = async (settings: Settings, signal: AbortSignal): Promise<LocalProof> => {
  const { storage, warehouseDirectory, publish } = settings
  if (storage === null) return await verifyDirectory(warehouseDirectory, publish.formats, signal)
  // The client of object stores is loaded only for a warehouse in a bucket.
  const { openStore } = await import('../object-store/open.js')
  await using store = await openStore(storage)
  const proof = await verifyBucket(store, signal)
  if (proof.states.length === 0) await requirePublished(settings, NOTHING)
  return proof
}

/** Surveys that are compared if `--sample` is not given and the budget allows it. */
const SAMPLE_DEFAULT = 20

const sampleAll = async (work: VerifyWork, held: Storage): Promise<readonly AccountSample[]> => {
  const { settings, log, sample, seed } = work
  await held.tryOut()
  const published = await requirePublished(settings, await findState(settings, held.signal))
  const open = published.isDirectory ? openParquetVersion : openDatabaseFile
  await using database = await open(published.file).catch((error: unknown) => {
    throw unreadable(published.path, error)
  })
  return await sideBySide({
    accounts: settings.accounts,
    requestsMax: settings.budget.requests_max,
    signal: held.signal,
    log,
    run: async (account, allowance, signal) => {
      // A person waits for the verdict, and can run the command again.
      const limits = { ...settings.limits, patience: 0 }
      await using source = openSource({ account, settings, storage: held, limits, log })
      const proof = await verifySample({
        account: account.name,
        source,
        database,
        context: { signal, allowance },
        sample: sample ?? SAMPLE_DEFAULT,
        seed,
        slackMs: settings.discover.overlap,
        onCompared: progressLog(log, account.name),
      })
      return { ...proof, requests: source.usage().requests }
    },
  })
}

/** At the cap, a sample takes minutes. */
const PROGRESS_EVERY_MS = 10_000

const progressLog = (log: Log, account: string) => {
  let loggedMs = systemClock.monotonicMs()
  return (done: number, of: number): void => {
    if (systemClock.monotonicMs() - loggedMs < PROGRESS_EVERY_MS) return
    loggedMs = systemClock.monotonicMs()
    log.info({ account }, `compared ${humanCount(done)} of ${humanCount(of)} surveys`)
  }
}
