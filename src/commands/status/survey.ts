/** What `status --survey` prints. The rules of a run say when the survey is read next. */
import { systemClock } from '../../base/clock.js'
import { instantFromMs } from '../../model/instant.js'
import { serverNow } from '../../rules/plan.js'
import type { Settings } from '../../settings/settings.js'
import { findState, readWithHead } from '../../storage/open.js'
import { planOf } from '../../sync/planning.js'
import { accountWarehouse } from '../../warehouse/account-warehouse.js'
import type { Database } from '../../warehouse/connection/database.js'
import { requireCurrentSchema } from '../../warehouse/status.js'
import { accountsOfSurvey, readSurveyStatus } from '../../warehouse/survey-status.js'
import type { CliContext } from '../context.js'
import { surveyNameOf } from '../flags.js'
import { jsonOf } from '../text/json.js'
import { terminalOf } from '../text/text-table.js'
import { type Explained, explain } from './explain.js'
import { renderSurvey } from './survey-text.js'

/** Explains one survey, of every account that has it. */
export const showSurvey = async (
  context: CliContext,
  settings: Settings,
  survey: string,
  maxAgeMs: number,
): Promise<void> => {
  const name = surveyNameOf(survey, 'status')
  const state = await findState(settings, context.signal)
  const { head, result: surveys } = await readWithHead(
    settings,
    state,
    context.signal,
    async (database, path) => {
      await requireCurrentSchema(database, path, 'status')
      const explained: Explained[] = []
      for (const account of await database.transaction((sql) => accountsOfSurvey(sql, name, path)))
        explained.push(
          await explainSurvey(database, { account, surveyId: name.surveyId }, settings, maxAgeMs),
        )
      return explained
    },
  )
  if (settings.json) return void (await context.print(`${jsonOf({ ...head, surveys })}\n`))
  const terminal = terminalOf(context)
  await context.print(`${surveys.map((survey) => renderSurvey(survey, terminal)).join('\n\n')}\n`)
}

const explainSurvey = async (
  database: Database,
  survey: { readonly account: string; readonly surveyId: number },
  rules: Settings,
  maxAgeMs: number,
): Promise<Explained> => {
  const nowMs = systemClock.nowMs()
  const warehouse = accountWarehouse(database, survey.account)
  const past = await warehouse.pastRuns(rules.discover.overlap)
  const now = serverNow(past, nowMs)
  const status = await database.transaction((sql) => readSurveyStatus(sql, survey, now, rules.refresh))
  const plan = await planOf(warehouse, rules, nowMs)
  const clocks = { now, ours: instantFromMs(nowMs), listedAt: past.listedAt, maxAgeMs }
  return explain(survey, status, plan, clocks, rules.refresh)
}
