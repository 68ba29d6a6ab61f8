/**
 * A real warehouse in a directory of the test, and typed rows to put into it. Times are given as minutes of one
 * night of the server's clock, so that a test reads like a story.
 */

import { readFile, writeFile } from 'node:fs/promises'
import { DuckDBTimestampTZValue } from '@duckdb/node-api'
import { onTestFinished } from 'vitest'
import { z } from 'zod'
import { abortReason, type Clock } from '../../src/base/clock.js'
import type { Log, LogFields } from '../../src/base/log.js'
import { createCalendar } from '../../src/model/calendar.js'
import type { Progress, SampleSource, Survey } from '../../src/model/fields.js'
import { formatInstant, type Instant, parseInstant } from '../../src/model/instant.js'
import type { RunReport } from '../../src/model/run.js'
import { noCounts } from '../../src/model/run-record.js'
import type {
  AccountWarehouse,
  ListingPage,
  ListingPageResult,
  ReadDays,
  RefreshedBundle,
} from '../../src/model/warehouse.js'
import { publishedPlaces } from '../../src/publish/formats.js'
import { accountWarehouse } from '../../src/warehouse/account-warehouse.js'
import { timestamptzCell } from '../../src/warehouse/connection/cells.js'
import type { Database } from '../../src/warehouse/connection/database.js'
import { workFile } from '../../src/warehouse/lifecycle/files.js'
import { openWarehouse } from '../../src/warehouse/lifecycle/open.js'
import { type Finished, temporaryDirectory } from './temporary.js'

/** Minutes after the first of March 2026, 00:00 UTC, on the server's clock. */
export const minute = (minutes: number): Instant => instantOf('2026-03-01T00:00:00Z') + micros(minutes)
const micros = (minutes: number): Instant => BigInt(Math.round(minutes * 60_000_000))

/** A text that is certainly an instant. */
export const instantOf = (text: string): Instant => {
  const instant = parseInstant(text)
  if (instant === null) throw new Error(`${text} is not an instant`)
  return instant
}

/** A clock that stands still until the test moves it; who sleeps on it wakes when it has moved far enough. */
export const testClock = (startsAt = '2026-03-01T00:00:00Z'): Clock & { advance(ms: number): void } => {
  const startMs = Date.parse(startsAt)
  const sleepers = new Set<{ readonly untilMs: number; wake(): void }>()
  let passedMs = 0
  return {
    nowMs: () => startMs + passedMs,
    monotonicMs: () => passedMs,
    sleep: (durationMs, signal) =>
      new Promise((resolve, reject) => {
        const sleeper = { untilMs: passedMs + durationMs, wake: resolve }
        sleepers.add(sleeper)
        signal?.addEventListener('abort', () => {
          sleepers.delete(sleeper)
          reject(abortReason(signal))
        })
      }),
    advance: (ms) => {
      passedMs += ms
      for (const sleeper of [...sleepers].filter(({ untilMs }) => untilMs <= passedMs)) {
        sleepers.delete(sleeper)
        sleeper.wake()
      }
    },
  }
}

export interface LogLine {
  readonly level: string
  readonly fields: LogFields
  readonly message: string
}

export const testLog = (): Log & { readonly lines: LogLine[] } => {
  const lines: LogLine[] = []
  const at = (level: string) => (fields: LogFields, message: string) => {
    lines.push({ level, fields, message })
  }
  return { lines, debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') }
}

export interface TestWarehouse {
  readonly directory: string
  readonly database: Database
  readonly log: ReturnType<typeof testLog>
  readonly account: AccountWarehouse
  /** Rows of a query on the work database: moments as ISO 8601 in UTC, integers as numbers. */
  rows(sql: string): Promise<readonly Row[]>
  run(sql: string): Promise<void>
}

export type Row = Readonly<Record<string, unknown>>

/** Opens a warehouse, which is closed with the test, or with what `finished` registers for. */
export const testWarehouse = async (
  directory?: string,
  finished: Finished = onTestFinished,
): Promise<TestWarehouse> => {
  const inDirectory = directory ?? (await newDirectory(finished))
  const log = testLog()
  const database = await openWarehouse({
    directory: inDirectory,
    clock: testClock(),
    log,
    command: 'a test',
    published: publishedPlaces(inDirectory),
  })
  finished(() => database.close())
  return {
    directory: inDirectory,
    database,
    log,
    account: accountWarehouse(database, 'acme'),
    rows: (sql) => rowsOf(database, sql),
    run: (sql) => database.exclusively((on) => on.run(sql)),
  }
}

/** A directory with an empty warehouse: built once a test file and copied, for eighteen tables take their time. */
export const newDirectory = async (finished: Finished = onTestFinished): Promise<string> => {
  const directory = await temporaryDirectory(finished)
  emptyFile ??= openWarehouse({ directory, clock: testClock(), log: testLog(), command: 'a test' }).then(
    async (database) => {
      await database.close()
      return readFile(workFile(directory))
    },
  )
  await writeFile(workFile(directory), await emptyFile)
  return directory
}
let emptyFile: Promise<Buffer> | null = null

export const rowsOf = (database: Database, sql: string): Promise<readonly Row[]> =>
  database.exclusively((on) => on.rows(z.record(z.string(), z.unknown().transform(plain)), sql))

const plain = (value: unknown): unknown => {
  if (value instanceof DuckDBTimestampTZValue) return formatInstant(timestamptzCell.parse(value))
  return typeof value === 'bigint' ? Number(value) : value
}

export const survey = (id: number, change: Partial<Survey> = {}): Survey => ({
  id,
  title: `Survey ${id}`,
  created_at: minute(-100_000 + id),
  updated_at: minute(-50_000 + id),
  hashid: `s${id}`,
  project_id: null,
  status: 'fieldwork',
  owner_organization_id: 1,
  transition_style: 'single_page',
  respondent_questions_count: 10,
  respondent_iterations_count: 12,
  _extra: null,
  ...change,
})

export const source = (id: number, change: Partial<SampleSource> = {}): SampleSource => ({
  id,
  provider: 'panel',
  sample_size: 100,
  country_code: 'FR',
  description: `Source ${id}`,
  name: `S${id}`,
  hashid: `h${id}`,
  panelist_id_required: false,
  created_at: minute(-90_000),
  updated_at: minute(-90_000),
  _extra: null,
  ...change,
})

/** Progress with `complete` complete interviews and nothing else known of the statuses. */
export const progress = (complete: number, change: Partial<Progress> = {}): Progress => ({
  sample_size: 200,
  interviews_count: complete,
  completion_rate: complete / 200,
  questionnaire_incidence_rate: null,
  target_incidence_rate: null,
  incidence_rate: null,
  drop_out_rate: 0,
  length_of_interview: 300,
  complete_individuals: complete,
  complete_percentage: 100,
  incomplete_individuals: null,
  incomplete_percentage: null,
  quota_full_individuals: null,
  quota_full_percentage: null,
  screen_out_individuals: null,
  screen_out_percentage: null,
  above_target_individuals: null,
  above_target_percentage: null,
  manual_action_individuals: null,
  manual_action_percentage: null,
  pending_analysis_individuals: null,
  pending_analysis_percentage: null,
  speeder_individuals: null,
  speeder_percentage: null,
  straightliner_individuals: null,
  straightliner_percentage: null,
  failed_quality_check_individuals: null,
  failed_quality_check_percentage: null,
  inappropriate_language_individuals: null,
  inappropriate_language_percentage: null,
  _extra: null,
  ...change,
})

/** A refreshed bundle in which every source has the progress of the survey, unless told otherwise. */
export const bundle = (
  surveyId: number,
  at: Instant,
  sources: readonly SampleSource[],
  whole: Progress | null,
  change: Partial<RefreshedBundle> = {},
): RefreshedBundle => ({
  kind: 'refreshed',
  refused: null,
  surveyId,
  at,
  sourcesRead: 'all',
  sources,
  listedSourceIds: sources.map(({ id }) => id),
  progress: whole,
  sourceProgress:
    whole === null ? [] : sources.map(({ id }) => ({ sampleSourceId: id, progress: whole, at })),
  sourceProgressRead: 'all',
  rejections: [],
  drift: [],
  ...change,
})

/** Days of a whole survey and of its sources, read with a bundle: `2026-03-01` of UTC. */
export const daysRead = (
  days: readonly string[],
  sampleSourceIds: readonly (number | null)[],
  row: Progress,
  at: Instant,
): ReadDays => {
  const calendar = createCalendar('UTC')
  const windows = days.map((day) => calendar.windowOf(day)).filter((window) => window !== null)
  return {
    read: 'all',
    sourcesRead: 'all',
    timeZone: 'UTC',
    rows: sampleSourceIds.flatMap((sampleSourceId) =>
      windows.map((window) => ({ sampleSourceId, day: { ...window, isFinal: false }, progress: row, at })),
    ),
  }
}

export const RUN = 'run-1'

export const listingPage = (
  surveys: readonly Survey[],
  at: Instant,
  change: Partial<ListingPage> = {},
): ListingPage => ({
  runId: RUN,
  at,
  page: 1,
  surveys,
  rejections: [],
  drift: [],
  totalCount: surveys.length,
  nextPage: null,
  committedAt: at,
  ...change,
})

/** A whole listing of one page: begun and completed. */
export const list = async (
  warehouse: AccountWarehouse,
  surveys: readonly Survey[],
  at: Instant,
  kind: 'full' | 'incremental' = 'incremental',
): Promise<ListingPageResult> => {
  await warehouse.startListing({
    kind,
    updatedSince: kind === 'full' ? null : (await warehouse.position()).cursor,
    ceiling: at - micros(5),
    startedAt: at,
  })
  return warehouse.commitListingPage(listingPage(surveys, at))
}

const NO_ROWS = { added: 0, changed: 0, unchanged: 0 }

export const runReport = (change: Partial<RunReport> = {}): RunReport => ({
  ...noCounts(),
  runId: RUN,
  account: 'acme',
  command: 'sync',
  status: 'complete',
  exitCode: 0,
  reason: null,
  startedAt: minute(0),
  endedAt: minute(9),
  listing: 'full',
  cursorBefore: null,
  cursorAfter: minute(-5),
  requests: 7,
  retries: 1,
  refusals: 0,
  paceIntervalMs: null,
  surveysListed: 3,
  surveysRefreshed: 2,
  leftOver: 0,
  failing: 0,
  failingSurveys: [],
  rejectedRows: 0,
  driftEvents: 0,
  drift: [],
  rejections: [],
  requestsEstimated: null,
  spending: [],
  rowsByTable: {
    surveys: NO_ROWS,
    sample_sources: NO_ROWS,
    survey_progress: NO_ROWS,
    sample_source_progress: NO_ROWS,
  },
  replayed: null,
  ...change,
})
