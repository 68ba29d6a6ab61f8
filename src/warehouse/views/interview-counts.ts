/** How views add up interviews of several statuses: steps that compare counts must mean the same ones. */
import { INTERVIEW_STATUSES, type InterviewStatus } from '../../model/fields.js'

/** Interviews that were complete, but are of poor quality. */
export const QUALITY_REJECTS = [
  'speeder',
  'straightliner',
  'failed_quality_check',
  'inappropriate_language',
] as const satisfies readonly InterviewStatus[]

/** Interviews that may become complete, if somebody decides. */
export const UNDECIDED = ['manual_action', 'pending_analysis'] as const satisfies readonly InterviewStatus[]

/** HUGEINT, because the sum of numbers of the API may exceed a BIGINT. Null if none of the counts is known. */
export const individualsOf = (statuses: readonly InterviewStatus[], progress: string): string =>
  `list_sum([${statuses.map((status) => `${progress}.${status}_individuals`).join(', ')}])`

/** Interviews of every status, also of statuses that only `_extra` has. */
export const allIndividuals = (progress: string): string =>
  `(${individualsOf(INTERVIEW_STATUSES, progress)}
      + coalesce(list_sum([TRY_CAST(x AS BIGINT) for x in json_extract(${progress}._extra, '$.interview_count_by_status.*.individuals')]), 0))`
