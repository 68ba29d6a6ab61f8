/** API document, "Sample source" and "List the sample sources of a survey"; and progress restricted to a source. */
import { SAMPLE_SOURCE_FIELDS } from '../fields.js'
import { integerOf, textOf } from '../json.js'
import { type Evidence, MOVED, sameCounts } from '../read/evidence.js'
import { type ProgressReading, type Reader, sameIds } from '../read/reader.js'
import type { Subject } from '../read/subjects.js'
import { Unseen } from '../unseen.js'
import { type Failure, fail, holdEach, PASS, type Rule, unseen, type Verdict } from '../verdict.js'
import { fieldRules } from './fields.js'
import { sameAsPageOne } from './pagination.js'
import { sourceRecords } from './surveys.js'

const VIEW = 'View the fieldwork progress of a survey'
const PARAMETER = 'sample_source_id'
/** Sources of one survey whose progress is looked at. */
const SOURCES_MAX = 3

const pageLeftOut: Rule = {
  id: 'sources.page-left-out',
  section: 'List the sample sources of a survey',
  text: 'without page comes page 1',
  check: async ({ reader, subjects }) => {
    const [subject] = (await subjects()).filter(({ sources }) => sources.rows.length > 0)
    if (subject === undefined) return unseen('no survey with sample sources has been seen')
    const pageOne = await reader.sources(subject.id, [['page', '1']])
    if (sameIds(subject.sources, pageOne)) return PASS
    const leftOut = await reader.sources(subject.id)
    return await sameAsPageOne(leftOut, pageOne, () => reader.sources(subject.id))
  },
}

export interface SourceProgress {
  readonly sourceId: number
  readonly sampleSize: number
  readonly reading: ProgressReading
}

/** The survey with the most to tell about its sources; throws `Unseen` when there is none. */
export const subjectWithSources = async ({ subjects }: Evidence): Promise<Subject> => {
  const [best] = (await subjects())
    .filter(({ sources }) => sources.rows.length > 0)
    .sort((one, other) => worth(other) - worth(one))
  if (best === undefined) throw new Unseen('no survey with sample sources has been seen')
  return best
}

const worth = ({ progress, sources, status }: Subject): number =>
  (sources.rows.length > 1 ? 4 : 0) + ((progress.total ?? 0) > 0 ? 2 : 0) + (status === 'complete' ? 1 : 0)

const readings = async (evidence: Evidence): Promise<readonly SourceProgress[]> => {
  const { id, sources } = await subjectWithSources(evidence)
  const { reader } = evidence
  const read: SourceProgress[] = []
  for (const source of sources.rows.slice(0, SOURCES_MAX)) {
    const [sourceId, sampleSize] = [integerOf(source.id), integerOf(source.sample_size)]
    if (sourceId === null || sampleSize === null) continue
    const known = reader.seen.progresses.find(
      ({ surveyId, query }) => surveyId === id && isSource(query, sourceId),
    )
    read.push({ sourceId, sampleSize, reading: known ?? (await readSource(reader, id, sourceId)) })
  }
  if (read.length === 0) throw new Unseen('no source has an id and a sample_size that can be read')
  return read
}

const readSource = (reader: Reader, id: number, sourceId: number): Promise<ProgressReading> =>
  reader.progress(id, [[PARAMETER, String(sourceId)]])

const isSource = (query: ProgressReading['query'], sourceId: number): boolean =>
  query.length === 1 && query.some(([name, value]) => name === PARAMETER && value === String(sourceId))

const sampleSize: Rule = {
  id: 'progress.source-sample-size',
  section: VIEW,
  text: "sample_source_id: sample_size is the source's",
  check: async (evidence) => {
    const { id } = await subjectWithSources(evidence)
    const differing = (await readings(evidence)).filter(
      ({ sampleSize, reading }) => reading.progress.sample_size !== sampleSize,
    )
    const [first] = differing
    if (first === undefined) return PASS
    // The target may have been raised between the two readings.
    const now = await evidence.reader.sources(id)
    const row = now.rows.find((one) => one.id === first.sourceId)
    if (row?.sample_size !== first.sampleSize) return unseen('the source changed while it was read')
    const got = `sample_size ${evidence.reader.show(first.reading.progress.sample_size)}`
    return fail(first.reading.asked, `sample_size ${first.sampleSize}, as of the source`, got)
  },
}

/** Where a status of the source has more interviews than in the survey. */
const excessOf = (source: ProgressReading, whole: ProgressReading): Failure | null => {
  for (const [status, count] of source.counts) {
    const most = whole.counts.get(status) ?? 0
    if (count > most) {
      return {
        asked: source.asked,
        expected: `${status}: at most ${most}, as in the survey`,
        got: `${count}`,
      }
    }
  }
  return null
}

const withinSurvey: Rule = {
  id: 'progress.source-within-survey',
  section: VIEW,
  text: 'sample_source_id: no status has more interviews than in the whole survey',
  check: async (evidence) => {
    const { reader } = evidence
    const { id, progress } = await subjectWithSources(evidence)
    const ofSources = await readings(evidence)
    const suspect = ofSources.find(({ reading }) => excessOf(reading, progress) !== null)
    if (suspect === undefined) return PASS
    // Interviews come in, and get another status: read in between two equal readings of the survey, it counts.
    const before = await reader.progress(id)
    const source = await readSource(reader, id, suspect.sourceId)
    if (!sameCounts(before, await reader.progress(id))) return unseen(MOVED)
    const excess = excessOf(source, before)
    return excess === null ? PASS : fail(excess.asked, excess.expected, excess.got)
  },
}

const restricts: Rule = {
  id: 'progress.source-restricts',
  section: VIEW,
  text: 'sample_source_id: of several sources, not each has all interviews of the survey',
  check: async (evidence): Promise<Verdict> => {
    const { id, progress, sources } = await subjectWithSources(evidence)
    if ((progress.total ?? 0) === 0 || sources.rows.length < 2) {
      return unseen('no survey with interviews and several sources was seen')
    }
    const ofSources = await readings(evidence)
    if (ofSources.length < 2) return unseen('only one source of the survey can be read')
    const each = (whole: number) => ofSources.every(({ reading }) => (reading.total ?? 0) >= whole)
    if (!each(progress.total ?? 0)) return PASS
    const now = (await evidence.reader.progress(id)).total ?? 0
    if (now === 0 || !each(now)) return PASS
    const expected = `fewer than the ${now} interviews of the survey, for at least one of ${ofSources.length} sources`
    const [{ reading }] = [...ofSources.slice(0, 1), { reading: progress }]
    return fail(reading.asked, expected, `${reading.total}, and no fewer for the others`)
  },
}

/** Interviews of the sources that were read, for those who wonder whether they make the whole. */
export const sourcesAddUp = async (evidence: Evidence): Promise<string> => {
  const { sources, progress } = await subjectWithSources(evidence)
  const ofSources = await readings(evidence)
  if (ofSources.length < sources.rows.length) return 'not looked at: the survey has too many sources'
  const sum = ofSources.reduce((total, { reading }) => total + (reading.total ?? 0), 0)
  return `${sum} interviews in the ${ofSources.length} sources of a survey, ${progress.total ?? 'unknown'} in the survey`
}

const country: Rule = {
  id: 'source.country_code-iso',
  section: 'Sample source',
  text: 'country_code is an ISO 3166 code: two or three letters, or three digits',
  passive: true,
  check: (evidence) =>
    holdEach(
      sourceRecords(evidence),
      ({ asked, record }): Failure | null | 'skip' => {
        const code = textOf(record.country_code)
        if (code === null) return 'skip'
        if (/^(?:[A-Z]{2,3}|\d{3}|[A-Z]{2}-[A-Z0-9]{1,3})$/i.test(code)) return null
        return { asked, expected: 'an ISO 3166 code', got: evidence.reader.show(code) }
      },
      'no source was seen',
    ),
}

export const SOURCE_RULES: readonly Rule[] = [
  ...fieldRules({
    prefix: 'source',
    section: 'Sample source',
    fields: SAMPLE_SOURCE_FIELDS,
    records: sourceRecords,
    nothing: 'no sample source was seen',
  }),
  country,
  pageLeftOut,
]

export const SOURCE_PROGRESS_RULES: readonly Rule[] = [sampleSize, withinSurvey, restricts]
