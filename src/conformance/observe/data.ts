/** What the records show where the API document is silent about them. */

import { parseMoment } from '../instant.js'
import { isObject } from '../json.js'
import type { Evidence } from '../read/evidence.js'
import { percentageScale, RATES } from '../rules/formulas.js'
import { pageSizeOf } from '../rules/pagination.js'
import { sourcesAddUp } from '../rules/sources.js'
import { sourceRecords, surveyRecords } from '../rules/surveys.js'
import type { Observation } from '../verdict.js'
import { FIELDS_BY_RESOURCE, MOMENT_FIELDS } from './known-fields.js'

const VALUES_MAX = 12

/** Different texts, each once, those that are many cut short. */
const listed = (texts: readonly string[], nothing: string): string => {
  const different = [...new Set(texts)].sort()
  if (different.length === 0) return nothing
  const more = different.length > VALUES_MAX ? ', …' : ''
  return `${different.slice(0, VALUES_MAX).join(', ')}${more}`
}

const pageSize: Observation = {
  topic: 'page size',
  section: 'Limits',
  observe: ({ reader: { seen } }) => {
    const told = (['surveys', 'sample_sources'] as const).map((endpoint) => {
      const size = pageSizeOf(seen.lists, endpoint)
      return `${endpoint}: ${size === null ? 'only lists of one page were seen' : `${size} records`}`
    })
    return told.join('; ')
  },
}

const moments = (evidence: Evidence) =>
  [...surveyRecords(evidence), ...sourceRecords(evidence)].flatMap(({ record }) =>
    MOMENT_FIELDS.flatMap((name) => parseMoment(record[name]) ?? []),
  )

const offsets: Observation = {
  topic: 'time-zone offsets',
  section: 'Resources and their fields',
  observe: (evidence) =>
    listed(
      moments(evidence).map(({ offset }) => offset),
      'no moment was seen',
    ),
}

const digits: Observation = {
  topic: 'digits behind the second',
  section: 'Resources and their fields',
  observe: (evidence) =>
    listed(
      moments(evidence).map((moment) => String(moment.digits)),
      'no moment was seen',
    ),
}

/** What stands for a rate over zero: of a survey without interviews, or of a window without. */
const emptyRates: Observation = {
  topic: 'a rate over zero interviews',
  section: 'Fieldwork progress',
  observe: ({ reader: { seen, show } }) =>
    listed(
      seen.progresses.flatMap((reading) =>
        Object.entries(RATES).flatMap(([name, { of }]) =>
          of(reading)?.whole === 0 ? [show(reading.progress[name])] : [],
        ),
      ),
      'no survey without interviews was seen',
    ),
}

const emptyLength: Observation = {
  topic: 'length_of_interview without a complete interview',
  section: 'Fieldwork progress',
  observe: ({ reader: { seen, show } }) =>
    listed(
      seen.progresses.flatMap(({ counts, progress }) =>
        counts.get('complete') === 0 ? [show(progress.length_of_interview)] : [],
      ),
      'no survey without complete interviews was seen',
    ),
}

const percentages: Observation = {
  topic: 'percentages',
  section: 'Fieldwork progress',
  observe: (evidence) => {
    const scale = percentageScale(evidence)
    return scale === null ? 'no survey with interviews was seen' : `of ${scale}`
  },
}

const sampleSizeInWindow: Observation = {
  topic: 'sample_size within a window of time',
  section: 'View the fieldwork progress of a survey',
  observe: async ({ reader: { seen }, windowSubject }) => {
    const { id, progress } = await windowSubject()
    const within = seen.progresses.filter(
      ({ surveyId, query }) => surveyId === id && query.some(([name]) => name.startsWith('started_')),
    )
    if (within.length === 0) return 'no window was looked at'
    const differs = within.some((reading) => reading.progress.sample_size !== progress.progress.sample_size)
    return differs ? 'differs from that of the whole survey' : 'that of the whole survey'
  },
}

const unknownFields: Observation = {
  topic: 'fields that the document does not name',
  section: 'Resources and their fields',
  observe: (evidence) => {
    const { lists, progresses } = evidence.reader.seen
    const records = [
      ...surveyRecords(evidence).map(({ record }) => ['survey', record] as const),
      ...sourceRecords(evidence).map(({ record }) => ['source', record] as const),
      ...lists.map(({ pagination }) => ['pagination', pagination] as const),
      ...progresses.map(({ progress }) => ['progress', progress] as const),
      ...progresses.flatMap(({ progress: { interview_count_by_status: byStatus } }) =>
        isObject(byStatus) ? [['status', byStatus] as const] : [],
      ),
    ]
    const unknown = records.flatMap(([kind, record]) =>
      Object.keys(record)
        .filter((name) => !FIELDS_BY_RESOURCE[kind].has(name))
        .map((name) => `${kind}.${evidence.reader.show(name).slice(1, -1)}`),
    )
    return listed(unknown, 'none')
  },
}

export const DATA_OBSERVATIONS: readonly Observation[] = [
  pageSize,
  offsets,
  digits,
  emptyRates,
  emptyLength,
  percentages,
  {
    topic: 'interviews of the sources and of the survey',
    section: 'View the fieldwork progress of a survey',
    observe: sourcesAddUp,
  },
  sampleSizeInWindow,
  unknownFields,
  {
    topic: 'whether sources and interviews move updated_at',
    section: 'List surveys',
    observe: () => 'not observable: nothing can be changed by reading',
  },
]
