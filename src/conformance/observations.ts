/**
 * Observations where the API document is silent: records, answers to requests that it does not describe, answers to requests beyond the
 * cap, headers and connections.
 */
import { DECLARED_CODINGS } from '../http/decompress.js'
import {
  INTERVIEW_STATUSES,
  integerOf,
  isObject,
  type JsonObject,
  type Moment,
  PAGINATION_FIELDS,
  PROGRESS_FIELDS,
  parseMoment,
  SAMPLE_SOURCE_FIELDS,
  SURVEY_FIELDS,
} from './fields.js'
import type { Evidence } from './read/evidence.js'
import { paging, progressPath, type Reader } from './read/reader.js'
import type { Answer, Query } from './read/sender.js'
import { type Observation, sourceRecords, surveyRecords } from './rule.js'
import { unknownSurveyId } from './rules/answers.js'
import { pageSizeOf } from './rules/pagination.js'
import { percentageScale, RATES } from './rules/progress.js'
import { FAR_FUTURE } from './rules/updated-since.js'
import { passWith } from './verdict.js'

const FIELDS = 'Resources and their fields'
const PROGRESS = 'Fieldwork progress'
const VIEW = 'View the fieldwork progress of a survey'
const ERRORS = 'Errors'

const observation = (
  topic: string,
  section: string,
  observe: (evidence: Evidence) => string | Promise<string>,
): Observation => ({ topic, section, check: async (evidence) => passWith(await observe(evidence)) })

const VALUES_MAX = 12

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
  const progress = progresses.map((reading) => reading.progress)
  const statuses = progress.map((object) => object.interview_count_by_status).filter(isObject)
  const unknown = (kind: string, names: readonly string[], records: readonly JsonObject[]) =>
    records
      .flatMap((record) => Object.keys(record))
      .filter((name) => !names.includes(name))
      .map((name) => `${kind}.${reader.show(name).slice(1, -1)}`)
  return [
    ...unknown('survey', Object.keys(SURVEY_FIELDS), surveyRecords(reader).map(recordOf)),
    ...unknown('source', Object.keys(SAMPLE_SOURCE_FIELDS), sourceRecords(reader).map(recordOf)),
    ...unknown(
      'pagination',
      Object.keys(PAGINATION_FIELDS),
      lists.map(({ pagination }) => pagination),
    ),
    ...unknown('progress', Object.keys(PROGRESS_FIELDS), progress),
    ...unknown('status', INTERVIEW_STATUSES, statuses),
  ]
}

const recordOf = ({ record }: { readonly record: JsonObject }) => record

const PAGE_LENGTH_MAX = 160

/** Describes an answer: the text of an error, or the parts of a page that the document leaves open. */
const describe = ({ status, json, excerpt }: Answer, { show }: Reader): string => {
  if (status !== 200 || !isObject(json)) return `${status} ${excerpt}`.trim()
  const { pagination, surveys } = json
  if (!isObject(pagination) || !Array.isArray(surveys)) return '200'
  return `200, ${surveys.length} rows, pagination ${show(pagination, PAGE_LENGTH_MAX)}`
}

const question = (topic: string, section: string, ask: (evidence: Evidence) => Promise<Answer>) =>
  observation(topic, section, async (evidence) => describe(await ask(evidence), evidence.reader))

const surveys = (topic: string, section: string, ...query: Query) =>
  question(topic, section, ({ reader }) => reader.raw('/surveys', query))

const PAST_THE_END = 7

/** How far the service's clock is from ours. */
const observeDate = ({ reader: { seen } }: Evidence): string => {
  const distancesMs = seen.answers.flatMap(({ dateMs, sentAtMs, headersAtMs }) =>
    // The date has whole seconds, so we add half a second. We assume that it was written halfway between request and answer.
    dateMs === null ? [] : [dateMs + 500 - (sentAtMs + headersAtMs) / 2],
  )
  if (distancesMs.length === 0) return 'none, or not an HTTP date'
  const medianMs = distancesMs.sort((a, b) => a - b)[distancesMs.length >> 1] ?? 0
  const seconds = Math.round(medianMs / 1_000)
  const distance =
    seconds === 0
      ? 'within a second of our clock'
      : `${Math.abs(seconds)} s ${seconds < 0 ? 'behind' : 'ahead of'} our clock`
  return `in ${distancesMs.length} of ${seen.answers.length} answers, ${distance}`
}

/** In the order of the report. */
export const OBSERVATIONS: readonly Observation[] = [
  observation('page size', 'Limits', ({ reader }) =>
    (['surveys', 'sample_sources'] as const)
      .map((endpoint) => {
        const size = pageSizeOf(reader, endpoint)
        return `${endpoint}: ${size === null ? 'every list seen has one page' : `${size} records`}`
      })
      .join('; '),
  ),
  observation('time-zone offsets', FIELDS, ({ reader }) => listMoments(reader, ({ offset }) => offset)),
  observation('fractional digits of the second', FIELDS, ({ reader }) =>
    listMoments(reader, ({ digits }) => String(digits)),
  ),
  observation('a rate over zero interviews', PROGRESS, ({ reader: { seen, show } }) => {
    const shown = seen.progresses.flatMap((reading) =>
      Object.entries(RATES).flatMap(([name, { whole }]) =>
        whole(reading) === 0 ? [show(reading.progress[name])] : [],
      ),
    )
    return listed(shown, 'no survey without interviews was seen')
  }),
  observation('length_of_interview without a complete interview', PROGRESS, ({ reader: { seen, show } }) => {
    const without = seen.progresses.filter(({ counts }) => counts.get('complete') === 0)
    const shown = without.map(({ progress }) => show(progress.length_of_interview))
    return listed(shown, 'no survey without complete interviews was seen')
  }),
  observation('percentages', PROGRESS, ({ reader }) => {
    const scale = percentageScale(reader)
    return scale === null ? 'no survey with interviews was seen' : `out of ${scale}`
  }),
  observation('interviews of the sources and of the survey', VIEW, async ({ sources }) => {
    const { subject, readings } = await sources()
    if (readings.length < subject.sources.rows.length) return 'not checked: the survey has too many sources'
    const sum = readings.reduce((total, { progress }) => total + (progress.total ?? 0), 0)
    return `${sum} interviews in the ${readings.length} sources of a survey, ${subject.progress.total ?? 'unknown'} in the survey`
  }),
  observation('sample_size within a window of time', VIEW, async ({ reader: { seen }, windowSubject }) => {
    const { id, progress: whole } = await windowSubject()
    const within = seen.progresses.filter(
      ({ surveyId, query }) => surveyId === id && query.some(([name]) => name.startsWith('started_')),
    )
    if (within.length === 0) return 'no window was read'
    const differs = within.some(({ progress }) => progress.sample_size !== whole.progress.sample_size)
    return differs ? 'not that of the whole survey' : 'that of the whole survey'
  }),
  observation('fields that the document does not name', FIELDS, ({ reader }) =>
    listed(unknownFields(reader), 'none'),
  ),
  observation(
    'whether sources and interviews move updated_at',
    'List surveys',
    () => 'not observable: reading changes neither of them',
  ),
  surveys('an empty list', 'Pagination object', ['updated_since', FAR_FUTURE]),
  question('a page past the end', 'Limits', async ({ head, reader }) => {
    const { again } = await head()
    return await reader.raw('/surveys', [['page', String(paging(again, 'total_pages') + PAST_THE_END)]])
  }),
  surveys('page=0', 'Limits', ['page', '0']),
  surveys('an unknown status', ERRORS, ['status', 'no_such_status']),
  surveys('an invalid date', ERRORS, ['updated_since', 'yesterday']),
  // A space is written + in a query. A client that does not write + as %2B sends this.
  surveys('an offset with + instead of %2B', 'List surveys', ['updated_since', '2999-01-01T00:00:00 00:00']),
  question('an unknown survey', ERRORS, ({ reader }) => reader.raw(progressPath(unknownSurveyId(reader)))),
  question('an unknown sample source', ERRORS, async ({ reader, subjects }) => {
    const [subject] = await subjects()
    const ids = subject?.sources.rows.map(({ id }) => integerOf(id) ?? 0) ?? []
    const unknownId = Math.max(...ids, 1_000_000) + 1_000_003
    return await reader.raw(progressPath(subject?.id ?? 0), [['sample_source_id', String(unknownId)]])
  }),
  question('a wrong token', ERRORS, ({ reader }) => reader.raw('/surveys', [], 'wrong-token')),
  observation('Date header', 'Endpoints', observeDate),
  observation('compression', 'Endpoints', ({ reader: { seen, show } }) => {
    const codings = seen.answers.flatMap(({ header }) => header(DECLARED_CODINGS) ?? [])
    if (codings.length === 0) return 'none, though gzip and br were offered'
    const different = new Set(codings.map((coding) => show(coding)))
    return `${[...different].join(', ')} in ${codings.length} of ${seen.answers.length} answers`
  }),
  observation('keep-alive', 'Endpoints', ({ sender }) => {
    const { connections, requestsWithCredentials } = sender.usage
    return `${requestsWithCredentials} requests over ${connections} ${connections === 1 ? 'connection' : 'connections'}`
  }),
  observation(
    'rate-limit headers',
    'Limits',
    ({ reader: { seen } }) => seen.answers.at(-1)?.rateHeaders.join('; ') || 'none',
  ),
  ...[
    observation('answers 429 below the cap', 'Limits', ({ sender: { usage } }) =>
      usage.rateLimited === 0
        ? 'none'
        : `${usage.rateLimited}, waited out: somebody else uses the account, or its cap is lower`,
    ),
    observation('a 429 answer', ERRORS, async ({ burst }) => {
      const { sent, last } = await burst()
      if (last.status !== 429) return `none in ${sent} requests at once`
      const headers = last.rateHeaders.join('; ') || 'no Retry-After'
      return `within ${sent} requests at once; ${headers}; body ${last.excerpt}`
    }),
  ].map((observation): Observation => ({ ...observation, when: 'last' })),
]
