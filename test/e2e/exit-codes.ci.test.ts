/** Exit codes of the command, with the run record, the output, and the published data. usage has 2, check-and-status 6. */
import { expect, test } from 'vitest'
import {
  type Hook,
  refusing,
  type ScriptedApi,
  scriptedSurvey,
  scriptedSurveys,
} from '../support/api/scripted-api.js'
import { otherBuild } from '../support/command/mutant.js'
import { lastLine, openTrial, type Trial } from '../support/command/trial.js'
import { freePort } from '../support/servers/server.js'
import { some } from '../support/suite/cases.js'

const ids = async (trial: Trial): Promise<unknown[]> =>
  (await trial.rows('SELECT id FROM surveys ORDER BY id')).map(({ id }) => id)

test.concurrent('1: a command that waits for what never comes does not say success', async ({
  onTestFinished,
}) => {
  const never = 'export const plan = () => new Promise(() => undefined)'
  const broken = await otherBuild(onTestFinished, 'commands/plan.js', never)
  const ended = await (await openTrial({ onTestFinished })).run(['plan'], {}, broken)
  expect(ended).toMatchObject({ code: 1, signal: null, stdout: '' })
  expect(ended.stderr).toBe(
    'fieldwork-sync: this is a bug in fieldwork-sync, please report it: the command waits for what never comes\n',
  )
})

/** What a night of one warehouse answers, and how its run ends. test/unit/http has other refusals. */
interface Night {
  readonly code: 0 | 3 | 4 | 5
  readonly says: RegExp
  readonly hook?: (api: ScriptedApi) => Hook
  readonly args?: readonly string[]
  readonly env?: Record<string, string>
  readonly arrivals?: number
}

const FAST = { limits: { attempts: 2, patience: '0s', backoff_base: '1ms', backoff_max: '1ms' } }

const STATUS_OF = { 0: 'complete', 3: 'partial', 4: 'failed', 5: 'failed' }

test.concurrent('0, 3, 4 and 5: exit code, last line and run record of each night agree, and the next night goes on', async (context) => {
  const trial = await openTrial(context, scriptedSurveys(12, {}, 1))
  const nowhere = { FIELDWORK_SYNC_BASE_URL: `http://127.0.0.1:${await freePort()}/api/v1` }
  const REFUSALS: readonly Night[] = [
    { code: 4, says: /refused the credentials \(401\)/, hook: (api) => refusing(api, 401), arrivals: 2 },
    {
      code: 4,
      says: /answered 429 \(too many requests\) for account 'default' 5 times in a row/,
      hook: (api) => refusing(api, 429),
      env: { FIELDWORK_SYNC_RATE_LIMIT: '60/100ms' },
      arrivals: 5,
    },
    { code: 4, says: /connection refused \(ECONNREFUSED\)/, env: nowhere, arrivals: 0 },
  ]
  const NIGHTS: readonly Night[] = [
    {
      code: 4,
      says: /: 5 surveys failed one after the other, the last with: .*\(400\)/,
      hook: (api) => refusing(api, 400, ({ path }) => path !== '/surveys'),
    },
    { code: 3, says: /: stopped by --max-requests 6; \d+ surveys are queued/, args: ['--max-requests', '6'] },
    ...some(REFUSALS, 1),
    { code: 0, says: /surveys refreshed, nothing left over/ },
    { code: 5, says: /: 1 row could not be typed/ },
  ]
  const settings = await trial.settings(FAST)
  for (const { code, says, hook, args = [], env = {}, arrivals } of NIGHTS) {
    trial.api.hook = hook?.(trial.api) ?? (() => false)
    trial.api.arrivals.length = 0
    if (code === 5) trial.api.surveys.push(scriptedSurvey(13, { title: 7 }))
    const ended = await trial.runWarm(['sync', ...settings, ...args, ...(code === 5 ? ['--full'] : [])], env)
    expect(ended, String(says)).toMatchObject({ code, signal: null })
    expect(lastLine(ended)).toMatch(says)
    expect(lastLine(ended)).toMatch(
      new RegExp(`^${STATUS_OF[code]}${code === 0 ? '' : ` \\(exit ${code}\\)`}: `),
    )
    if (arrivals !== undefined) expect(trial.api.arrivals).toHaveLength(arrivals)
    expect(await ids(trial)).toHaveLength(12)
  }
  expect(await trial.runs()).toEqual(
    NIGHTS.map(({ code }) => ({
      status: STATUS_OF[code],
      exit_code: code,
      reason: code === 0 ? null : expect.any(String),
    })),
  )
  expect(await trial.rows('SELECT count(*) AS n FROM survey_progress')).toEqual([{ n: 12 }])
  expect(await trial.rows(`SELECT raw->>'title' AS title FROM _sync.rejected_rows`)).toEqual([{ title: '7' }])
})
