/**
 * `last-run.json`, beside the work database or in the bucket: the start and the end of the last sync, also if it could not publish. A kill
 * leaves a start without an end. `status` reads the document; only the run that holds the warehouse writes it.
 */
import { open } from 'node:fs/promises'
import { hostname } from 'node:os'
import { z } from 'zod'
import type { Clock } from '../base/clock.js'
import { hasCode, messageOf } from '../base/errors.js'
import { cutInMiddle } from '../base/human.js'
import { isRunning } from '../base/is-running.js'
import type { Log } from '../base/log.js'
import { parseJson } from '../base/parse.js'
import { readOwnText } from '../base/text-file.js'
import { type Instant, instantFromMs } from '../model/instant.js'
import { replaceContent } from '../publish/replace-file.js'
import { lastRunFile } from '../warehouse/lifecycle/files.js'

export const LAST_RUN_KEY = 'last-run.json'

/** How often a run records that it is still going on. */
const SEEN_EVERY_MS = 60_000
/** A run without a record for this long was killed. The clocks of two machines may differ by this much. */
const SEEN_MS_MAX = 5 * SEEN_EVERY_MS

const time = z.string().refine((text) => !Number.isNaN(Date.parse(text)))

const endSchema = z.object({
  ended_at: time,
  exit_code: z.number(),
  reason: z.string().nullable(),
  /** The stable code of the error that decided the exit code; null without one. */
  error_code: z.string().nullable(),
  /** Whether the published state shows this end. */
  is_published: z.boolean(),
})
const runSchema = z.object({
  run_id: z.string(),
  accounts: z.array(z.string()),
  host: z.string(),
  pid: z.number(),
  started_at: time,
  /** When the run last recorded that it goes on. */
  seen_at: time,
  /** Null: the run goes on, was killed, or could not record its end. */
  end: endSchema.nullable(),
})
export const lastRunSchema = z.object({
  format: z.literal(1),
  run: runSchema,
  /** The previous run, as long as this run has not ended. */
  before: runSchema.nullable(),
})
export type LastRunDocument = z.output<typeof lastRunSchema>
type Run = z.output<typeof runSchema>

/** How a run ended. */
export interface Ending {
  readonly startedMs: number
  readonly endedMs: number
  readonly exitCode: number
  readonly reason: string | null
  readonly errorCode: string | null
  readonly isPublished: boolean
}

/** The run that writes the document. */
export interface Recorder {
  readonly runId: string
  readonly accounts: readonly string[]
}

const REASON_WIDTH_MAX = 600

const timeOf = (ms: number): string => new Date(ms).toISOString()

interface Times {
  readonly startedMs: number
  readonly nowMs: number
}

const runOf = ({ runId, accounts }: Recorder, { startedMs, nowMs }: Times): Run => ({
  run_id: runId,
  accounts: [...accounts],
  host: hostname(),
  pid: process.pid,
  started_at: timeOf(startedMs),
  seen_at: timeOf(nowMs),
  end: null,
})

/** The document while the run goes on. The previous run stays in it. */
export const withStart = (
  current: LastRunDocument | null,
  recorder: Recorder,
  times: Times,
): LastRunDocument => ({
  format: 1,
  run: runOf(recorder, times),
  before: (current?.run.run_id === recorder.runId ? current.before : current?.run) ?? null,
})

/** The document after the run. */
export const withEnd = (
  recorder: Recorder,
  { startedMs, endedMs, exitCode, reason, errorCode, isPublished }: Ending,
): LastRunDocument => ({
  format: 1,
  run: {
    ...runOf(recorder, { startedMs, nowMs: endedMs }),
    end: {
      ended_at: timeOf(endedMs),
      exit_code: exitCode,
      reason: reason === null ? null : cutInMiddle(reason, REASON_WIDTH_MAX),
      error_code: errorCode,
      is_published: isPublished,
    },
  },
  before: null,
})

/** The last sync as `status` shows it. */
export interface LastRun {
  readonly runId: string
  readonly accounts: readonly string[]
  readonly startedAt: Instant
  /** When the run last recorded that it goes on. */
  readonly seenAt: Instant
  /** Null: the run is still going on, or was killed. */
  readonly endedAt: Instant | null
  /** Null without an end. */
  readonly exitCode: number | null
  readonly reason: string | null
  readonly errorCode: string | null
  /** Whether the published state shows how the run ended. */
  readonly isPublished: boolean
}

export interface LastRuns {
  /** The sync that is under way; null if there is none. */
  readonly running: LastRun | null
  /** The last sync that is not under way; null if unknown. */
  readonly last: LastRun | null
}

const instantOf = (text: string): Instant => instantFromMs(Date.parse(text))

/** `isUnderWay` says whether a run without an end is still going on. Without a document, both runs are null. */
export const lastRunsOf = (document: LastRunDocument | null, isUnderWay: (run: Run) => boolean): LastRuns => {
  if (document === null) return { running: null, last: null }
  const { run, before } = document
  return run.end === null && isUnderWay(run)
    ? { running: lastRunOf(run), last: before && lastRunOf(before) }
    : { running: null, last: lastRunOf(run) }
}

const lastRunOf = ({ run_id, accounts, started_at, seen_at, end }: Run): LastRun => ({
  runId: run_id,
  accounts,
  startedAt: instantOf(started_at),
  seenAt: instantOf(seen_at),
  endedAt: end && instantOf(end.ended_at),
  exitCode: end?.exit_code ?? null,
  reason: end?.reason ?? null,
  errorCode: end?.error_code ?? null,
  isPublished: end?.is_published ?? false,
})

// The document of a directory.

/** Null without a readable document. */
const readDocument = async (directory: string): Promise<LastRunDocument | null> => {
  const text = await readOwnText(lastRunFile(directory)).catch(() => null)
  return text === null ? null : parseJson(lastRunSchema, text)
}

export const readLastRuns = async (directory: string, nowMs: number): Promise<LastRuns> =>
  lastRunsOf(await readDocument(directory), (run) => isUnderWay(run, nowMs))

/**
 * Whether the run goes on. If it runs on another machine or in another container, its process cannot be looked up, and `seen_at` decides.
 */
const isUnderWay = ({ host, pid, seen_at }: Run, nowMs: number): boolean =>
  Math.abs(nowMs - Date.parse(seen_at)) < SEEN_MS_MAX && (host !== hostname() || isRunning(pid))

/** The size of every document is a multiple of this, so that the next document fits into the same blocks of a full disk. */
const DOCUMENT_BYTES = 4_096

interface RecordInDirectory {
  readonly directory: string
  readonly recorder: Recorder
  readonly clock: Clock
  readonly log: Log
}

/** Writes the document of a directory. Call `stop` at the end, because a timer holds the process. */
export const recordInDirectory = ({ directory, recorder, clock, log }: RecordInDirectory) => {
  let stop = (): void => undefined
  let writing: Promise<void> = Promise.resolve()
  const sayStarted = (startedMs: number): Promise<void> =>
    changeLastRun(directory, (current) => withStart(current, recorder, { startedMs, nowMs: clock.nowMs() }))
  const sayOften = (startedMs: number): void => {
    stop = clock.after(SEEN_EVERY_MS, () => {
      sayOften(startedMs)
      writing = sayStarted(startedMs).catch((error: unknown) =>
        log.warn({ problem: messageOf(error) }, `the run could not record in ${directory} that it goes on`),
      )
    })
  }
  return {
    /** Throws the errors of the file system. */
    start: async (): Promise<void> => {
      const startedMs = clock.nowMs()
      await sayStarted(startedMs)
      sayOften(startedMs)
    },
    /**
     * If another sync holds the warehouse, which kept this run from it, the document of the other sync stays. Throws the errors of the file
     * system.
     */
    end: async (ending: Ending): Promise<void> => {
      stop()
      await writing
      await changeLastRun(directory, (current) => {
        const other = current === null || current.run.run_id === recorder.runId ? null : current.run
        const isHeld = other !== null && other.end === null && isUnderWay(other, clock.nowMs())
        return isHeld ? null : withEnd(recorder, ending)
      })
    },
    stop: (): void => stop(),
  }
}

/** `change` returns null if the document stays. Throws the errors of the file system. */
const changeLastRun = async (
  directory: string,
  change: (current: LastRunDocument | null) => LastRunDocument | null,
): Promise<void> => {
  const document = change(await readDocument(directory))
  if (document === null) return
  const text = Buffer.from(JSON.stringify(document, null, 1))
  const bytes = DOCUMENT_BYTES * Math.ceil((text.length + 1) / DOCUMENT_BYTES)
  const content = Buffer.concat([text, Buffer.alloc(bytes - text.length, '\n')])
  const file = lastRunFile(directory)
  try {
    await replaceContent(file, content)
  } catch (error) {
    if (!hasCode(error, 'ENOSPC', 'EDQUOT')) throw error
    await writeInPlace(file, content, error)
  }
}

/** Overwrites the file itself, because a full disk has no room for a second file. */
const writeInPlace = async (file: string, content: Buffer, full: unknown): Promise<void> => {
  await using handle = await open(file, 'r+').catch(() => {
    throw full
  })
  const { size } = await handle.stat()
  if (size < content.length) throw full
  await handle.write(content, 0, content.length, 0)
  await handle.sync()
}
