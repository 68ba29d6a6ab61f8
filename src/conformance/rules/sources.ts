/** API document, "Sample source", "List the sample sources of a survey", and progress restricted to a source. */
import { SAMPLE_SOURCE_FIELDS, textOf } from '../fields.js'
import { MOVED, readSource, sameCounts } from '../read/evidence.js'
import type { ProgressReading } from '../read/reader.js'
import { each, fieldRules, type Rule, rulesOf, sourceRecords } from '../rule.js'
import { fail, PASS, Unseen, type Verdict } from '../verdict.js'
import { sameAsPageOne } from './pagination.js'

const rule = rulesOf('View the fieldwork progress of a survey')

export const SOURCE_RULES: readonly Rule[] = [
  ...fieldRules('source', 'Sample source', SAMPLE_SOURCE_FIELDS, sourceRecords, 'no sample source was seen'),
  each({
    id: 'source.country_code-iso',
    section: 'Sample source',
    text: 'country_code is an ISO 3166 code: two or three letters, or three digits',
    items: sourceRecords,
    judge: ({ request, record }, { show }) => {
      const code = textOf(record.country_code)
      if (code === null) return null
      if (/^(?:[A-Z]{2,3}|\d{3}|[A-Z]{2}-[A-Z0-9]{1,3})$/i.test(code)) return PASS
      return fail(request, 'an ISO 3166 code', show(code))
    },
    nothing: 'no source was seen',
  }),
  {
    id: 'sources.page-left-out',
    section: 'List the sample sources of a survey',
    text: 'without the parameter page the answer is page 1',
    check: async ({ reader, subjects }) => {
      const subject = (await subjects()).find(({ sources }) => sources.rows.length > 0)
      if (subject === undefined) throw new Unseen('no survey with sample sources has been seen')
      const pageOne = await reader.sources(subject.id, [['page', '1']])
      return await sameAsPageOne(subject.sources, pageOne, () => reader.sources(subject.id))
    },
  },
]

/** Fails where a status of the source has more interviews than in the survey. */
const holdWithin = (source: ProgressReading, survey: ProgressReading): Verdict => {
  for (const [status, count] of source.counts) {
    const most = survey.counts.get(status) ?? 0
    if (count > most) return fail(source.request, `${status}: at most ${most}, as in the survey`, `${count}`)
  }
  return PASS
}

export const SOURCE_PROGRESS_RULES: readonly Rule[] = [
  rule(
    'progress.source-sample-size',
    'sample_source_id: sample_size is that of the source',
    async ({ reader, sources }) => {
      const { subject, readings } = await sources()
      const wrong = readings.find(({ sampleSize, progress }) => progress.progress.sample_size !== sampleSize)
      if (wrong === undefined) return PASS
      // The target may have been raised between the two readings.
      const { rows } = await reader.sources(subject.id)
      const { sourceId, sampleSize, progress } = wrong
      if (rows.find(({ id }) => id === sourceId)?.sample_size !== sampleSize) {
        throw new Unseen('the source changed while it was read')
      }
      const got = `sample_size ${reader.show(progress.progress.sample_size)}`
      return fail(progress.request, `sample_size ${sampleSize}, as in the list of sources`, got)
    },
  ),
  rule(
    'progress.source-within-survey',
    'sample_source_id: no status has more interviews than in the whole survey',
    async ({ reader, sources }) => {
      const { subject, readings } = await sources()
      const suspect = readings.find(
        (reading) => holdWithin(reading.progress, subject.progress).verdict === 'fail',
      )
      if (suspect === undefined) return PASS
      // Interviews come in and change their status: only a reading between two equal ones of the survey counts.
      const before = await reader.progress(subject.id)
      const source = await readSource(reader, subject.id, suspect.sourceId)
      if (!sameCounts(before, await reader.progress(subject.id))) throw new Unseen(MOVED)
      return holdWithin(source, before)
    },
  ),
  rule(
    'progress.source-restricts',
    'sample_source_id: at least one of several sources has fewer interviews than the survey',
    async ({ reader, sources }) => {
      const { subject, readings } = await sources()
      const total = subject.progress.total ?? 0
      if (total === 0 || subject.sources.rows.length < 2) {
        throw new Unseen('no survey with interviews and several sources was seen')
      }
      if (readings.length < 2) throw new Unseen('only one source of the survey can be read')
      const eachHas = (interviews: number) =>
        readings.every(({ progress }) => (progress.total ?? 0) >= interviews)
      if (!eachHas(total)) return PASS
      const now = (await reader.progress(subject.id)).total ?? 0
      if (now === 0 || !eachHas(now)) return PASS
      const expected = `fewer than the ${now} interviews of the survey, for at least one of ${readings.length} sources`
      const { request, total: ofFirst } = readings[0].progress
      return fail(request, expected, `${ofFirst}, and no fewer for the others`)
    },
  ),
]
