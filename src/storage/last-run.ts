/**
 * `last-run.json`, beside the work database or in the bucket: the start and the end of the last sync, also of one that could not publish.
 * A kill leaves a start without an end. `status` reads it; only the run that holds the warehouse writes it.
 */
import { open, readFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import { z } from 'zod'
import type { Clock } from '../base/clock.js'
import { hasCode, messageOf } from '../base/errors.js'
import { cutInMiddle } from '../base/human.js'
import { isRunning } from '../base/is-running.js'
import type { Log } from '../base/log.js'
import { parseJson } from '../base/parse.js'
import { type Instant, instantFromMs } from '../model/instant.js'
import { replaceContent } from '../publish/replace-file.js'
import { lastRunFile } from '../warehouse/lifecycle/files.js'

export const LAST_RUN_KEY = 'last-run.json'

/** A run says so often that it is still there. */
const SEEN_EVERY_MS = 60_000
/** A run that has said nothing for so long was killed. */
const SEEN_MS_MAX = 5 * SEEN_EVERY_MS

const time = z.string().refine((text) => !Number.isNaN(Date.parse(text)))

const runningSchema = z.object({
  run_id: z.string(),
  accounts: z.array(z.string()),
  host: z.string(),
  pid: z.number(),
  started_at: time,
  /** When it last said that it is still there. */
  seen_at: time,
})
const endedSchema = z.object({
  run_id: z.string(),
  accounts: z.array(z.string()),
  started_at: time,
  ended_at: time,
  exit_code: z.number(),
  reason: z.string().nullable(),
  /** The stable code of the error that decided the exit code; null without one. */
  error_code: z.string().nullable(),
  /** Whether the published state shows this end. */
  is_published: z.boolean(),
})
export const lastRunSchema = z.object({
  format: z.literal(1),
  running: runningSchema.nullable(),
  ended: endedSchema.nullable(),
})
export type LastRunDocument = z.output<typeof lastRunSchema>
type Running = z.output<typeof runningSchema>

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

const NOTHING: LastRunDocument = { format: 1, running: null, ended: null }
const REASON_WIDTH_MAX = 600

const timeOf = (ms: number): string => new Date(ms).toISOString()

/** The document while the run goes on. The end of the run before it stays. */
export const withStart = (
  before: LastRunDocument | null,
  { runId, accounts }: Recorder,
  { startedMs, nowMs }: { readonly startedMs: number; readonly nowMs: number },
): LastRunDocument => ({
  ...(before ?? NOTHING),
  running: {
    run_id: runId,
    accounts: [...accounts],
    host: hostname(),
    pid: process.pid,
    started_at: timeOf(startedMs),
    seen_at: timeOf(nowMs),
  },
})

/** The document after the run. */
export const withEnd = (
  { runId, accounts }: Recorder,
  { startedMs, endedMs, exitCode, reason, errorCode, isPublished }: Ending,
): LastRunDocument => ({
  format: 1,
  running: null,
  ended: {
    run_id: runId,
    accounts: [...accounts],
    started_at: timeOf(startedMs),
    ended_at: timeOf(endedMs),
    exit_code: exitCode,
    reason: reason === null ? null : cutInMiddle(reason, REASON_WIDTH_MAX),
    error_code: errorCode,
    is_published: isPublished,
  },
})

/** What `status` says of the last sync. */
export interface LastRun {
  readonly runId: string
  readonly accounts: readonly string[]
  readonly startedAt: Instant
  /** When it last said that it is there. */
  readonly seenAt: Instant
  /** Null: it is still running, or was killed. */
  readonly endedAt: Instant | null
  /** Null without an end. */
  readonly exitCode: number | null
  readonly reason: string | null
  readonly errorCode: string | null
  /** Whether the published state shows how it ended. */
  readonly isPublished: boolean
}

export interface LastRuns {
  /** The sync that is under way; null if there is none. */
  readonly running: LastRun | null
  /** The last sync that is not under way; null if nothing is known of it. */
  readonly last: LastRun | null
}

const instantOf = (text: string): Instant => instantFromMs(Date.parse(text))

/** `isUnderWay` says whether the run that left only its start is still there. */
export const lastRunsOf = (
  { running, ended }: LastRunDocument,
  isUnderWay: (running: Running) => boolean,
): LastRuns => {
  const started: LastRun | null = running && {
    runId: running.run_id,
    accounts: running.accounts,
    startedAt: instantOf(running.started_at),
    seenAt: instantOf(running.seen_at),
    ...{ endedAt: null, exitCode: null, reason: null, errorCode: null, isPublished: false },
  }
  const last: LastRun | null = ended && {
    runId: ended.run_id,
    accounts: ended.accounts,
    startedAt: instantOf(ended.started_at),
    seenAt: instantOf(ended.ended_at),
    endedAt: instantOf(ended.ended_at),
    exitCode: ended.exit_code,
    reason: ended.reason,
    errorCode: ended.error_code,
    isPublished: ended.is_published,
  }
  return running !== null && isUnderWay(running)
    ? { running: started, last }
    : { running: null, last: started ?? last }
}

// The document of a directory.

/** Null if there is none, or none that can be read. */
const readDocument = async (directory: string): Promise<LastRunDocument | null> => {
  const text = await readFile(lastRunFile(directory)).catch(() => null)
  return text === null ? null : parseJson(lastRunSchema, text)
}

export const readLastRuns = async (directory: string, nowMs: number): Promise<LastRuns> =>
  lastRunsOf((await readDocument(directory)) ?? NOTHING, (running) => isUnderWay(running, nowMs))

/** On another machine, or in another container, its process cannot be looked for. */
const isUnderWay = ({ host, pid, seen_at }: Running, nowMs: number): boolean =>
  nowMs - Date.parse(seen_at) < SEEN_MS_MAX && (host !== hostname() || isRunning(pid))

/** Every document has this many bytes, or a multiple: so a full disk has room for the next one in its place. */
const DOCUMENT_BYTES = 4_096

interface RecordInDirectory {
  readonly directory: string
  readonly recorder: Recorder
  readonly clock: Clock
  readonly log: Log
}

/** Writes the document of a directory. `stop` it, or its timer holds the process. */
export const recordInDirectory = ({ directory, recorder, clock, log }: RecordInDirectory) => {
  let stop = (): void => undefined
  let writing: Promise<void> = Promise.resolve()
  const seen = (startedMs: number): void => {
    stop = clock.after(SEEN_EVERY_MS, () => seen(startedMs))
    writing = changeLastRun(directory, (before) =>
      withStart(before, recorder, { startedMs, nowMs: clock.nowMs() }),
    ).catch((error: unknown) =>
      log.warn({ problem: messageOf(error) }, `the start of the run could not be recorded in ${directory}`),
    )
  }
  return {
    /** A start that cannot be written only means that `status` cannot tell a kill. */
    start: async (): Promise<void> => {
      seen(clock.nowMs())
      await writing
    },
    /** Another sync may hold the warehouse, and kept this one from it: then its start stays. Throws the errors of the file system. */
    end: async (ending: Ending): Promise<void> => {
      stop()
      await writing
      await changeLastRun(directory, (before) => {
        const running = before?.running ?? null
        const isOther = running !== null && running.run_id !== recorder.runId
        return isOther && isUnderWay(running, clock.nowMs()) ? null : withEnd(recorder, ending)
      })
    },
    stop: (): void => stop(),
  }
}

/** `change` returns null if the document stays. Throws the errors of the file system. */
const changeLastRun = async (
  directory: string,
  change: (before: LastRunDocument | null) => LastRunDocument | null,
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

/** A full disk has no room for a second file. */
const writeInPlace = async (file: string, content: Buffer, full: unknown): Promise<void> => {
  await using handle = await open(file, 'r+').catch(() => {
    throw full
  })
  const { size } = await handle.stat()
  if (size < content.length) throw full
  await handle.write(content, 0, content.length, 0)
  await handle.sync()
}
