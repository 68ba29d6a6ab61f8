/**
 * Fieldwork progress as the API sends it (API document, "Fieldwork progress"). The one resource that is not flat: the
 * entries of `interview_count_by_status` become two columns each. An indicator that is null or left out is null,
 * because a rate over zero interviews has no value and `incidence_rate` is going to vanish.
 */
import type { z } from 'zod'
import type { InterviewStatus, Progress } from '../model/fields.js'
import { type Decoded, decodeRow, extraOf, unknownFieldDrift, unknownMembers } from './decode.js'
import { isObjectText, memberTexts, objectText } from './json-text.js'
import { float, integer, object, orNull, type ResponseShape } from './response-schemas.js'

const BY_STATUS = 'interview_count_by_status'

const entryShape = { individuals: orNull(integer), percentage: orNull(float) }
const entry = orNull(object(entryShape))

/** API document, "Interview status". */
const byStatusShape = {
  complete: entry,
  incomplete: entry,
  quota_full: entry,
  screen_out: entry,
  above_target: entry,
  manual_action: entry,
  pending_analysis: entry,
  speeder: entry,
  straightliner: entry,
  failed_quality_check: entry,
  inappropriate_language: entry,
} satisfies Record<InterviewStatus, typeof entry>
const byStatus = object(byStatusShape)

/** The columns of `Progress` that come from `interview_count_by_status`. */
type StatusCell = `${InterviewStatus}_${'individuals' | 'percentage'}`

const indicatorShape = {
  sample_size: orNull(integer),
  interviews_count: orNull(integer),
  completion_rate: orNull(float),
  questionnaire_incidence_rate: orNull(float),
  target_incidence_rate: orNull(float),
  incidence_rate: orNull(float),
  drop_out_rate: orNull(float),
  length_of_interview: orNull(integer),
} satisfies ResponseShape<Omit<Progress, StatusCell>>

const shape = { ...indicatorShape, [BY_STATUS]: orNull(byStatus) }
const schema = object(shape)

/** Decodes the JSON text of one progress object. Never throws on text that is JSON. */
export const decodeProgress = (raw: string): Decoded<Progress> =>
  decodeRow('fieldwork_progress', raw, schema, ({ [BY_STATUS]: counts, ...indicators }, json) => {
    const unknown = unknownMembers(json, shape)
    const { paths, extra } = unknownCounts(memberTexts(json).get(BY_STATUS) ?? 'null')
    return {
      row: {
        ...indicators,
        ...statusCells(counts),
        _extra: extraOf(extra === null ? unknown : new Map([...unknown, [BY_STATUS, extra]])),
      },
      drift: unknownFieldDrift('fieldwork_progress', [...unknown.keys(), ...paths]),
    }
  })

/** What `interview_count_by_status` holds beyond the API document: unknown statuses, unknown fields of an entry. */
const unknownCounts = (json: string): { paths: readonly string[]; extra: string | null } => {
  if (!isObjectText(json)) return { paths: [], extra: null }
  const paths: string[] = []
  const extra = new Map<string, string>()
  for (const [status, text] of memberTexts(json)) {
    if (!Object.hasOwn(byStatusShape, status)) {
      paths.push(`${BY_STATUS}.${status}`)
      extra.set(status, text)
    } else if (isObjectText(text)) {
      const unknown = unknownMembers(text, entryShape)
      if (unknown.size > 0) extra.set(status, objectText(unknown))
      for (const name of unknown.keys()) paths.push(`${BY_STATUS}.${status}.${name}`)
    }
  }
  return { paths, extra: extra.size === 0 ? null : objectText(extra) }
}

const NO_COUNT = { individuals: null, percentage: null }

/** Written out, so that the compiler sees every column. */
const statusCells = (counts: z.output<typeof byStatus> | null): Pick<Progress, StatusCell> => {
  const of = (status: InterviewStatus) => counts?.[status] ?? NO_COUNT
  return {
    complete_individuals: of('complete').individuals,
    complete_percentage: of('complete').percentage,
    incomplete_individuals: of('incomplete').individuals,
    incomplete_percentage: of('incomplete').percentage,
    quota_full_individuals: of('quota_full').individuals,
    quota_full_percentage: of('quota_full').percentage,
    screen_out_individuals: of('screen_out').individuals,
    screen_out_percentage: of('screen_out').percentage,
    above_target_individuals: of('above_target').individuals,
    above_target_percentage: of('above_target').percentage,
    manual_action_individuals: of('manual_action').individuals,
    manual_action_percentage: of('manual_action').percentage,
    pending_analysis_individuals: of('pending_analysis').individuals,
    pending_analysis_percentage: of('pending_analysis').percentage,
    speeder_individuals: of('speeder').individuals,
    speeder_percentage: of('speeder').percentage,
    straightliner_individuals: of('straightliner').individuals,
    straightliner_percentage: of('straightliner').percentage,
    failed_quality_check_individuals: of('failed_quality_check').individuals,
    failed_quality_check_percentage: of('failed_quality_check').percentage,
    inappropriate_language_individuals: of('inappropriate_language').individuals,
    inappropriate_language_percentage: of('inappropriate_language').percentage,
  }
}
