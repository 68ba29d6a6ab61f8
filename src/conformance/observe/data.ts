/** Observations of records, where the API document is silent about them. */
import {
  INTERVIEW_STATUSES,
  PAGINATION_FIELDS,
  PROGRESS_FIELDS,
  SAMPLE_SOURCE_FIELDS,
  SURVEY_FIELDS,
} from '../fields.js'
import type { Reader } from '../read/reader.js'
import { type Observation, sourceRecords, surveyRecords } from '../rule.js'
import { pageSizeOf } from '../rules/pagination.js'
import { percentageScale, RATES } from '../rules/progress.js'
import { isObject, type JsonObject, type Moment, parseMoment } from '../values.js'

const FIELDS = 'Resources and their fields'
const PROGRESS = 'Fieldwork progress'
const VIEW = 'View the fieldwork progress of a survey'

const VALUES_MAX = 12

/** Each different text once, the first ones where there are many. */
const listed = (texts: readonly string[], nothing: string): string => {
  const different = [...new Set(texts)].sort()
  if (different.length === 0) return nothing
  const more = different.length > VALUES_MAX ? ', …' : ''
  return `${different.slice(0, VALUES_MAX).join(', ')}${more}`
}

const listMoments = (reader: Reader, textOf: (moment: Moment) => string): string => {
  const moments = [...surveyRecords(reader), ...sourceRecords(reader)].flatMap(({ record }) =>
    [record.created_at, record.updated_at].flatMap((value) => parseMoment(value) ?? []),
  )
  return listed(moments.map(textOf), 'no timestamp was seen')
}

/** The fields of a record that are not in a table of the document, as `kind.name`. */
const unknownFields = (reader: Reader): readonly string[] => {
  const { lists, progresses } = reader.seen
  const unknownOf = (kind: string, names: readonly string[], records: readonly JsonObject[]) =>
    records
      .flatMap((record) => Object.keys(record))
      .filter((name) => !names.includes(name))
      .map((name) => `${kind}.${reader.show(name).slice(1, -1)}`)
  const progress = progresses.map((reading) => reading.progress)
  return [
    ...unknownOf(
      'survey',
      Object.keys(SURVEY_FIELDS),
      surveyRecords(reader).map(({ record }) => record),
    ),
    ...unknownOf(
      'source',
      Object.keys(SAMPLE_SOURCE_FIELDS),
      sourceRecords(reader).map(({ record }) => record),
    ),
    ...unknownOf(
      'pagination',
      Object.keys(PAGINATION_FIELDS),
      lists.map(({ pagination }) => pagination),
    ),
    ...unknownOf('progress', Object.keys(PROGRESS_FIELDS), progress),
    ...unknownOf(
      'status',
      INTERVIEW_STATUSES,
      progress.map((one) => one.interview_count_by_status).filter(isObject),
    ),
  ]
}

export const DATA_OBSERVATIONS: readonly Observation[] = [
  {
    topic: 'page size',
    section: 'Limits',
    observe: ({ reader }) =>
      (['surveys', 'sample_sources'] as const)
        .map((endpoint) => {
          const size = pageSizeOf(reader, endpoint)
          return `${endpoint}: ${size === null ? 'every list seen has one page' : `${size} records`}`
        })
        .join('; '),
  },
  {
    topic: 'time-zone offsets',
    section: FIELDS,
    observe: ({ reader }) => listMoments(reader, ({ offset }) => offset),
  },
  {
    topic: 'fractional digits of the second',
    section: FIELDS,
    observe: ({ reader }) => listMoments(reader, ({ digits }) => String(digits)),
  },
  {
    topic: 'a rate over zero interviews',
    section: PROGRESS,
    observe: ({ reader: { seen, show } }) =>
      listed(
        seen.progresses.flatMap((reading) =>
          Object.entries(RATES).flatMap(([name, { whole }]) =>
            whole(reading) === 0 ? [show(reading.progress[name])] : [],
          ),
        ),
        'no survey without interviews was seen',
      ),
  },
  {
    topic: 'length_of_interview without a complete interview',
    section: PROGRESS,
    observe: ({ reader: { seen, show } }) =>
      listed(
        seen.progresses
          .filter(({ counts }) => counts.get('complete') === 0)
          .map(({ progress }) => show(progress.length_of_interview)),
        'no survey without complete interviews was seen',
      ),
  },
  {
    topic: 'percentages',
    section: PROGRESS,
    observe: ({ reader }) => {
      const scale = percentageScale(reader)
      return scale === null ? 'no survey with interviews was seen' : `out of ${scale}`
    },
  },
  {
    topic: 'interviews of the sources and of the survey',
    section: VIEW,
    observe: async ({ sources }) => {
      const { subject, readings } = await sources()
      if (readings.length < subject.sources.rows.length) {
        return 'not checked: the survey has too many sources'
      }
      const sum = readings.reduce((total, { progress }) => total + (progress.total ?? 0), 0)
      return `${sum} interviews in the ${readings.length} sources of a survey, ${subject.progress.total ?? 'unknown'} in the survey`
    },
  },
  {
    topic: 'sample_size within a window of time',
    section: VIEW,
    observe: async ({ reader: { seen }, windowSubject }) => {
      const { id, progress: whole } = await windowSubject()
      const within = seen.progresses.filter(
        ({ surveyId, query }) => surveyId === id && query.some(([name]) => name.startsWith('started_')),
      )
      if (within.length === 0) return 'no window was read'
      const differs = within.some(({ progress }) => progress.sample_size !== whole.progress.sample_size)
      return differs ? 'not that of the whole survey' : 'that of the whole survey'
    },
  },
  {
    topic: 'fields that the document does not name',
    section: FIELDS,
    observe: ({ reader }) => listed(unknownFields(reader), 'none'),
  },
  {
    topic: 'whether sources and interviews move updated_at',
    section: 'List surveys',
    observe: () => 'not observable: reading changes neither of them',
  },
]
