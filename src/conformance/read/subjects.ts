/**
 * Chooses the surveys that are read with progress and sources. A few of them must show much: surveys in fieldwork have
 * interviews, complete ones no longer change, and a draft has no interviews.
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
