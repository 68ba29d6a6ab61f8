/**
 * Quarantined rows that are decoded again. A version that knows the field or value can type them. They are then treated like newly read
 * rows, dated with the time at which they were read.
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

/** A row as this version types it. `survey` is null for sources and progress, which are read again instead of merged. */
export interface Retyped {
  readonly survey: Survey | null
  readonly drift: readonly Drift[]
}

/** Decodes a row from its text alone; null when it still cannot be typed. */
export type DecodeAgain = (row: Pick<QuarantinedRow, 'endpoint' | 'raw'>) => Retyped | null

export type RetypedRow = QuarantinedRow & Retyped

export interface ReplayedBatch extends Readonly<Record<ReplayResult, number>> {
  /** Rows of the table `surveys`. */
  readonly rows: RowCounts
}

/** Rows that still cannot be typed, with the reasons from when they were read. */
export interface WaitingRows {
  readonly waiting: number
  readonly rejections: readonly RejectionReason[]
}
