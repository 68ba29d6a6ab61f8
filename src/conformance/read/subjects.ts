/**
 * Chooses the surveys that are read with progress and sources. A few of them must show much: surveys in fieldwork have
 * interviews, complete ones no longer change, and a draft has no interviews. For one of them the progress of each of its
 * first sources is read too.
 */
import { integerOf, textOf } from '../values.js'
import { Unseen } from '../verdict.js'
import { type ListReading, type ProgressReading, type Reader, surveysSeen } from './reader.js'

/** A survey with its progress and the first page of its sources. */
export interface Subject {
  readonly id: number
  readonly status: string
  /** As the listing wrote it. */
  readonly createdAt: unknown
  readonly progress: ProgressReading
  readonly sources: ListReading
}

/** One survey is read for each of these statuses, if the list has one. */
const KINDS = [
  'complete',
  'fieldwork',
  'complete',
  'fieldwork',
  'data_processing',
  'deviating_from_specs',
  'draft',
]
/** Further surveys are read in this order, until there are interviews in a survey with several sources. */
const LIKELY = ['complete', 'fieldwork', 'data_processing', 'deviating_from_specs', 'pending']
const MORE_MAX = 4

type Candidate = Pick<Subject, 'id' | 'status' | 'createdAt'>

/** Throws `Unseen` where no survey can be read. */
export const chooseSurveys = async (reader: Reader): Promise<readonly Subject[]> => {
  const candidates = surveysSeen(reader).flatMap((survey): readonly Candidate[] => {
    const [id, status] = [integerOf(survey.id), textOf(survey.status)]
    return id === null ? [] : [{ id, status: status ?? '', createdAt: survey.created_at }]
  })
  if (candidates.length === 0) throw new Unseen('there is no survey')
  const chosen: Candidate[] = []
  for (const status of KINDS) {
    const next = candidates.find((one) => one.status === status && !chosen.includes(one))
    if (next !== undefined) chosen.push(next)
  }
  const rest = candidates.filter((one) => !chosen.includes(one)).sort((a, b) => rank(a) - rank(b))
  const subjects: Subject[] = []
  const problems: unknown[] = []
  for (const [place, candidate] of [...chosen, ...rest.slice(0, MORE_MAX)].entries()) {
    if (place >= chosen.length && showsEnough(subjects)) break
    try {
      subjects.push(await look(reader, candidate))
    } catch (error) {
      if (!(error instanceof Unseen)) throw error
      problems.push(error)
    }
  }
  if (subjects.length === 0) throw problems[0]
  return subjects
}

const rank = ({ status }: Candidate): number =>
  LIKELY.includes(status) ? LIKELY.indexOf(status) : LIKELY.length

/** Whether a survey has interviews and several sources. */
const showsEnough = (subjects: readonly Subject[]): boolean =>
  subjects.some(({ progress, sources }) => (progress.total ?? 0) > 0 && sources.rows.length > 1)

const look = async (reader: Reader, candidate: Candidate): Promise<Subject> => ({
  ...candidate,
  progress: await reader.progress(candidate.id),
  sources: await reader.sources(candidate.id),
})

interface SourceReading {
  readonly sourceId: number
  /** As the list of sources has it. */
  readonly sampleSize: number
  readonly progress: ProgressReading
}

export interface SourceReadings {
  readonly subject: Subject
  readonly readings: readonly [SourceReading, ...SourceReading[]]
}

const SOURCES_MAX = 3

/** The progress that the service restricts to a source. */
export const readSource = (reader: Reader, surveyId: number, sourceId: number): Promise<ProgressReading> =>
  reader.progress(surveyId, [['sample_source_id', String(sourceId)]])

/** Throws `Unseen` where no survey has a source that can be read. */
export const readSources = async (reader: Reader, subjects: readonly Subject[]): Promise<SourceReadings> => {
  const [subject] = subjects
    .filter(({ sources }) => sources.rows.length > 0)
    .sort((one, other) => worth(other) - worth(one))
  if (subject === undefined) throw new Unseen('no survey with sample sources has been seen')
  const readings: SourceReading[] = []
  for (const row of subject.sources.rows.slice(0, SOURCES_MAX)) {
    const [sourceId, sampleSize] = [integerOf(row.id), integerOf(row.sample_size)]
    if (sourceId === null || sampleSize === null) continue
    readings.push({ sourceId, sampleSize, progress: await readSource(reader, subject.id, sourceId) })
  }
  const [first, ...more] = readings
  if (first === undefined) throw new Unseen('no source has an id and a sample_size that can be read')
  return { subject, readings: [first, ...more] }
}

/** Several sources show the most, then interviews, then a survey that changes no more. */
const worth = ({ progress, sources, status }: Subject): number =>
  (sources.rows.length > 1 ? 4 : 0) + ((progress.total ?? 0) > 0 ? 2 : 0) + (status === 'complete' ? 1 : 0)
