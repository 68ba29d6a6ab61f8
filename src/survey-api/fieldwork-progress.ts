/**
 * Fieldwork progress as the API sends it (API document, "Fieldwork progress"). The one resource that is not flat: the
 * entries of `interview_count_by_status` become two columns each. An indicator that is null or left out is null,
 * because a rate over zero interviews has no value and the API will remove `incidence_rate`.
 */
import type { z } from 'zod'
import { byStatus, INTERVIEW_STATUSES, type InterviewStatus, type Progress } from '../model/fields.js'
import { decodeRow, extraOf, type RowDecoder, unknownFieldDrift, unknownMembers } from './decode.js'
import { isObjectText, memberTexts, objectText } from './json-text.js'
import { exactObject, float, integer, object, orNull, type ResponseShape } from './response-schemas.js'

const BY_STATUS = 'interview_count_by_status'

const entryShape = { individuals: orNull(integer), percentage: orNull(float) }
const entry = orNull(object(entryShape))
const exactEntry = orNull(exactObject(entryShape))

const byStatusShape = Object.fromEntries(INTERVIEW_STATUSES.map((status) => [status, entry]))
const exactByStatusShape = Object.fromEntries(INTERVIEW_STATUSES.map((status) => [status, exactEntry]))

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

const shape = { ...indicatorShape, [BY_STATUS]: orNull(object(byStatusShape)) }
const schema = object(shape)
const exact = exactObject({ ...indicatorShape, [BY_STATUS]: orNull(exactObject(exactByStatusShape)) })

/** `Object.assign` and not two spreads: V8 needs 30 µs for those, with so many columns. */
const rowOf = (
  { [BY_STATUS]: counts, ...indicators }: z.output<typeof schema>,
  _extra: string | null,
): Progress =>
  Object.assign(
    byStatus(
      (status) => counts?.[status]?.individuals ?? null,
      (status) => counts?.[status]?.percentage ?? null,
    ),
    indicators,
    { _extra },
  )

export const progressDecoder: RowDecoder<Progress> = {
  fromText: (raw) =>
    decodeRow('fieldwork_progress', raw, schema, (fields, json) => {
      const unknown = unknownMembers(json, shape)
      const { paths, extra } = unknownCounts(memberTexts(json).get(BY_STATUS) ?? 'null')
      const all = extra === null ? unknown : new Map([...unknown, [BY_STATUS, extra]])
      return {
        row: rowOf(fields, extraOf(all)),
        drift: unknownFieldDrift('fieldwork_progress', [...unknown.keys(), ...paths]),
      }
    }),
  fromValue: (value) => {
    const { data } = exact.safeParse(value)
    return data === undefined ? null : { ok: true, row: rowOf(data, null), drift: [] }
  },
}

export const decodeProgress = progressDecoder.fromText

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
