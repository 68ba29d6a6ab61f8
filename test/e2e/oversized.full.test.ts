/** A survey that does not fit into a run waits for the others, is read in parts, and enters the tables as a whole. */
import { expect, test } from 'vitest'
import { type ScriptedApi, scriptedProgress, scriptedSurvey } from '../support/api/scripted-api.js'
import { night, openTrial, type Trial } from '../support/command/trial.js'
import { isOf, LARGE, openLarge, partsOf, requestsFor, wordsOf } from './oversized-shared.js'

/** Every small survey changes. */
const changeAll = ({ surveys, now }: ScriptedApi): void => {
  for (const { survey, progress } of surveys) {
    if (survey.id >= LARGE) continue
    survey.updated_at = new Date(now.getTime() + 86_000_000).toISOString()
    survey.title = `Changed after ${now.toISOString()}`
    progress.length_of_interview = now.getTime() / 86_400_000
  }
}

/** The published small surveys that are not as the API shows them. */
const lagging = async ({ api, rows }: Trial): Promise<readonly number[]> => {
  const published = await rows(`SELECT s.id, s.title, p.length_of_interview AS length FROM surveys s
    JOIN survey_progress p ON p.survey_id = s.id`)
  const small = api.surveys.filter(({ survey }) => survey.id < LARGE)
  const isPublished = ({ survey, progress }: (typeof small)[number]) =>
    published.some(
      ({ id, title, length }) =>
        id === survey.id && title === survey.title && length === progress.length_of_interview,
    )
  return small.filter((one) => !isPublished(one)).map(({ survey }) => survey.id)
}

const expectNamed = async (trial: Trial): Promise<void> => {
  const words = /is read in parts: \d+ of 460 answers are kept, and the next run goes on there/
  expect(await wordsOf(trial, 'status')).toMatch(words)
  expect(await wordsOf(trial, 'status', '--survey', String(LARGE))).toMatch(words)
  expect(await trial.rows(`SELECT kind, text FROM needs_action WHERE survey_id = ${LARGE}`)).toEqual([
    { kind: 'stale', text: 'too large for one run: read in parts' },
  ])
}

test('it takes only what the others leave of --max-requests, goes on in the next run, and is published as a whole', async (context) => {
  const trial = await openLarge(context, 450)
  const asked: string[] = []
  let nights = 0
  for (let code: number | null = 3; code === 3 && nights < 5; nights += 1) {
    const ended = await night(trial, nights, () => false, ['--max-requests', '200'])
    code = ended.code
    expect(trial.api.arrivals.length).toBeLessThanOrEqual(200)
    expect(await lagging(trial)).toEqual([])
    const requests = requestsFor(LARGE, trial)
    expect(requests.filter((one) => asked.includes(one))).toEqual(
      nights === 0 ? [] : code === 0 ? [`/surveys/${LARGE}/fieldwork_progress?`] : [],
    )
    asked.push(...requests)
    if (code === 0) break
    expect(ended.run.reason).toBe('stopped by --max-requests 200')
    expect(await partsOf(LARGE, trial)).toEqual({ sources: 0, progress: 0, of_sources: 0 })
    if (nights === 1) await expectNamed(trial)
    changeAll(trial.api)
  }
  expect(nights).toBe(3)
  // Nine pages, the first twice; the progress of the survey, at the end once more; and that of its sources.
  expect(asked).toHaveLength(9 + 1 + 2 + 450)
  expect(await partsOf(LARGE, trial)).toEqual({ sources: 450, progress: 1, of_sources: 450 })
  expect(
    await trial.rows(`SELECT CAST(refreshed_at AS DATE)::VARCHAR AS refreshed, CAST(sources_read_at AS DATE)::VARCHAR AS listed,
        source_progress_read_at, last_error, (SELECT count(*) FROM _sync.kept_answers) AS kept
      FROM freshness WHERE survey_id = ${LARGE}`),
  ).toEqual([
    {
      refreshed: '2026-03-04',
      listed: '2026-03-01',
      source_progress_read_at: null,
      last_error: null,
      kept: 0,
    },
  ])
  await trial.expectSound()
})

test.for(['SIGKILL', 'SIGTERM'] as const)(
  'a job that %s ends each night reads the other surveys first, and what it has read is not read again',
  async (signal, context) => {
    const trial = await openLarge(context, 1_200)
    trial.api.pageSize = 100
    const asked = new Set<string>()
    let again = 0
    const nightUntil = async (nights: number, requestsMax: number) => {
      trial.api.now = new Date(Date.UTC(2026, 2, 1 + nights))
      trial.api.arrivals.length = 0
      let count = 0
      const running = trial.start(['sync'])
      trial.api.hook = (arrival) => {
        if (!isOf(LARGE, arrival)) return false
        count += 1
        if (count === requestsMax) running.child.kill(signal)
        return count >= requestsMax ? new Promise(() => undefined) : false
      }
      const { code } = await running.ended
      for (const request of requestsFor(LARGE, trial).slice(0, requestsMax - 1)) {
        if (asked.has(request)) again += 1
        asked.add(request)
      }
      return code
    }
    for (const nights of [0, 1]) {
      await nightUntil(nights, 350)
      const small = trial.api.arrivals.findLastIndex((one) => one.path !== '/surveys' && !isOf(LARGE, one))
      const large = trial.api.arrivals.findIndex(
        (one) => isOf(LARGE, one) && one.query.has('sample_source_id'),
      )
      expect(small).toBeLessThan(large)
      changeAll(trial.api)
    }
    // A killed run loses less than a hundred answers, and a stopped one none but those under way.
    expect(again).toBeLessThan(signal === 'SIGKILL' ? 108 : 9)
    trial.api.now = new Date(Date.UTC(2026, 2, 3))
    trial.api.hook = () => false
    trial.api.arrivals.length = 0
    const { code, run } = await trial.sync()
    expect(await lagging(trial)).toEqual([])
    if (signal === 'SIGTERM') {
      expect(code).toBe(0)
      expect(await partsOf(LARGE, trial)).toEqual({ sources: 1_200, progress: 1, of_sources: 1_200 })
    } else {
      // After two killed runs it rests, so that a run can end and publish.
      expect([code, run.left_over, requestsFor(LARGE, trial)]).toEqual([3, 1, []])
    }
  },
)

test('two of them are read one after the other', async (context) => {
  const trial = await openLarge(context, 260)
  trial.api.surveys.push(scriptedSurvey(LARGE + 1, {}, 260))
  const ends: unknown[][] = []
  for (let nights = 0; nights < 6; nights += 1) {
    const { code } = await night(trial, nights, () => false, ['--max-requests', '250'])
    const [of, other] = [await partsOf(LARGE, trial), await partsOf(LARGE + 1, trial)]
    ends.push([code, of?.of_sources, other?.of_sources])
    expect(await lagging(trial)).toEqual([])
    expect(trial.api.arrivals.length).toBeLessThanOrEqual(250)
    changeAll(trial.api)
  }
  expect(ends.at(-1)).toEqual([3, 260, 260])
})

test('of one with more sources than limits.sources_per_survey_max only its own progress is read', async (context) => {
  const trial = await openLarge(context, 120)
  const settings = await trial.settings({ limits: { sources_per_survey_max: 100 } })
  const { code, run } = await night(trial, 0, () => false, settings)
  expect(code).toBe(3)
  const words = `survey ${LARGE} has 120 sources, more than limits.sources_per_survey_max allows (100): only its own progress is read`
  expect(run.failing_surveys).toMatchObject([{ survey_id: LARGE, error: words }])
  expect(requestsFor(LARGE, trial)).toHaveLength(2)
  expect(await partsOf(LARGE, trial)).toEqual({ sources: 0, progress: 1, of_sources: 0 })
  expect(await wordsOf(trial, 'status', '--survey', String(LARGE))).toContain(words)
  expect(await trial.rows(`SELECT text FROM needs_action WHERE survey_id = ${LARGE}`)).toEqual([
    { text: 'not read completely' },
  ])
  trial.api.surveys.at(-1)?.sources.splice(100)
  expect((await night(trial, 1, () => false, settings)).code).toBe(0)
  expect(await partsOf(LARGE, trial)).toEqual({ sources: 100, progress: 1, of_sources: 100 })
})

test('a change that is listed while it is read is read afterwards', async (context) => {
  const trial = await openTrial(context, [scriptedSurvey(1, { status: 'draft' }, 12)])
  const [survey] = trial.api.surveys
  if (survey === undefined) throw new Error('no survey')
  const next = (nights: number) => night(trial, nights, () => false, ['--max-requests', '10'])
  expect((await next(0)).code).toBe(3)
  survey.survey.updated_at = '2026-03-01T12:00:00Z'
  Object.assign(survey.sources[0] ?? {}, { name: 'renamed', updated_at: '2026-03-01T12:00:00Z' })
  survey.progress = scriptedProgress(11)
  const codes: unknown[] = []
  for (let nights = 1; nights < 8 && codes.at(-1) !== 0; nights += 1) codes.push((await next(nights)).code)
  expect(codes.at(-1)).toBe(0)
  expect(
    await trial.rows(`SELECT c.name, p.interviews_count AS interviews FROM sample_sources c JOIN survey_progress p USING (survey_id)
      WHERE c.name = 'renamed'`),
  ).toEqual([{ name: 'renamed', interviews: 11 }])
})
