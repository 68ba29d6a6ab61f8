/**
 * Quarantined rows that are decoded again: a version that knows the field or value types them, and they go the way of rows
 * that were read just now, as of when they were read.
 */
import type { Survey } from './fields.js'
import type { Instant } from './instant.js'
import type { RejectionReason, ReplayResult, RowCounts } from './run.js'
import type { Drift, Endpoint } from './survey-source.js'

/** A row of `_sync.rejected_rows` that no replay could type so far. */
export interface QuarantinedRow {
  readonly runId: string
  readonly rejectedAt: Instant
  readonly endpoint: Endpoint
  readonly surveyId: number | null
  readonly sampleSourceId: number | null
  readonly raw: string
}

/** What a row is to this version; `survey` null for sources and progress, which are read again rather than merged. */
export interface Retyped {
  readonly survey: Survey | null
  readonly drift: readonly Drift[]
}

/** Decodes a row from its text alone; null when it still cannot be typed. */
export type DecodeAgain = (row: Pick<QuarantinedRow, 'endpoint' | 'raw'>) => Retyped | null

export type RetypedRow = QuarantinedRow & Retyped

export interface ReplayedBatch extends Readonly<Record<ReplayResult, number>> {
  /** Of `surveys`. */
  readonly rows: RowCounts
}

/** Rows that still cannot be typed, and why they could not when they were read. */
export interface WaitingRows {
  readonly waiting: number
  readonly rejections: readonly RejectionReason[]
}
