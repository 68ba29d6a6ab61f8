/**
 * Readings that several rules need. Each reading is requested once, when the first rule needs it. The service changes while we read it: if
 * two readings differ, a third reading shows whether something changed in between.
 */
import { isDeepStrictEqual } from 'node:util'
import type { Clock } from '../../base/clock.js'
import { once } from '../../base/once.js'
import { integerOf, textOf } from '../fields.js'
import { PASS, Unseen, type Verdict } from '../verdict.js'
import {
  type ListReading,
  type ProgressReading,
  paging,
  type Reader,
  sameIds,
  surveysSeen,
} from './reader.js'
import type { Sender } from './sender.js'
import { findStart } from './start.js'

export type Evidence = ReturnType<typeof gatherEvidence>

/** `burstRequestsMax`: requests of the burst beyond the cap; null where the cap must not be exceeded. */
export const gatherEvidence = (
  reader: Reader,
  sender: Sender,
  clock: Clock,
  burstRequestsMax: number | null,
) => {
  const head = once(() => readHead(reader))
  const subjects = once(async () => {
    await head()
    return await chooseSurveys(reader)
  })
  const windowSubject = once(async () => windowSubjectOf(await subjects()))
  return {
    reader,
    sender,
    clock,
    head,
    byStatus: once(async () => {
      await head()
      return await readByStatus(reader)
    }),
    /** Some surveys with their progress and sources: several with interviews if there are any, and one without. */
    subjects,
    /** The progress of each of the first sources of one survey. */
    sources: once(async () => readSources(reader, await subjects())),
    /** The survey for windows of time: few interviews, and complete if there is such a survey. */
    windowSubject,
    /** When an interview of that survey started. */
    start: once(async () => findStart(reader, clock, await windowSubject())),
    /** A burst of requests beyond the cap. Throws `Unseen` where a burst is not allowed. */
    burst: once(async () => {
      if (burstRequestsMax === null) throw new Unseen('only checked with --exceed-cap')
      return await sender.burst('/surveys', burstRequestsMax)
    }),
  }
}

/** A list that still changes after this many readings is not stable. */
const HEAD_READINGS_MAX = 3

/** The beginning and the end of the survey list. */
const readHead = async (reader: Reader) => {
  let first = await reader.surveys()
  const pages = paging(first, 'total_pages')
  for (let reading = 1; ; reading++) {
    /** Null if there is only one page. */
    const second = pages < 2 ? null : await reader.surveys([['page', '2']])
    /** `page=1`, requested after `second`. */
    const again = await reader.surveys([['page', '1']])
    /** Whether the first page was the same before and after the second was read. */
    const stable = sameIds(first, again)
    if (stable || second === null || reading === HEAD_READINGS_MAX) {
      /** Null if there are fewer than three pages. */
      const last = pages < 3 ? null : await reader.surveys([['page', String(paging(again, 'total_pages'))]])
      return { first, second, again, stable, last }
    }
    first = again
  }
}

type Head = Awaited<ReturnType<typeof readHead>>

/** The first two pages; throws `Unseen` without a second page, or if the list changed between the readings. */
export const stablePages = ({ first, second, stable }: Head): readonly [ListReading, ListReading] => {
  if (second === null) throw new Unseen('the list of surveys has one page only')
  if (!stable) throw new Unseen('the list kept changing while it was read')
  return [first, second]
}

const PREFERRED_STATUSES = ['complete', 'fieldwork']

const readByStatus = async (reader: Reader) => {
  const seen = new Set(surveysSeen(reader).flatMap(({ status }) => textOf(status) ?? []))
  const [one, other] = [
    ...PREFERRED_STATUSES.filter((status) => seen.has(status)),
    ...[...seen].filter((status) => !PREFERRED_STATUSES.includes(status)),
  ]
  if (one === undefined) throw new Unseen('no survey with a status has been seen')
  const read = async (status: string) => ({ status, reading: await reader.surveys([['status', status]]) })
  // `other` is null if only one status has been seen.
  return { one: await read(one), other: other === undefined ? null : await read(other) }
}

const windowSubjectOf = (subjects: readonly Subject[]) => {
  const [best] = subjects
    .flatMap((subject) => {
      const { total } = subject.progress
      return total === null || total === 0 ? [] : [{ ...subject, total }]
    })
    .sort((a, b) => Number(b.status === 'complete') - Number(a.status === 'complete') || a.total - b.total)
  if (best === undefined) throw new Unseen('no survey with interviews has been seen')
  return best
}

export const MOVED = 'the compared data changed while it was read'
const COMPARISONS_MAX = 2

/**
 * Compares two readings of data that may change in between. If they differ, the first reading is repeated: only if it gives the same again,
 * `differ` judges the difference. Throws `Unseen` if the data changed each time.
 */
export const compare = async <Reading>({
  known,
  readOne,
  readOther,
  isSame,
  isUnchanged = isSame,
  differ,
}: {
  /** The first reading, if it was already made. */
  readonly known?: Reading
  readonly readOne: () => Promise<Reading>
  readonly readOther: () => Promise<Reading>
  readonly isSame: (one: Reading, other: Reading) => boolean
  /** Whether the repeated first reading gives the same, where `isSame` compares less than all of it. */
  readonly isUnchanged?: (one: Reading, again: Reading) => boolean
  readonly differ: (one: Reading, other: Reading) => Verdict
}): Promise<Verdict> => {
  let one = known ?? (await readOne())
  for (let round = 0; round < COMPARISONS_MAX; round++) {
    const other = await readOther()
    if (isSame(one, other)) return PASS
    const again = await readOne()
    if (isUnchanged(one, again)) return differ(one, other)
    one = again
  }
  throw new Unseen(MOVED)
}

/** Whether two progress readings show the same interviews. */
export const sameCounts = (a: ProgressReading, b: ProgressReading): boolean =>
  isDeepStrictEqual(a.counts, b.counts)

interface Subject {
  readonly id: number
  readonly status: string
  /** As the listing wrote it. */
  readonly createdAt: unknown
  readonly progress: ProgressReading
  readonly sources: ListReading
}

/** Further surveys are read in this order of status, until a survey with several sources has interviews. */
const LIKELY = ['complete', 'fieldwork', 'data_processing', 'deviating_from_specs', 'pending']
/** One survey is read for each of these statuses, if the list has one. */
const KINDS = ['complete', 'fieldwork', ...LIKELY.slice(0, -1), 'draft']
const MORE_MAX = 4

type Candidate = Pick<Subject, 'id' | 'status' | 'createdAt'>

/**
 * Chooses the few surveys that are read with progress and sources, of different statuses: surveys in fieldwork have interviews, complete
 * surveys no longer change, and a draft has no interviews. Throws `Unseen` if no survey can be read.
 */
const chooseSurveys = async (reader: Reader): Promise<readonly Subject[]> => {
  const candidates = surveysSeen(reader).flatMap((survey): readonly Candidate[] => {
    const [id, status] = [integerOf(survey.id), textOf(survey.status)]
    return id === null ? [] : [{ id, status: status ?? '', createdAt: survey.created_at }]
  })
  if (candidates.length === 0) throw new Unseen('there is no survey')
  const chosen: Candidate[] = []
  for (const status of KINDS) {
    const next = candidates.find((candidate) => candidate.status === status && !chosen.includes(candidate))
    if (next !== undefined) chosen.push(next)
  }
  const rest = candidates.filter((candidate) => !chosen.includes(candidate)).sort((a, b) => rank(a) - rank(b))
  const subjects: Subject[] = []
  const problems: unknown[] = []
  for (const [index, candidate] of [...chosen, ...rest.slice(0, MORE_MAX)].entries()) {
    if (index >= chosen.length && showsEnough(subjects)) break
    try {
      const progress = await reader.progress(candidate.id)
      subjects.push({ ...candidate, progress, sources: await reader.sources(candidate.id) })
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

const showsEnough = (subjects: readonly Subject[]): boolean =>
  subjects.some(({ progress, sources }) => (progress.total ?? 0) > 0 && sources.rows.length > 1)

const SOURCES_MAX = 3

/** The progress that the service restricts to a source. */
export const readSource = (reader: Reader, surveyId: number, sourceId: number): Promise<ProgressReading> =>
  reader.progress(surveyId, [['sample_source_id', String(sourceId)]])

/** Throws `Unseen` where no survey has a source that can be read. */
const readSources = async (reader: Reader, subjects: readonly Subject[]) => {
  const [subject] = subjects
    .filter(({ sources }) => sources.rows.length > 0)
    .sort((a, b) => worth(b) - worth(a))
  if (subject === undefined) throw new Unseen('no survey with sample sources has been seen')
  const readings: { sourceId: number; sampleSize: number; progress: ProgressReading }[] = []
  for (const row of subject.sources.rows.slice(0, SOURCES_MAX)) {
    const [sourceId, sampleSize] = [integerOf(row.id), integerOf(row.sample_size)]
    if (sourceId === null || sampleSize === null) continue
    readings.push({ sourceId, sampleSize, progress: await readSource(reader, subject.id, sourceId) })
  }
  const [first, ...more] = readings
  if (first === undefined) throw new Unseen('no source has an id and a sample_size that can be read')
  // `sampleSize` is as the list of sources has it.
  return { subject, readings: [first, ...more] as const }
}

/** A survey is worth most with several sources, then with interviews, then with a status in which it no longer changes. */
const worth = ({ progress, sources, status }: Subject): number =>
  (sources.rows.length > 1 ? 4 : 0) + ((progress.total ?? 0) > 0 ? 2 : 0) + (status === 'complete' ? 1 : 0)
