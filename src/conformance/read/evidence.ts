/**
 * What several rules look at, asked once, when the first of them needs it. The service moves while it is looked at:
 * where two readings are compared, a third one tells whether something had changed in between.
 */
import type { Clock } from '../../base/clock.js'
import { textOf } from '../json.js'
import { Unseen } from '../unseen.js'
import {
  type ListReading,
  type ProgressReading,
  paging,
  type Reader,
  sameIds,
  surveysSeen,
} from './reader.js'
import type { Burst, Sender } from './sender.js'
import { findStart, type Start } from './start.js'
import { chooseSurveys, type Subject } from './subjects.js'

/** The beginning and the end of the survey list. */
export interface Head {
  /** Asked without `page`. */
  readonly first: ListReading
  /** Null where there is one page only. */
  readonly second: ListReading | null
  /** `page=1`, asked after `second`. */
  readonly again: ListReading
  /** Whether the first page was the same before and after the second was read. */
  readonly stable: boolean
  /** Null where there are less than three pages. */
  readonly last: ListReading | null
}

/** The list, by status. */
export interface StatusPages {
  readonly one: { readonly status: string; readonly reading: ListReading }
  /** Null where only one status has been seen. */
  readonly other: { readonly status: string; readonly reading: ListReading } | null
}

export interface Evidence {
  readonly reader: Reader
  readonly sender: Sender
  readonly clock: Clock
  readonly rate: { readonly requests: number; readonly perMs: number }
  /** Whether the cap may be exceeded once. */
  readonly exceedCap: boolean
  head(): Promise<Head>
  byStatus(): Promise<StatusPages>
  /** Some surveys with their progress and sources: several with interviews if there are any, and one without. */
  subjects(): Promise<readonly Subject[]>
  /** The survey whose interviews are looked at in windows of time: few of them, and none coming in. */
  windowSubject(): Promise<WindowSubject>
  /** When an interview of that survey started. */
  start(): Promise<Start>
  /** The answer that a burst beyond the cap came to. Throws `Unseen` unless `exceedCap`. */
  burst(): Promise<Burst>
}

export type WindowSubject = Subject & { readonly total: number }

export interface EvidenceOptions {
  readonly reader: Reader
  readonly sender: Sender
  readonly clock: Clock
  readonly rate: { readonly requests: number; readonly perMs: number }
  readonly exceedCap: boolean
}

export const gatherEvidence = (options: EvidenceOptions): Evidence => {
  const { reader } = options
  const head = once(() => readHead(reader))
  const subjects = once(async () => {
    await head()
    return await chooseSurveys(reader)
  })
  const windowSubject = once(async () => windowSubjectOf(await subjects()))
  return {
    ...options,
    head,
    subjects,
    byStatus: once(async () => {
      await head()
      return await readByStatus(reader)
    }),
    windowSubject,
    start: once(async () => findStart(reader, options.clock, await windowSubject())),
    burst: once(() => {
      if (!options.exceedCap) throw new Unseen('only looked at with --exceed-cap')
      return options.sender.burst('/surveys', options.rate.requests + BURST_OVER_CAP)
    }),
  }
}

/** The cap, and a few requests that must be refused. */
const BURST_OVER_CAP = 5

const once = <Value>(get: () => Promise<Value>): (() => Promise<Value>) => {
  let got: Promise<Value> | null = null
  return () => {
    got ??= Promise.resolve().then(get)
    return got
  }
}

/** A list that goes on changing is read so often; then it is not stable. */
const HEAD_READINGS_MAX = 3

const readHead = async (reader: Reader): Promise<Head> => {
  const first = await reader.surveys()
  const pages = paging(first, 'total_pages')
  let before = first
  for (let reading = 1; ; reading++) {
    const second = pages < 2 ? null : await reader.surveys([['page', '2']])
    const again = await reader.surveys([['page', '1']])
    const stable = sameIds(before, again)
    if (stable || second === null || reading === HEAD_READINGS_MAX) {
      const last = pages < 3 ? null : await reader.surveys([['page', String(paging(again, 'total_pages'))]])
      return { first: before, second, again, stable, last }
    }
    before = again
  }
}

const PREFERRED_STATUSES = ['complete', 'fieldwork']

const readByStatus = async (reader: Reader): Promise<StatusPages> => {
  const seen = new Set(surveysSeen(reader).flatMap(({ status }) => textOf(status) ?? []))
  const [one, other] = [
    ...PREFERRED_STATUSES.filter((status) => seen.has(status)),
    ...[...seen].filter((status) => !PREFERRED_STATUSES.includes(status)),
  ]
  if (one === undefined) throw new Unseen('no survey with a status has been seen')
  const read = async (status: string) => ({ status, reading: await reader.surveys([['status', status]]) })
  return { one: await read(one), other: other === undefined ? null : await read(other) }
}

const windowSubjectOf = (subjects: readonly Subject[]): WindowSubject => {
  const [best] = subjects
    .flatMap((subject) => {
      const { total } = subject.progress
      return total === null || total === 0 ? [] : [{ ...subject, total }]
    })
    .sort((a, b) => Number(b.status === 'complete') - Number(a.status === 'complete') || a.total - b.total)
  if (best === undefined) throw new Unseen('no survey with interviews has been seen')
  return best
}

/**
 * Compares two readings of what may change meanwhile: they differ only if the first, read again, is the same as
 * before. `moved` where it is not, twice.
 */
export const compare = async <One, Other>(
  readOne: () => Promise<One>,
  readOther: () => Promise<Other>,
  agrees: (one: One, other: Other) => boolean,
  same: (one: One, again: One) => boolean,
): Promise<
  | { readonly outcome: 'agree' | 'differ'; readonly one: One; readonly other: Other }
  | { readonly outcome: 'moved' }
> => {
  let one = await readOne()
  for (let round = 0; round < 2; round++) {
    const other = await readOther()
    if (agrees(one, other)) return { outcome: 'agree', one, other }
    const again = await readOne()
    if (same(one, again)) return { outcome: 'differ', one, other }
    one = again
  }
  return { outcome: 'moved' }
}

export const MOVED = 'what is compared changed while it was read'

/** Whether two progress readings show the same interviews. */
export const sameCounts = (one: ProgressReading, other: ProgressReading): boolean =>
  one.counts.size === other.counts.size &&
  [...one.counts].every(([status, count]) => other.counts.get(status) === count)
