/** The service is a list of interviews with their starts, so that every verdict can be computed by hand. */
import { describe, expect, test } from 'vitest'
import { INTERVIEW_STATUSES, type InterviewStatus } from '../../../../src/model/fields.js'
import { type Instant, instantFromMs } from '../../../../src/model/instant.js'
import type { CellRow } from '../../../../src/model/warehouse.js'
import { judgeProgress } from '../../../../src/verify/sample/judge-progress.js'

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

test('an equal answer needs no further request', async () => {
  expect(await judge(progressOf(BEFORE), { interviews: BEFORE })).toMatchObject({
    verdict: 'equal',
    requests: 0,
  })
})

describe('moved', () => {
  test('interviews have started since: one request proves that the reading was right', async () => {
    expect(await judge(progressOf(BEFORE), { interviews: later })).toMatchObject({
      verdict: 'moved',
      requests: 1,
    })
  })

  test('an incomplete interview became complete', async () => {
    const interviews: Interviews = [...BEFORE.slice(0, 3), [30, 'complete']]
    expect(await judge(progressOf(BEFORE), { interviews })).toMatchObject({ verdict: 'moved', requests: 1 })
  })

  test('an interview that started shortly before the reading shows late', async () => {
    const interviews: Interviews = [...BEFORE, [58, 'incomplete']]
    expect(await judge(progressOf(BEFORE), { interviews })).toMatchObject({ verdict: 'moved', requests: 2 })
  })

  test('a source is no longer listed, and its interviews went with it', async () => {
    expect(
      await judge(progressOf(BEFORE), { interviews: BEFORE.slice(1) }, { haveSourcesChanged: true }),
    ).toMatchObject({ verdict: 'moved' })
  })

  test('a source was read some minutes after its survey', async () => {
    const stored = progressOf([...BEFORE, [62, 'complete']])
    const interviews: Interviews = [...BEFORE, [62, 'complete'], [400, 'complete']]
    expect(await judge(stored, { interviews }, { isReadAtExact: false })).toMatchObject({ verdict: 'moved' })
  })

  test('the target changed with a source', async () => {
    const service = { interviews: BEFORE, target: 200 }
    expect(await judge(progressOf(BEFORE), service, { isTargetKnown: async () => false })).toMatchObject({
      verdict: 'moved',
    })
  })
})

describe('wrong', () => {
  test('interviews are missing that had started long before the reading', async () => {
    expect(await judge(progressOf(BEFORE.slice(2)), { interviews: later })).toMatchObject({
      verdict: 'wrong',
      why: expect.stringMatching(/^2 interviews missing that had started before it was read at /),
      requests: 4,
    })
  })

  test.each([
    ['interviews_count', 7],
    ['completion_rate', 0.9],
    ['drop_out_rate', 0.9],
    ['complete_percentage', 3],
  ])('%s contradicts the counts of the same row', async (field, value) => {
    const judged = await judge({ ...progressOf(BEFORE), [field]: value }, { interviews: later })
    expect(judged).toMatchObject({ verdict: 'wrong', requests: 0, differences: [{ field, stored: value }] })
  })

  test('the median length differs, and no interview of that time has moved', async () => {
    const judged = await judge({ ...progressOf(BEFORE), length_of_interview: 601 }, { interviews: later })
    expect(judged).toMatchObject({
      verdict: 'wrong',
      differences: [{ field: 'length_of_interview', stored: 601, service: 600 }],
    })
  })

  test('the target differs, and no source has changed', async () => {
    expect(await judge(progressOf(BEFORE, 90), { interviews: BEFORE, target: 100 })).toMatchObject({
      verdict: 'wrong',
      differences: [{ field: 'sample_size', stored: 90, service: 100 }],
    })
  })

  test('the row was read, and is not in the warehouse', async () => {
    expect(await judge(null, { interviews: BEFORE })).toMatchObject({ verdict: 'wrong' })
  })
})

describe('no verdict', () => {
  test('interviews may be ignored since', async () => {
    expect(await judge(progressOf(BEFORE), { interviews: BEFORE.slice(1) })).toMatchObject({
      verdict: 'unclear',
      why: expect.stringContaining('may be ignored since'),
    })
  })

  test('a source comes back, and its interviews with it', async () => {
    const came = { haveSourcesChanged: true }
    expect(await judge(progressOf(BEFORE.slice(2)), { interviews: later }, came)).toMatchObject({
      verdict: 'moved',
    })
  })

  test('imported data may have started before it was imported', async () => {
    expect(await judge(progressOf(BEFORE.slice(2)), { interviews: later }, { mayGain: true })).toMatchObject({
      verdict: 'unclear',
    })
  })

  test('a service that ignores started_before proves nothing', async () => {
    const until = () => progressOf(later)
    expect(await judge(progressOf(BEFORE), { interviews: later, until })).toMatchObject({
      verdict: 'unclear',
      why: expect.stringContaining('does not count up to a moment'),
    })
  })

  test('a service that counts late counted late when we read', async () => {
    // It shows interviews an hour late, unless they are requested by their start.
    const shown = later.filter(([start]) => start <= 540)
    const interviews: Interviews = [...later, [550, 'complete'], [580, 'complete']]
    const until = (at: Instant) => progressOf(interviews.filter(([start]) => minute(start) <= at))
    expect(await judge(progressOf(BEFORE.slice(2)), { interviews: shown, until })).toMatchObject({
      verdict: 'unclear',
    })
  })

  test('a service that computes the median of a period in another way', async () => {
    const until = (at: Instant) => ({
      ...progressOf(later.filter(([start]) => minute(start) <= at)),
      length_of_interview: 12,
    })
    expect(await judge(progressOf(BEFORE), { interviews: later, until })).toMatchObject({
      verdict: 'unclear',
    })
  })

  test('an answer that leaves counts out, or cannot be typed', async () => {
    const without = { ...progressOf(later), speeder_individuals: null }
    expect(await judge(progressOf(BEFORE), { interviews: later, until: () => without })).toMatchObject({
      verdict: 'unclear',
    })
    expect(await judge(progressOf(BEFORE), { interviews: later, until: () => null })).toMatchObject({
      verdict: 'unclear',
    })
  })

  test('a reading without a time, or in the future', async () => {
    for (const readAt of [null, minute(601)])
      expect(await judge(progressOf(BEFORE), { interviews: later }, { readAt })).toMatchObject({
        verdict: 'unclear',
      })
  })

  test('a survey that is known to be behind waits', async () => {
    expect(await judge(null, { interviews: BEFORE }, { waitsFor: 'it was never read' })).toMatchObject({
      verdict: 'waiting',
      requests: 0,
    })
  })

  test('unknown fields that the API may have added', async () => {
    expect(
      await judge({ ...progressOf(BEFORE), _extra: '{"mood":1}' }, { interviews: BEFORE }),
    ).toMatchObject({ verdict: 'unclear', requests: 0 })
  })
})
