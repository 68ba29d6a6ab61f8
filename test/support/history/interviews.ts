/** Computes fieldwork progress from interviews by the formulas of the API document ("Fieldwork progress"). */
import { INTERVIEW_STATUSES } from '../api/api-document.js'
import type { Json } from '../api/scripted-api.js'

export interface Interview {
  readonly startMs: number
  status: string
  readonly seconds: number
}

export const progressIn = (
  interviews: readonly Interview[],
  { target, sendsDeprecated }: { readonly target: number; readonly sendsDeprecated: boolean },
): Json => {
  const count = (...statuses: readonly string[]): number =>
    interviews.filter(({ status }) => statuses.includes(status)).length
  const complete = count('complete')
  const incidence = rate(complete, count('complete', 'screen_out'))
  const lengths = interviews
    .filter(({ status }) => status === 'complete')
    .map(({ seconds }) => seconds)
    .toSorted((one, other) => one - other)
  return {
    sample_size: target,
    interviews_count: complete,
    interview_count_by_status: Object.fromEntries(
      INTERVIEW_STATUSES.map((status) => [
        status,
        { individuals: count(status), percentage: rate(100 * count(status), interviews.length) },
      ]),
    ),
    completion_rate: rate(complete, target),
    questionnaire_incidence_rate: rate(complete, count('complete', 'screen_out', 'quota_full', 'incomplete')),
    target_incidence_rate: incidence,
    ...(sendsDeprecated ? { incidence_rate: incidence } : {}),
    drop_out_rate: rate(count('incomplete'), interviews.length),
    length_of_interview: lengths[Math.floor(lengths.length / 2)] ?? null,
  }
}

/** A rate over zero is null. */
const rate = (part: number, whole: number): number | null => (whole === 0 ? null : part / whole)
