/** The resources as the API sends them (API document, "Resources and their fields"), by the columns that `model/fields.ts` declares. */
import type { z } from 'zod'
import {
  byStatus,
  INDICATOR_FIELDS,
  INTERVIEW_STATUSES,
  type Progress,
  SAMPLE_SOURCE_FIELDS,
  type SampleSource,
  SURVEY_FIELDS,
  type Survey,
} from '../model/fields.js'
import type { DecodeAgain } from '../model/warehouse.js'
import { float, integer, object, orNull, schemasOf } from './api-types.js'
import {
  decodeRow,
  extraOf,
  flatDecoder,
  type RowDecoder,
  unknownFieldDrift,
  unknownMembers,
} from './decode.js'
import { isObjectText, memberTexts, objectText } from './json-text.js'

/** API document, "Survey". */
export const surveyDecoder: RowDecoder<Survey> = flatDecoder(
  'survey',
  SURVEY_FIELDS,
  schemasOf(SURVEY_FIELDS),
)

/** API document, "Sample source". */
export const sampleSourceDecoder: RowDecoder<SampleSource> = flatDecoder(
  'sample_source',
  SAMPLE_SOURCE_FIELDS,
  schemasOf(SAMPLE_SOURCE_FIELDS),
)

// Fieldwork progress is not flat: the entries of `interview_count_by_status` become two columns each. An indicator that is null or left out
// is null, because a rate over zero interviews has no value and the API will remove `incidence_rate`.

const BY_STATUS = 'interview_count_by_status'

const entryShape = { individuals: orNull(integer), percentage: orNull(float) }
const entry = orNull(object(entryShape))
const exactEntry = orNull(object(entryShape).strict())

const byStatusShape = Object.fromEntries(INTERVIEW_STATUSES.map((status) => [status, entry]))
const exactByStatusShape = Object.fromEntries(INTERVIEW_STATUSES.map((status) => [status, exactEntry]))

/** API document, "Fieldwork progress". */
const indicatorShape = schemasOf(INDICATOR_FIELDS).schema.shape
const progressShape = { ...indicatorShape, [BY_STATUS]: orNull(object(byStatusShape)) }
const progressSchema = object(progressShape)
const exactByStatus = orNull(object(exactByStatusShape).strict())
const exactProgress = object({ ...indicatorShape, [BY_STATUS]: exactByStatus }).strict()

/** `Object.assign` instead of two spreads, for which V8 needs 30 µs with so many columns. */
const rowOf = (
  { [BY_STATUS]: counts, ...indicators }: z.output<typeof progressSchema>,
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
    decodeRow('fieldwork_progress', raw, progressSchema, (fields, json) => {
      const unknown = unknownMembers(json, progressShape)
      const { paths, extra } = unknownCounts(memberTexts(json).get(BY_STATUS) ?? 'null')
      const all = extra === null ? unknown : new Map([...unknown, [BY_STATUS, extra]])
      return {
        row: rowOf(fields, extraOf(all)),
        drift: unknownFieldDrift('fieldwork_progress', [...unknown.keys(), ...paths]),
      }
    }),
  fromValue: (value) => {
    const { data } = exactProgress.safeParse(value)
    return data === undefined ? null : { ok: true, row: rowOf(data, null), drift: [] }
  },
}

/** The unknown statuses, and unknown fields of an entry, in `interview_count_by_status`. */
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

/** Decodes quarantined rows, which an earlier version could not type, again. */
export const decodeAgain: DecodeAgain = ({ endpoint, raw }) => {
  if (endpoint === 'surveys') {
    const decoded = surveyDecoder.fromText(raw)
    return decoded.ok ? { survey: decoded.row, drift: decoded.drift } : null
  }
  const decoder = endpoint === 'sample_sources' ? sampleSourceDecoder : progressDecoder
  const decoded = decoder.fromText(raw)
  return decoded.ok ? { survey: null, drift: decoded.drift } : null
}
