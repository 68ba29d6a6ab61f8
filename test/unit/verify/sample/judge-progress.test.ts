/** The service is a list of interviews with their starts, so that every verdict can be computed by hand. */
import { describe, expect, test } from 'vitest'
import { byStatus, INTERVIEW_STATUSES, type InterviewStatus } from '../../../../src/model/fields.js'
import { type Instant, instantFromMs } from '../../../../src/model/instant.js'
import type { CellRow } from '../../../../src/model/warehouse.js'
import { brokenFormulas, judgeProgress, totalOf } from '../../../../src/verify/sample/judge-progress.js'

const MINUTE_MS = 60_000
const minute = (minutes: number): Instant => instantFromMs((1_000_000 + minutes) * MINUTE_MS)

type Interviews = readonly (readonly [startMinute: number, status: InterviewStatus])[]

/** The documented formulas. */
const progressOf = (interviews: Interviews, target = 100): CellRow => {
  const count = (...statuses: readonly InterviewStatus[]) =>
    interviews.filter(([, status]) => statuses.includes(status)).length
  const rate = (part: number, whole: number) => (whole === 0 ? null : part / whole)
  return {
    sample_size: target,
    interviews_count: count('complete'),
    completion_rate: rate(count('complete'), target),
    questionnaire_incidence_rate: rate(
      count('complete'),
      count('complete', 'screen_out', 'quota_full', 'incomplete'),
    ),
    target_incidence_rate: rate(count('complete'), count('complete', 'screen_out')),
    incidence_rate: rate(count('complete'), count('complete', 'screen_out')),
    drop_out_rate: rate(count('incomplete'), interviews.length),
    length_of_interview: count('complete') === 0 ? null : 600,
    ...Object.fromEntries(
      INTERVIEW_STATUSES.flatMap((status) => [
        [`${status}_individuals`, count(status)],
        [`${status}_percentage`, interviews.length === 0 ? 0 : (100 * count(status)) / interviews.length],
      ]),
    ),
    _extra: null,
  }
}

const BEFORE: Interviews = [
  [0, 'complete'],
  [10, 'complete'],
  [20, 'screen_out'],
  [30, 'incomplete'],
]
const READ = minute(60)
const NOW = minute(600)

interface Service {
  readonly interviews: Interviews
  readonly target?: number
  /** How the service answers for interviews up to a moment, if not as the API document says. */
  readonly until?: (at: Instant) => CellRow | null
}

const judge = async (stored: CellRow | null, { interviews, target, until }: Service, more: object = {}) => {
  const moments: Instant[] = []
  const judged = await judgeProgress({
    stored,
    readAt: READ,
    isReadAtExact: true,
    service: progressOf(interviews, target),
    serviceReadAt: NOW,
    waitsFor: null,
    slackMs: 5 * MINUTE_MS,
    mayGain: false,
    haveSourcesChanged: false,
    isTargetKnown: async () => true,
    until: (at) => {
      moments.push(at)
      const counted = interviews.filter(([start]) => minute(start) <= at)
      return Promise.resolve(until === undefined ? progressOf(counted, target) : until(at))
    },
    ...more,
  })
  return { ...judged, requests: moments.length }
}

const later: Interviews = [...BEFORE, [100, 'complete'], [200, 'incomplete']]

const stored = progressOf(BEFORE)
const lacking = progressOf(BEFORE.slice(2))
const wrongLength = { ...stored, length_of_interview: 601 }
const withoutCount = { ...progressOf(later), speeder_individuals: null }
/** Interviews show an hour late, unless they are requested by their start. */
const late: Interviews = [...later, [550, 'complete'], [580, 'complete']]
const untilOf = (all: Interviews) => (at: Instant) => progressOf(all.filter(([start]) => minute(start) <= at))
const otherMedian = (at: Instant) => ({ ...untilOf(later)(at), length_of_interview: 12 })
const imprecise = { isReadAtExact: false }
const sourceChanged = { haveSourcesChanged: true }

type Case = [what: string, stored: CellRow | null, service: Service, is: object, more?: object]

const judges = (cases: Case[]) =>
  test.each<Case>(cases)('%s', async (_, row, service, is, more) => {
    expect(await judge(row, service, more)).toMatchObject(is)
  })

const one = (...more: Interviews): Service => ({ interviews: [...BEFORE, ...more] })

describe('equal or moved:', () => {
  const moved = { verdict: 'moved' }
  const completed: Service = { interviews: [...BEFORE.slice(0, 3), [30, 'complete']] }
  const withOneMore = progressOf([...BEFORE, [62, 'complete']])
  const ofSource = one([62, 'complete'], [400, 'complete'])
  const unknownTarget = { isTargetKnown: async () => false }
  judges([
    ['an equal answer needs no further request', stored, one(), { verdict: 'equal', requests: 0 }],
    ['interviews have started since', stored, { interviews: later }, { ...moved, requests: 1 }],
    ['an incomplete interview became complete', stored, completed, { ...moved, requests: 1 }],
    ['one shortly before the reading shows late', stored, one([58, 'incomplete']), { ...moved, requests: 2 }],
    ['a source went with its interviews', stored, { interviews: BEFORE.slice(1) }, moved, sourceChanged],
    ['a source came with its interviews', lacking, { interviews: later }, moved, sourceChanged],
    ['a source was read some minutes after its survey', withOneMore, ofSource, moved, imprecise],
    ['the target changed with a source', stored, { ...one(), target: 200 }, moved, unknownTarget],
  ])
})

describe('wrong:', () => {
  const why = expect.stringMatching(/^2 interviews missing that had started before it was read at /)
  const broken = { interviews_count: 7, completion_rate: 0.9, drop_out_rate: 0.9, complete_percentage: 3 }
  const wrong = (field: string, ours: number, service?: number) => ({
    verdict: 'wrong',
    differences: [{ field, stored: ours, ...(service === undefined ? {} : { service }) }],
  })
  judges([
    ['interviews are missing', lacking, { interviews: later }, { verdict: 'wrong', why, requests: 4 }],
    ...Object.entries(broken).map(
      ([field, value]): Case => [
        `${field} contradicts the counts of the same row`,
        { ...stored, [field]: value },
        { interviews: later },
        { ...wrong(field, value), requests: 0 },
      ],
    ),
    ['the median length differs', wrongLength, { interviews: later }, wrong('length_of_interview', 601, 600)],
    ['the target differs, no source changed', progressOf(BEFORE, 90), one(), wrong('sample_size', 90, 100)],
    ['the row was read, and is not in the warehouse', null, one(), { verdict: 'wrong' }],
  ])
})

describe('no verdict:', () => {
  const unclear = { verdict: 'unclear' }
  const says = (text: string) => ({ ...unclear, why: expect.stringContaining(text) })
  const of = (until: Service['until']): Service => ({ interviews: later, ...(until && { until }) })
  const shown = later.filter(([start]) => start <= 540)
  judges([
    ['interviews may be ignored', stored, { interviews: BEFORE.slice(1) }, says('may be ignored since')],
    ['imported data may have started earlier', lacking, of(undefined), unclear, { mayGain: true }],
    ['the service ignores the moment', stored, of(() => progressOf(later)), says('count up to a moment')],
    ['a service that counts late', lacking, { interviews: shown, until: untilOf(late) }, unclear],
    ['the median of a period is computed in another way', stored, of(otherMedian), unclear],
    ['an answer leaves counts out', stored, of(() => withoutCount), unclear],
    ['an answer cannot be typed', stored, of(() => null), unclear],
    ['a reading without a time', stored, of(undefined), unclear, { readAt: null }],
    ['a reading in the future', stored, of(undefined), unclear, { readAt: minute(601) }],
    ['a survey is known to be behind', null, one(), { verdict: 'waiting', requests: 0 }, { waitsFor: 'why' }],
    ['the API may have added fields', { ...stored, _extra: '{"a":1}' }, one(), { ...unclear, requests: 0 }],
  ])
})

const counts = byStatus<number, null>(
  (status) => ({ complete: 30, incomplete: 10, screen_out: 20 })[String(status)] ?? 0,
  () => null,
)
const row = {
  ...counts,
  ...{ sample_size: 90, interviews_count: 30, drop_out_rate: 10 / 60, completion_rate: 1 / 3, _extra: null },
}

test('the total has the interviews of unknown statuses too, and is null if a count is left out', () => {
  expect(totalOf(row)).toBe(60)
  const extra = '{"interview_count_by_status":{"archived":{"individuals":5,"percentage":1}}}'
  expect(totalOf({ ...row, _extra: extra })).toBe(65)
  expect(totalOf({ ...row, _extra: '{"interview_count_by_status":{"archived":{}}}' })).toBeNull()
  expect(totalOf({ ...row, _extra: '{"mood":"good"}' })).toBe(60)
  expect(totalOf({ ...row, speeder_individuals: null })).toBeNull()
})

test('a formula counts only if the service keeps it, and rounding keeps it', () => {
  expect(brokenFormulas({ ...row, drop_out_rate: 0.5 }, row)).toEqual([
    { field: 'drop_out_rate', stored: 0.5, service: 10 / 60 },
  ])
  expect(brokenFormulas({ ...row, drop_out_rate: 0.17 }, row)).toEqual([])
  expect(brokenFormulas({ ...row, drop_out_rate: 0.5 }, { ...row, drop_out_rate: 0.4 })).toEqual([])
  expect(brokenFormulas({ ...row, drop_out_rate: null }, row)).toEqual([])
  expect(brokenFormulas({ ...row, sample_size: 0 }, row)).toEqual([])
})
