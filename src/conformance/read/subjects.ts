/**
 * Which surveys are looked at more closely. Few requests must show much: surveys whose fieldwork has begun have
 * interviews, complete ones hold still, and a draft shows what a survey without interviews looks like.
 */
import { integerOf, textOf } from '../json.js'
import { Unseen } from '../unseen.js'
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

/** One of each, in this order, as far as they were seen. */
const WANTED = [
  'complete',
  'fieldwork',
  'complete',
  'fieldwork',
  'data_processing',
  'deviating_from_specs',
  'draft',
] as const
/** Then these, while something is missing. */
const LIKELY = ['complete', 'fieldwork', 'data_processing', 'deviating_from_specs', 'pending']
const WANTED_MAX = 6
const MORE_MAX = 4

type Candidate = Pick<Subject, 'id' | 'status' | 'createdAt'>

/** Throws `Unseen` when there is none. */
export const chooseSurveys = async (reader: Reader): Promise<readonly Subject[]> => {
  const candidates = surveysSeen(reader).flatMap((survey): readonly Candidate[] => {
    const [id, status] = [integerOf(survey.id), textOf(survey.status)]
    return id === null ? [] : [{ id, status: status ?? '', createdAt: survey.created_at }]
  })
  if (candidates.length === 0) throw new Unseen('there is no survey')
  const wanted: Candidate[] = []
  for (const status of WANTED) {
    const next = candidates.find((one) => one.status === status && !wanted.includes(one))
    if (next !== undefined && wanted.length < WANTED_MAX) wanted.push(next)
  }
  const rest = candidates.filter((candidate) => !wanted.includes(candidate)).sort((a, b) => rank(a) - rank(b))
  const subjects: Subject[] = []
  const problems: unknown[] = []
  const queue = [...wanted, ...rest]
  for (const [place, candidate] of queue.entries()) {
    const isMore = place >= Math.max(1, wanted.length)
    if (isMore && (showsEnough(subjects) || place >= wanted.length + MORE_MAX)) break
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

/** Interviews in a survey with several sources. */
const showsEnough = (subjects: readonly Subject[]): boolean =>
  subjects.some(({ progress, sources }) => (progress.total ?? 0) > 0 && sources.rows.length > 1)

const look = async (reader: Reader, candidate: Candidate): Promise<Subject> => ({
  ...candidate,
  progress: await reader.progress(candidate.id),
  sources: await reader.sources(candidate.id),
})
