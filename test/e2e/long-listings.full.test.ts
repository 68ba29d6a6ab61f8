/** A listing may need more nights than one: it goes on, and what changes meanwhile is stored. Nights are 24 h and some seconds apart. */
import { expect, onTestFinished, test } from 'vitest'
import { type ScriptedApi, scriptedSurveys } from '../support/api/scripted-api.js'
import { openTrial, type Trial } from '../support/command/trial.js'

const DAY_MS = 86_400_000

/** `sync` on the night `days` after the first, by both clocks, and some seconds later each time. */
const nightOf = async ({ api, run }: Trial, days: number, args: readonly string[]) => {
  api.now = new Date(Date.UTC(2026, 2, 1 + days, 0, 0, 7 * days))
  const { code, stdout } = await run(['sync', '--json', ...args], {
    NODE_OPTIONS: `--import ${new URL('fixtures/shifted-clocks.mjs', import.meta.url).href}`,
    SHIFT_CLOCKS: JSON.stringify({ wallMs: days * (DAY_MS + 7_000), monotonicMs: 0, atStart: true }),
  })
  return [code, JSON.parse(stdout).accounts[0].listing]
}

/** Surveys on pages of five. Drafts are read again only when a listing shows a change. */
const openDrafts = async (context: Parameters<typeof openTrial>[0], surveys: number) => {
  const trial = await openTrial(context, scriptedSurveys(surveys, { status: 'draft' }, 0))
  trial.api.pageSize = 5
  return trial
}

const change = (api: ScriptedApi, id: number, days: number) =>
  Object.assign(api.surveys.find(({ survey }) => survey.id === id)?.survey ?? {}, {
    title: `changed on day ${days}`,
    updated_at: new Date(Date.UTC(2026, 2, 1 + days, -3)).toISOString(),
  })

test('changes are stored each night while a full listing takes several, and it ends', async (context) => {
  const trial = await openDrafts(context, 40)
  const { api, rows } = trial
  expect(await nightOf(trial, 0, [])).toEqual([0, 'full'])
  // It is on the last of eight pages. A night reads one page again, and two further ones.
  api.surveys.splice(1, 1)
  const ends: unknown[] = []
  for (const days of [28, 29, 30, 31]) {
    change(api, 1, days)
    ends.push(await nightOf(trial, days, ['--max-requests', '8']))
    expect(await rows('SELECT title FROM surveys WHERE id = 1')).toEqual([
      { title: `changed on day ${days}` },
    ])
  }
  expect(ends).toEqual([
    [3, 'full'],
    [3, 'full'],
    [3, 'full'],
    [0, 'full'],
  ])
  expect(await nightOf(trial, 32, [])).toEqual([0, 'incremental'])
  expect(await rows('SELECT id FROM surveys WHERE _missing_since IS NOT NULL')).toEqual([{ id: 2 }])
  await trial.expectSound()
})

test.each([
  [1, [5, 10, 15]],
  [4, [10, 15, 15]],
])(
  'a first load with %d requests a night knows all surveys after some nights',
  async (requestsMax, known) => {
    const trial = await openDrafts({ onTestFinished }, 15)
    for (const [days, surveys] of known.entries()) {
      await nightOf(trial, days, ['--max-requests', String(requestsMax)])
      expect(await trial.rows('SELECT count(*)::INTEGER AS n FROM surveys')).toEqual([{ n: surveys }])
    }
  },
)

test('surveys that went after an earlier night had listed them are no wrong address', async (context) => {
  const trial = await openTrial(context, scriptedSurveys(40, {}, 0))
  trial.api.pageSize = 5
  expect(await nightOf(trial, 0, [])).toEqual([0, 'full'])
  // Six of its eight pages, and nothing else.
  expect(await nightOf(trial, 1, ['--full', '--max-requests', '7'])).toEqual([3, 'full'])
  trial.api.surveys.splice(0, 25)
  // More surveys answer 404 than answer, one after the other, and none of them is a sign of a wrong address.
  expect(await nightOf(trial, 2, [])).toEqual([3, 'full'])
  // The 404s make the next listing a full one. It is the first that can miss them.
  await nightOf(trial, 3, [])
  expect(await nightOf(trial, 4, [])).toEqual([0, 'full'])
  const gone = 'SELECT count(*)::INTEGER AS n FROM surveys WHERE _missing_since IS NOT NULL'
  expect(await trial.rows(gone)).toEqual([{ n: 25 }])
  await trial.expectSound()
})
