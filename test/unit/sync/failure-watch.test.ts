/** When failures of single surveys end the run, as a table. */
import { describe, expect, test } from 'vitest'
import { UpstreamError } from '../../../src/base/errors.js'
import { type RefusalKind, RefusedReadingError } from '../../../src/model/survey-source.js'
import { EndpointWatch, FailureWatch } from '../../../src/sync/failure-watch.js'
import { runAccount } from '../../../src/sync/run.js'
import { type MemorySource, memorySource } from '../../support/api/memory-source.js'
import { some } from '../../support/suite/cases.js'
import { minute } from '../../support/time/instants.js'
import { testClock } from '../../support/time/test-clock.js'
import { source, survey, withOneSource } from '../../support/warehouse/rows.js'
import { runDependencies } from '../../support/warehouse/run-dependencies.js'
import { sharedWarehouse, type TestWarehouse } from '../../support/warehouse/warehouse.js'

const emptyWarehouse = sharedWarehouse()

const down = () => new UpstreamError('attempts_exhausted', 'answered 500')

const refused = (kind: RefusalKind) => new RefusedReadingError(kind, `answered ${kind}`)

interface Step {
  /** How many answers of the survey were read; null when none was. */
  readonly answers: number | null
  readonly kinds?: readonly RefusalKind[]
  readonly isKnown?: boolean
  readonly mayBeGone?: boolean
  readonly times?: number
}

const GONE: Step = { answers: null, kinds: ['not_found', 'not_found'], mayBeGone: true }
const FORBIDDEN: Step = { answers: null, kinds: ['forbidden', 'forbidden'] }
const DOWN: Step = { answers: null }
const READ: Step = { answers: 3 }

const watched = (steps: readonly Step[], max = 3) => {
  const watch = new FailureWatch(max)
  for (const { answers, kinds = [], isKnown = false, mayBeGone = false, times = 1 } of steps) {
    const refusals = kinds.map(refused)
    for (let time = 0; time < times; time += 1) {
      if (answers === null) watch.failed(refusals[0] ?? down(), refusals, { isKnown, mayBeGone })
      else watch.read(answers, refusals)
    }
  }
  return watch
}

test.each<[string, readonly Step[]]>([
  ['when one survey is refused', [READ, GONE, READ]],
  ['when fewer than three fail in a row', [{ ...GONE, times: 2 }, READ, { ...GONE, times: 2 }, READ, READ]],
  ['when surveys are refused that failed before', [{ ...FORBIDDEN, isKnown: true, times: 9 }, READ]],
  [
    'when surveys fail that failed before',
    [{ ...DOWN, isKnown: true, times: 9 }, READ, { ...DOWN, times: 2 }],
  ],
  ['when many may be gone, as long as more requests are answered', [{ ...GONE, times: 4 }, READ, READ, READ]],
  ['when many surveys have sources and no progress', [{ answers: 1, kinds: ['not_found'], times: 50 }]],
])('the run goes on %s', (_, steps) => {
  expect(watched(steps).verdict()).toBeNull()
  expect(watched(steps).lastVerdict()).toBeNull()
})

describe('the run ends', () => {
  test.each<[string, string, readonly Step[]]>([
    ['as forbidden after too many in a row', 'surveys_forbidden', [READ, { ...FORBIDDEN, times: 3 }]],
    [
      'as too many failures when the refusals differ',
      'too_many_failures',
      [FORBIDDEN, { ...GONE, mayBeGone: false }, FORBIDDEN],
    ],
    ['as too many failures when none is a refusal', 'too_many_failures', [{ ...DOWN, times: 3 }]],
  ])('%s', (_, code, steps) => {
    expect(watched(steps).verdict()).toMatchObject({ code, endsRun: true, exitCode: 4 })
  })

  test.each<[string, string, readonly Step[]]>([
    ['when both surveys are forbidden', 'surveys_forbidden', [{ ...FORBIDDEN, times: 2 }]],
    ['when both were forbidden before', 'surveys_forbidden', [{ ...FORBIDDEN, isKnown: true, times: 2 }]],
    ['when neither of two is found', 'wrong_address', [{ ...GONE, isKnown: true, times: 2 }]],
    ['when more requests are not found than answered', 'wrong_address', [{ ...GONE, times: 2 }, READ]],
    ['when all three failed before', 'too_many_failures', [{ ...DOWN, isKnown: true, times: 3 }]],
  ])('at the end of the queue %s', (_, code, steps) => {
    expect(watched(steps).verdict()).toBeNull()
    expect(watched(steps).lastVerdict()).toMatchObject({ code, exitCode: 4 })
  })

  test('but not because of a single refused survey', () => {
    expect(watched([FORBIDDEN]).lastVerdict()).toBeNull()
  })
})

/** When an endpoint counts as refused as a whole: the watch as a table, and runs against a real warehouse. */

/** The verdict on failures of as many surveys. The endpoint answered the surveys in `answered` before. */
const verdictOn = (errors: readonly UpstreamError[], wasRefused = false, answered: number[] = []) => {
  const watch = new EndpointWatch()
  for (const [surveyId, error] of errors.entries())
    watch.failed('survey_progress', { surveyId, error, wasRefused })
  return watch.verdict(answering(answered))
}

const answering = (ids: readonly number[]) => ({ answeredSurveys: () => Promise.resolve(new Set(ids)) })

const refusedAll = (surveys: number) =>
  `the API refused the fieldwork progress of all ${surveys} requested surveys`

const times = (count: number, error: UpstreamError) => Array.from({ length: count }, () => error)

test.each<[string, string, readonly UpstreamError[]]>([
  ['surveys_forbidden', refusedAll(5), times(5, refused('forbidden'))],
  ['wrong_address', refusedAll(6), times(6, refused('not_found'))],
  ['too_many_failures', refusedAll(5), times(5, refused('rejected'))],
  [
    'too_many_failures',
    'the API gave the fieldwork progress of none of the 6 requested surveys',
    [...times(3, refused('forbidden')), ...times(3, down())],
  ],
])('%s: %s', async (code, text, errors) => {
  expect(await verdictOn(errors)).toMatchObject({ code, exitCode: 4, message: expect.stringContaining(text) })
})

test('four surveys, one survey again and again, and surveys that are refused as always, say nothing', async () => {
  expect(await verdictOn(times(4, refused('forbidden')))).toBeNull()
  expect(await verdictOn(times(9, refused('forbidden')), true, [99])).toBeNull()
  expect(await verdictOn(times(9, refused('forbidden')), true, [0, 1, 2, 3, 99])).toBeNull()
  const watch = new EndpointWatch()
  for (let time = 0; time < 9; time += 1)
    watch.failed('survey_progress', { surveyId: 1, error: refused('rejected'), wasRefused: false })
  expect(await watch.verdict(answering([]))).toBeNull()
})

test.each<[string, number[]]>([
  ['that it has answered before', [0, 1, 2, 3, 4, 99]],
  ['when it has never answered for any survey', []],
])('five surveys that were refused before count %s', async (_, answered) => {
  expect(await verdictOn(times(5, refused('forbidden')), true, answered)).toMatchObject({ exitCode: 4 })
})

test.each(['before', 'after'])('one answer %s the refusals shows that the endpoint works', async (when) => {
  const watch = new EndpointWatch()
  if (when === 'before') watch.answered('sample_sources')
  for (let surveyId = 0; surveyId < 9; surveyId += 1)
    watch.failed('sample_sources', { surveyId, error: refused('forbidden'), wasRefused: false })
  expect(watch.isFailing('sample_sources')).toBe(true)
  if (when === 'after') watch.answered('sample_sources')
  expect(watch.isFailing('sample_sources')).toBe(when === 'before')
  expect(await watch.verdict(answering([]))).toBeNull()
})

describe('a run', () => {
  const DAY_MS = 86_400_000

  const opened = async (surveys: number) => {
    const warehouse = await emptyWarehouse()
    const clock = testClock()
    const ids = Array.from({ length: surveys }, (_, place) => place + 1)
    const api = memorySource(withOneSource(ids))
    api.listed.push(...ids.map((id) => survey(id)))
    let nights = 0
    const night = async (before: MemorySource['before'] = () => undefined, max: number | null = null) => {
      api.before = before
      api.asked.length = 0
      const budget = { requests_max: max, duration_max: null }
      const runId = `night-${nights}`
      const report = await runAccount({ ...runDependencies(warehouse, api, { budget }), clock, runId })
      nights += 1
      clock.advance(DAY_MS)
      api.now = minute((nights * DAY_MS) / 60_000)
      return report
    }
    return { warehouse, api, night }
  }

  const noProgress = (error: UpstreamError) => (request: string) => {
    if (request.startsWith('progress')) throw error
  }
  const read = (warehouse: TestWarehouse) =>
    warehouse.rows('SELECT count(*) n FROM freshness WHERE refreshed_at IS NOT NULL AND last_error IS NULL')

  test.each(some([1, 0], 1))(
    'ends with 4 every night after %i healthy nights, and reads all when it heals',
    async (healthy) => {
      const { warehouse, night } = await opened(7)
      for (let time = 0; time < healthy; time += 1) expect(await night()).toMatchObject({ exitCode: 0 })
      for (let time = 0; time < 2; time += 1)
        expect(await night(noProgress(refused('forbidden')))).toMatchObject({ exitCode: 4, failing: 7 })
      expect(await night()).toMatchObject({ exitCode: 0, surveysRefreshed: 7, leftOver: 0 })
      expect(await read(warehouse)).toEqual([{ n: 7 }])
    },
  )

  test('with lists of sources that are not due goes on to the surveys whose lists are', async () => {
    const { warehouse, api, night } = await opened(7)
    await night()
    for (const id of [1, 7]) api.surveys.get(id)!.sources = [source(id, { name: 'renamed' })]
    for (const id of [1, 7]) api.listed[id - 1] = survey(id, { title: 'renamed', updated_at: api.now })
    expect(await night(noProgress(down()))).toMatchObject({ exitCode: 4 })
    await warehouse.expectRows("SELECT id FROM sample_sources WHERE name = 'renamed' ORDER BY 1", [[1], [7]])
    await warehouse.expectRows("SELECT id FROM surveys WHERE title = 'renamed'", [])
  })

  test('reads all others when a dozen surveys answer 5xx night after night, as soon as it knows the dozen', async () => {
    const { night } = await opened(60)
    const dozen = (request: string) => {
      if (/ (4[89]|5\d|60)\b/.test(request)) throw down()
    }
    await night()
    await night(dozen)
    await night(dozen)
    for (let time = 0; time < 3; time += 1)
      expect(await night(dozen)).toMatchObject({ exitCode: 3, surveysRefreshed: 47, failing: 13 })
    expect(await night()).toMatchObject({ exitCode: 0, surveysRefreshed: 60 })
  })

  test('that finds the newest surveys deleted reads all others, and the next one marks those as missing', async () => {
    const { warehouse, api, night } = await opened(30)
    await night()
    for (const id of [19, 21, 24, 25, 26, 27, 28, 29, 30]) api.surveys.delete(id)
    api.listed.splice(0, 30, ...api.listed.filter(({ id }) => api.surveys.has(id)))
    const first = await night()
    expect(first).toMatchObject({ exitCode: 3, surveysRefreshed: 21, failing: 9, reason: '9 surveys failed' })
    expect(await night()).toMatchObject({ exitCode: 0, listing: 'full', surveysRefreshed: 21 + 9 })
    await warehouse.expectRows('SELECT count(*) FROM surveys WHERE _missing_since IS NULL', [[21]])
  })

  test('with a small budget reads each survey in turn, also those that failed', async () => {
    const { warehouse, api, night } = await opened(20)
    const some = (request: string) => {
      if (/ (1[5-9]|20)\b/.test(request)) throw down()
    }
    await night()
    const asked = new Set<string>()
    for (let time = 0; time < 10; time += 1) {
      await night(some, 13)
      for (const request of api.asked.filter((one) => one.startsWith('sources'))) asked.add(request)
    }
    await warehouse.expectRows(
      "SELECT count(*) FROM freshness WHERE refreshed_at > (SELECT min(refreshed_at) FROM freshness) + INTERVAL '1 day'",
      [[14]],
    )
    expect(asked.size).toBe(20)
  })

  test('that nothing answers ends with 4, also if every survey has failed before', async () => {
    const { night } = await opened(12)
    await night()
    for (let time = 0; time < 4; time += 1)
      expect(
        await night(() => {
          throw down()
        }),
      ).toMatchObject({ exitCode: 4, surveysRefreshed: 0 })
  })

  test('with a budget for too few surveys is partial, and one with a budget for enough is not', async () => {
    const { night } = await opened(12)
    expect(await night(noProgress(refused('forbidden')), 9)).toMatchObject({ exitCode: 3, hasFailures: true })
    const enough = await opened(12)
    const report = await enough.night(noProgress(refused('forbidden')), 20)
    expect(report).toMatchObject({ exitCode: 4 })
    expect(report.reason).toMatch(/fieldwork progress of all .*stopped by --max-requests/)
  })

  test('that only meets surveys that were refused from the beginning is partial', async () => {
    const { api, night } = await opened(7)
    const never = (request: string) => {
      if (/progress [1-6](\/|$)/.test(request)) throw refused('forbidden')
    }
    expect(await night(never)).toMatchObject({ exitCode: 3 })
    api.listed.splice(6, 1, survey(7, { status: 'draft', updated_at: api.now }))
    await night(never)
    expect(await night(never)).toMatchObject({ exitCode: 3 })
  })
})
