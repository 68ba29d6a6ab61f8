/**
 * The formats that a run can publish, the views that it can publish as Parquet, and the paths that readers open. The settings use these
 * names. `publish/formats` has an entry for each state, and `warehouse/views` a file for each view.
 */
import { join } from 'node:path'

/**
 * Formats that hold the whole state of the warehouse. Commands that read open one of them, and a lost work database is rebuilt from one.
 */
export const STATE_FORMATS = ['duckdb', 'parquet'] as const
export type StateFormat = (typeof STATE_FORMATS)[number]

/** Delta tables and the DuckLake catalog are only in a bucket. The report is a page about a state. */
export const PUBLISH_FORMATS = [...STATE_FORMATS, 'delta', 'ducklake', 'report'] as const
export type PublishFormat = (typeof PUBLISH_FORMATS)[number]

export const isStateFormat = (format: PublishFormat): format is StateFormat =>
  STATE_FORMATS.some((state) => state === format)

/** In the order of creation: a view comes after the views that it reads. */
export const VIEW_NAMES = [
  'survey_overview',
  'interview_status_counts',
  'survey_status_changes',
  'survey_progress_periods',
  'progress_daily',
  'sample_source_progress_periods',
  'source_progress_daily',
  'survey_periods',
  'sample_source_periods',
  'sample_source_pace',
  'active_source_pace',
  'survey_pace',
  'active_survey_pace',
  'forecast_accuracy',
  'source_overview',
  'record_changes',
  'needs_action',
  'good_news',
  'surveys_today',
] as const
export type ViewName = (typeof VIEW_NAMES)[number]

/** The views that readers of Parquet get unless the settings name others. */
export const PUBLISHED_VIEWS: readonly ViewName[] = [
  'surveys_today',
  'survey_pace',
  'source_overview',
  'needs_action',
  'progress_daily',
]

/** Paths below the warehouse directory. */
export const PUBLISHED_AS = {
  duckdb: 'fieldwork.duckdb',
  parquet: 'parquet/current',
} as const satisfies Readonly<Record<StateFormat, string>>

/** The fixed keys in a bucket at which readers find the newest version. */
export const ADDRESSES = { duckdb: PUBLISHED_AS.duckdb, ducklake: 'fieldwork.ducklake' } as const

export const hasAddress = (format: PublishFormat): format is keyof typeof ADDRESSES => format in ADDRESSES

export const publishedPath = (directory: string, format: StateFormat): string =>
  join(directory, PUBLISHED_AS[format])

/** The path below the warehouse directory, and the key in a bucket. */
export const REPORT_FILE = 'report.html'
