/** Computes the fieldwork progress indicators from single interviews, by the API document ("Fieldwork progress"). */
import type { EmptyRates } from '../option-texts.js'
import { INTERVIEW_STATUSES, type InterviewStatus, type ProgressResource } from '../resources.js'
import type { Micros } from '../time.js'
import { COMPLETE, IGNORED, type Interviews, statusAt } from './interviews.js'

/** The parameters of the API document, "View the fieldwork progress of a survey". */
export interface ProgressFilter {
  /** Only the interviews of this source. */
  readonly sample_source_id?: number | undefined
  /** The first and the last start of an interview, both included. */
  readonly started_after?: Micros | undefined
  readonly started_before?: Micros | undefined
}

/** How a rate over zero interviews is shown. JSON leaves out undefined values. */
const EMPTY_RATE_VALUES = { null: null, zero: 0, omit: undefined } as const

/** The indicators at `at` of these sources' interviews, against a target of `sampleSize` complete ones. */
export const progressOf = (
  sources: readonly Interviews[],
  sampleSize: number,
  at: Micros,
  filter: ProgressFilter,
  emptyRates: EmptyRates,
): ProgressResource => {
  const empty = EMPTY_RATE_VALUES[emptyRates]
  const rate = (part: number, whole: number) => (whole === 0 ? empty : part / whole)
  const counts = new Uint32Array(INTERVIEW_STATUSES.length)
  const completeSeconds = new Uint16Array(sources.reduce((sum, { starts }) => sum + starts.length, 0))
  for (const interviews of sources) countInto(counts, completeSeconds, interviews, at, filter)
  const individuals = (status: InterviewStatus): number => counts[INTERVIEW_STATUSES.indexOf(status)] ?? 0
  const total = counts.reduce((sum, count) => sum + count, 0)
  const entry = (status: InterviewStatus) => ({
    individuals: individuals(status),
    percentage: total === 0 ? 0 : (100 * individuals(status)) / total,
  })
  const complete = individuals('complete')
  const screenOut = individuals('screen_out')
  const incomplete = individuals('incomplete')
  const seconds = completeSeconds.subarray(0, complete).sort()
  const middle = [seconds[complete >> 1] ?? 0, seconds[(complete - 1) >> 1] ?? 0] as const
  const targetIncidenceRate = rate(complete, complete + screenOut)
  return {
    sample_size: sampleSize,
    interviews_count: complete,
    interview_count_by_status: {
      complete: entry('complete'),
      incomplete: entry('incomplete'),
      quota_full: entry('quota_full'),
      screen_out: entry('screen_out'),
      above_target: entry('above_target'),
      manual_action: entry('manual_action'),
      pending_analysis: entry('pending_analysis'),
      speeder: entry('speeder'),
      straightliner: entry('straightliner'),
      failed_quality_check: entry('failed_quality_check'),
      inappropriate_language: entry('inappropriate_language'),
    },
    completion_rate: rate(complete, sampleSize),
    questionnaire_incidence_rate: rate(
      complete,
      complete + screenOut + individuals('quota_full') + incomplete,
    ),
    target_incidence_rate: targetIncidenceRate,
    incidence_rate: targetIncidenceRate,
    drop_out_rate: rate(incomplete, total),
    // For an even count the mean of the middle two, rounded half up, because the API document's field is an integer.
    length_of_interview: complete === 0 ? empty : Math.round((middle[0] + middle[1]) / 2),
  }
}

/** An interview counts from its start on; an ignored one never counts. */
const countInto = (
  counts: Uint32Array,
  completeSeconds: Uint16Array,
  interviews: Interviews,
  at: Micros,
  {
    started_after: from = Number.NEGATIVE_INFINITY,
    started_before = Number.POSITIVE_INFINITY,
  }: ProgressFilter,
): void => {
  const to = Math.min(at, started_before)
  const { starts, durations } = interviews
  for (let interview = 0; interview < starts.length; interview++) {
    const start = starts[interview] ?? 0
    if (start > to) break
    if (start < from) continue
    const shown = statusAt(interviews, interview, at)
    if (shown === IGNORED) continue
    const before = counts[shown] ?? 0
    counts[shown] = before + 1
    if (shown === COMPLETE) completeSeconds[before] = durations[interview] ?? 0
  }
}
