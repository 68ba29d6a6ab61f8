/**
 * Moves of single sources that the reference server hardly ever draws: counts that fall, or cancel out between two sources; targets that
 * change by opposite numbers; sources that come and go; a status that the client does not know. They lie over the answers of the server.
 * A survey is always the sum of the sources that it shows.
 */
import {
  INTERVIEW_STATUSES,
  type InterviewStatus,
  type ProgressResource,
  type SampleSourceResource,
} from '../../src/reference-server/resources.js'
import { formatUtc, type Micros, parseIsoTime } from '../../src/reference-server/time.js'
import type { Organization } from '../../src/reference-server/world/organization.js'
import type { Random } from './random.js'

/** How a source differs from what the reference server shows. */
interface Moved {
  readonly counts: Partial<Readonly<Record<InterviewStatus, number>>>
  /** Interviews in a status that the client does not know. */
  readonly unknown: number
  readonly target: number
  /** `later`: it has not been created yet. `gone`: it never returns. */
  readonly hidden: 'later' | 'gone' | null
  readonly updatedAt: Micros | null
}

/** By the id of the source. A move makes a new map, so an old one says what the API showed then. */
export type Moves = ReadonlyMap<number, Moved>

const STILL: Moved = { counts: {}, unknown: 0, target: 0, hidden: null, updatedAt: null }

interface Shown {
  readonly id: number
  readonly row: SampleSourceResource
  readonly progress: ProgressResource
}

/** The sources of survey `index` at `at` in the order of their list, as they are shown after these moves. */
export const shownSources = (organization: Organization, at: Micros, index: number, moves: Moves): Shown[] =>
  organization.listSampleSources(at, index).flatMap((row): Shown[] => {
    const { id } = row
    const moved = moves.get(id) ?? STILL
    const progress = organization.progress(at, index, { sample_source_id: id })
    if (moved.hidden !== null || progress === null) return []
    const { target, updatedAt } = moved
    return [
      {
        id,
        row: {
          ...row,
          sample_size: Math.max(0, row.sample_size + target),
          ...(updatedAt !== null &&
            updatedAt > (parseIsoTime(row.updated_at) ?? 0) && { updated_at: formatUtc(updatedAt) }),
        },
        progress: movedProgress(progress, moved),
      },
    ]
  })

type Counts = Readonly<Record<InterviewStatus, number>>

const countsOf = (progress: ProgressResource): Counts =>
  byStatus((status) => progress.interview_count_by_status[status].individuals)

const byStatus = (count: (status: InterviewStatus) => number): Counts =>
  Object.fromEntries(INTERVIEW_STATUSES.map((status) => [status, count(status)])) as Counts

const movedProgress = (progress: ProgressResource, { counts, unknown, target }: Moved): ProgressResource => {
  const before = countsOf(progress)
  return indicators({
    counts: byStatus((status) => Math.max(0, before[status] + (counts[status] ?? 0))),
    unknown,
    target: Math.max(0, progress.sample_size + target),
    length: progress.length_of_interview ?? null,
  })
}

const unknownOf = ({ interview_count_by_status }: ProgressResource): number =>
  (interview_count_by_status as Record<string, { individuals: number } | undefined>)[UNKNOWN]?.individuals ??
  0

const UNKNOWN = 'hibernating'

/** The progress of a survey whose own length of interview is `length`. */
export const summed = (
  sources: readonly Pick<Shown, 'progress'>[],
  length: number | null,
): ProgressResource => {
  const sum = (part: (progress: ProgressResource) => number) =>
    sources.reduce((total, { progress }) => total + part(progress), 0)
  return indicators({
    counts: byStatus((status) => sum((one) => one.interview_count_by_status[status].individuals)),
    unknown: sum(unknownOf),
    target: sum(({ sample_size }) => sample_size),
    length,
  })
}

interface Additive {
  readonly counts: Counts
  readonly unknown: number
  readonly target: number
  readonly length: number | null
}

/** By the formulas of the API document, "Fieldwork progress". */
const indicators = ({ counts, unknown, target, length }: Additive): ProgressResource => {
  const total = INTERVIEW_STATUSES.reduce((sum, status) => sum + counts[status], unknown)
  const rate = (part: number, whole: number) => (whole === 0 ? null : part / whole)
  const entry = (individuals: number) => ({
    individuals,
    percentage: total === 0 ? 0 : (100 * individuals) / total,
  })
  const { complete, screen_out, quota_full, incomplete } = counts
  const incidence = rate(complete, complete + screen_out)
  const entries = Object.fromEntries([
    ...INTERVIEW_STATUSES.map((status) => [status, entry(counts[status])] as const),
    ...(unknown > 0 ? [[UNKNOWN, entry(unknown)] as const] : []),
  ])
  return {
    sample_size: target,
    interviews_count: complete,
    interview_count_by_status: entries as ProgressResource['interview_count_by_status'],
    completion_rate: rate(complete, target),
    questionnaire_incidence_rate: rate(complete, complete + screen_out + quota_full + incomplete),
    target_incidence_rate: incidence,
    incidence_rate: incidence,
    drop_out_rate: rate(incomplete, total),
    length_of_interview: complete === 0 ? null : (length ?? LENGTH),
  }
}

const LENGTH = 300

/** The moves at the beginning: some sources are still to come. */
export const firstMoves = (organization: Organization, at: Micros, { chance, pick }: Random): Moves =>
  new Map(
    organization.surveyIndexes(at).flatMap((index) => {
      const sources = organization.field(index)
      return sources.length > 1 && chance(0.25)
        ? [[pick(sources).id, { ...STILL, hidden: 'later' }] as const]
        : []
    }),
  )

/** The client knows each status that is shown after these moves. */
export const withKnownStatuses = (moves: Moves): Moves =>
  new Map(
    [...moves].map(([id, moved]) => {
      const complete = (moved.counts.complete ?? 0) + moved.unknown
      return [id, { ...moved, unknown: 0, counts: { ...moved.counts, complete } }] as const
    }),
  )

/** The sources of a survey, and what was drawn for a move of some of them. */
interface Scene {
  readonly random: Random
  readonly one: Shown
  /** Another one, if there is one. */
  readonly other: Shown
  /** In the order in which the client reads them. */
  readonly ordered: readonly Shown[]
  readonly from: InterviewStatus
  /** Null: Ignored, which is not shown. */
  readonly to: InterviewStatus | null
  readonly by: number
  readonly coming: readonly number[]
  add(source: Shown, status: InterviewStatus | null, by: number): void
  change(id: number, how: (before: Moved) => Partial<Moved>): void
  retarget(source: Shown, by: number): void
}

const KINDS: Readonly<Record<string, (scene: Scene) => void>> = {
  /** The source that is read first explains all of the survey but one count. */
  apart: ({ random: { pick, chance }, ordered: [first, ...others], add }) => {
    if (first !== undefined) add(first, pick(STATUSES), 1)
    if (others.length === 0) return
    const [last, status] = [pick(others), pick(STATUSES)]
    add(last, status, has(last, status) > 0 && chance(0.5) ? -1 : 1)
  },
  arrive: ({ one, from, by, add }) => add(one, from, by),
  shift: ({ one, from, to, by, add }) => {
    const some = Math.min(by, has(one, from))
    add(one, from, -some)
    add(one, to, some)
  },
  /** Nothing of it shows in the survey. */
  swap: ({ one, other, from, to, by, add }) => {
    const some = Math.min(by, has(one, from), has(other, to))
    add(one, from, -some)
    add(one, to, some)
    add(other, to, -some)
    add(other, from, some)
  },
  opposite: ({ one, other, from, by, add }) => {
    const some = Math.min(by, has(one, from))
    add(one, from, -some)
    add(other, from, some)
  },
  targets: ({ one, other, retarget }) => {
    const some = Math.min(50, other.row.sample_size)
    retarget(one, some)
    retarget(other, -some)
  },
  target: ({ one, random, retarget }) =>
    retarget(one, Math.max(random.pick([50, 20, -20]), -one.row.sample_size)),
  unknown: ({ one, by, change }) => change(one.id, ({ unknown }) => ({ unknown: unknown + by })),
  come: ({ coming, change }) => {
    for (const id of coming) change(id, () => ({ hidden: null }))
  },
  go: ({ one, change }) => change(one.id, () => ({ hidden: 'gone' })),
}

const WEIGHTED = [
  ...([
    'apart',
    'apart',
    'apart',
    'apart',
    'apart',
    'swap',
    'swap',
    'opposite',
    'targets',
    'target',
  ] as const),
  ...(['shift', 'shift', 'arrive', 'arrive', 'unknown', 'come', 'go'] as const),
]

const has = ({ progress }: Shown, status: InterviewStatus | null): number =>
  status === null ? 0 : countsOf(progress)[status]

/** `moves` and one more, of sources of survey `index`. */
export const moveOnce = (
  moves: Moves,
  { organization, at, index, random }: MoveOf,
): { readonly moves: Moves; readonly what: string } => {
  const { pick, whole } = random
  const shown = shownSources(organization, at, index, moves)
  const [one, other = one] = shuffled(random, shown)
  if (one === undefined || other === undefined) return { moves, what: 'nothing moves' }
  const next = new Map(moves)
  const change: Scene['change'] = (id, how) => {
    const before = next.get(id) ?? STILL
    // What moved last is the last of the map.
    next.delete(id)
    next.set(id, { ...before, ...how(before) })
  }
  const kind = pick(WEIGHTED)
  const present = STATUSES.filter((status) => has(one, status) > 0)
  const [from, to] = [pick(present.length > 0 ? present : STATUSES), pick([...STATUSES, null])] as const
  const by = whole(1, 3)
  KINDS[kind]?.({
    ...{ random, one, other, from, to, by, change },
    ordered: inReadingOrder(moves, shown),
    coming: [...moves].flatMap(([id, { hidden }]) => (hidden === 'later' ? [id] : [])),
    add: ({ id }, status, more) => {
      if (status !== null)
        change(id, ({ counts }) => ({ counts: { ...counts, [status]: (counts[status] ?? 0) + more } }))
    },
    retarget: ({ id }, more) => {
      change(id, ({ target }) => ({ target: target + more, updatedAt: at }))
    },
  })
  return { moves: next, what: `${kind} of ${one.id} and ${other.id}, ${from} and ${to ?? 'ignored'}, ${by}` }
}

/** Those that moved last come first, then those with most interviews. */
const inReadingOrder = (moves: Moves, shown: readonly Shown[]): Shown[] => {
  const order = [...moves.keys()]
  return shown.toSorted(
    (a, b) =>
      order.indexOf(b.id) - order.indexOf(a.id) || b.progress.interviews_count - a.progress.interviews_count,
  )
}

interface MoveOf {
  readonly organization: Organization
  readonly at: Micros
  readonly index: number
  readonly random: Random
}

/** Those that interviews have most, more often. */
const STATUSES: readonly InterviewStatus[] = [
  ...([...INTERVIEW_STATUSES, 'complete', 'complete', 'incomplete', 'incomplete', 'screen_out'] as const),
]

const shuffled = <Value>({ unit }: Random, values: readonly Value[]): Value[] =>
  values
    .map((value) => ({ value, order: unit() }))
    .toSorted((one, other) => one.order - other.order)
    .map(({ value }) => value)
