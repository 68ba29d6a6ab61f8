/** Typed rows, bundles, listing pages and run reports to put into a warehouse; a test varies what it is about. */
import { createCalendar } from '../../../src/model/calendar.js'
import type { Column, Fields, RowOf } from '../../../src/model/columns.js'
import {
  PROGRESS_FIELDS,
  type Progress,
  SAMPLE_SOURCE_FIELDS,
  type SampleSource,
  SURVEY_FIELDS,
  type Survey,
} from '../../../src/model/fields.js'
import { type Instant, minusMs } from '../../../src/model/instant.js'
import type { RowCounts, RunReport } from '../../../src/model/run.js'
import { zeroCounters } from '../../../src/model/run-record.js'
import type { Rejection } from '../../../src/model/survey-source.js'
import { PLAN_FIELDS, type PlanLine } from '../../../src/model/tables.js'
import type {
  AccountWarehouse,
  BundleOutcome,
  ListingPage,
  ReadDays,
  ReconstructedSurvey,
  RefreshedBundle,
} from '../../../src/model/warehouse.js'
import { minute } from '../time/instants.js'

const MINUTE = 60_000_000n

/** A value of each type. */
const VALUES: Readonly<Record<Column['type'], unknown>> = {
  BIGINT: 10,
  VARCHAR: 'text',
  DOUBLE: 0.5,
  BOOLEAN: false,
  TIMESTAMPTZ: minute(-90_000),
  DATE: '2026-03-01',
  JSON: '{}',
}

/** A row with a value for each declared field: null where it may be, the first of its expected values, or one by type. */
const rowOf = <Of extends Fields>(fields: Of, change: Partial<RowOf<Of>>): RowOf<Of> => ({
  ...(Object.fromEntries(
    Object.entries(fields).map(([name, { type, nullable, values }]) => [
      name,
      nullable ? null : (values?.[0] ?? VALUES[type]),
    ]),
  ) as RowOf<Of>),
  ...change,
})

export const survey = (id: number, change: Partial<Survey> = {}): Survey =>
  rowOf(SURVEY_FIELDS, {
    id,
    title: `Survey ${id}`,
    created_at: minute(-100_000 + id),
    updated_at: minute(-50_000 + id),
    hashid: `s${id}`,
    status: 'fieldwork',
    ...change,
  })

export const source = (id: number, change: Partial<SampleSource> = {}): SampleSource =>
  rowOf(SAMPLE_SOURCE_FIELDS, {
    id,
    sample_size: 100,
    country_code: 'FR',
    description: `Source ${id}`,
    name: `S${id}`,
    hashid: `h${id}`,
    ...change,
  })

/** A line of the plan of `acme` that names and says nothing but `change`. */
export const planLine = (change: Partial<PlanLine>): PlanLine => ({
  account: 'acme',
  ...rowOf(PLAN_FIELDS, change),
})

/** Progress with `complete` complete interviews and nothing else known of the statuses. */
export const progress = (complete: number, change: Partial<Progress> = {}): Progress =>
  rowOf(PROGRESS_FIELDS, {
    sample_size: 200,
    interviews_count: complete,
    completion_rate: complete / 200,
    drop_out_rate: 0,
    length_of_interview: 300,
    complete_individuals: complete,
    complete_percentage: 100,
    ...change,
  })

/** A row without a readable id that could not be typed. */
export const rejection = (change: Partial<Rejection> = {}): Rejection => ({
  ...{ endpoint: 'surveys', surveyId: null, sampleSourceId: null, rowId: null },
  ...{ problem: 'not an object', raw: '{}' },
  ...change,
})

/** What an API has of these surveys: one source each, with the id of the survey. */
export const withOneSource = (ids: readonly number[]) =>
  Object.fromEntries(
    ids.map((id) => {
      const whole = progress(1)
      return [id, { sources: [source(id)], progress: whole, sourceProgress: { [id]: whole } }]
    }),
  )

/** A task of which nothing was read. */
export const failedTask = (surveyId: number, at: Instant, error = 'answered 500'): BundleOutcome => ({
  kind: 'failed',
  surveyId,
  at,
  unread: { error, isRefused: false },
  mayBeGone: false,
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
  unread: null,
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

/** What was read of a survey as of so many days before `at`. */
export const reconstructed = (
  surveyId: number,
  daysBefore: readonly number[],
  row: Progress,
  at: Instant,
): ReconstructedSurvey => ({
  surveyId,
  at,
  rows: daysBefore.map((days) => {
    const startedBefore = minusMs(at, days * 86_400_000)
    return { window: { day: '', startedAfter: null, startedBefore }, progress: row, at }
  }),
  rejections: [],
  drift: [],
})

export const RUN = 'run-1'

export const listingPage = (
  surveys: readonly Survey[],
  at: Instant,
  change: Partial<ListingPage> = {},
): ListingPage => ({
  kind: 'full',
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

/** Commits one page of the listing under way. */
export const commitPage = (
  warehouse: Pick<AccountWarehouse, 'commitListingPages'>,
  ...page: Parameters<typeof listingPage>
): Promise<RowCounts> => warehouse.commitListingPages([listingPage(...page)])

/** Begins a listing of all surveys, or of the changes. */
export const begin = (
  warehouse: Pick<AccountWarehouse, 'startListing'>,
  at: Instant,
  kind: 'full' | 'incremental' = 'full',
): Promise<void> => warehouse.startListing({ kind, updatedSince: null, ceiling: at, startedAt: at })

/** A whole listing of one page: begun and completed. */
export const list = async (
  warehouse: AccountWarehouse,
  surveys: readonly Survey[],
  at: Instant,
  kind: 'full' | 'incremental' = 'incremental',
): Promise<RowCounts> => {
  await warehouse.startListing({
    kind,
    updatedSince: kind === 'full' ? null : (await warehouse.position()).cursor,
    ceiling: at - 5n * MINUTE,
    startedAt: at,
  })
  return commitPage(warehouse, surveys, at, { kind })
}

const NO_ROWS = { added: 0, changed: 0, unchanged: 0 }

export const runReport = (change: Partial<RunReport> = {}): RunReport => ({
  ...zeroCounters(),
  runId: RUN,
  account: 'acme',
  command: 'sync',
  status: 'complete',
  exitCode: 0,
  hasFailures: false,
  reason: null,
  errorCode: null,
  startedAt: minute(0),
  endedAt: minute(9),
  listing: 'full',
  cursorBefore: null,
  cursorAfter: minute(-5),
  requests: 7,
  retries: 1,
  rateLimited: 0,
  paceIntervalMs: null,
  surveysListed: 3,
  surveysRefreshed: 2,
  leftOver: 0,
  surveysLeftOut: 0,
  surveysUnconfirmed: 0,
  sourcesLeftOut: 0,
  failing: 0,
  failingSurveys: [],
  rejectedRows: 0,
  driftEvents: 0,
  drift: [],
  rejections: [],
  requestsEstimated: null,
  requestUsage: [],
  rowsByTable: {
    surveys: NO_ROWS,
    sample_sources: NO_ROWS,
    survey_progress: NO_ROWS,
    sample_source_progress: NO_ROWS,
  },
  replayed: null,
  ...change,
})
