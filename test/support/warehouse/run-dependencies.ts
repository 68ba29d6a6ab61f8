/** The dependencies of a run, with default rules. A test passes only the rules that it changes. */
import type { Instant } from '../../../src/model/instant.js'
import type { PlannedSurvey, SurveySelection, SurveyTotals } from '../../../src/model/plan-facts.js'
import type { RefreshRules } from '../../../src/model/run.js'
import type { SurveySource } from '../../../src/model/survey-source.js'
import type { AccountWarehouse } from '../../../src/model/warehouse.js'
import { createQueue, DEFAULT_WEIGHTS, type Task } from '../../../src/rules/queue.js'
import type { RunDependencies, RunRules } from '../../../src/sync/run-state.js'
import { UNOBSERVED } from '../log/test-log.js'
import { testClock } from '../time/test-clock.js'
import { RUN } from './rows.js'
import type { TestWarehouse } from './warehouse.js'

const DAY_MS = 86_400_000

export const REFRESH_RULES: RefreshRules = {
  max_age: 30 * DAY_MS,
  weights: DEFAULT_WEIGHTS,
  recheck_sources_after: 7 * DAY_MS,
  daily_windows: null,
  reconstruct: false,
}

/** Every survey that is queued or not missing. */
export const plannedSurveys = (account: AccountWarehouse): Promise<readonly PlannedSurvey[]> =>
  selectedSurveys(account, { rules: REFRESH_RULES })

export const selectedSurveys = async (
  account: AccountWarehouse,
  selection: SurveySelection,
): Promise<readonly PlannedSurvey[]> => {
  const surveys: PlannedSurvey[] = []
  await account.eachPlannedSurvey(selection, (survey) => surveys.push(survey))
  return surveys
}

/** The surveys of an account, and totals over all its surveys. */
export interface PlannedSurveys {
  readonly surveys: readonly PlannedSurvey[]
  readonly totals: SurveyTotals
}

export const queueOf = (
  { surveys, totals }: PlannedSurveys,
  at: Instant,
  rules: Parameters<typeof createQueue>[2],
  runId: string | null,
): ReturnType<ReturnType<typeof createQueue>['sorted']> => {
  const queue = createQueue(totals, at, rules, runId)
  for (const survey of surveys) queue.add(survey)
  return queue.sorted()
}

/** These surveys as the only ones of their account. */
export const onlySurveys = (surveys: readonly PlannedSurvey[]): PlannedSurveys => {
  const present = surveys.filter(({ missing }) => !missing)
  return {
    surveys,
    totals: {
      present: present.length,
      sources: present.reduce((sum, { sources }) => sum + sources, 0),
      withSources: present.filter(({ sources }) => sources > 0).length,
    },
  }
}

/** The tasks in the queue at the time `at`, most urgent first. */
export const queuedTasks = async (
  account: AccountWarehouse,
  at: Instant,
  { runId = RUN, ...rules }: Partial<RefreshRules> & { runId?: string } = {},
): Promise<readonly Task[]> => {
  const refresh = { ...REFRESH_RULES, ...rules }
  const surveys = await selectedSurveys(account, { rules: refresh })
  return queueOf(
    { surveys, totals: await account.surveyTotals() },
    at,
    { refresh, full: false },
    runId,
  ).tasks.filter(({ isQueued }) => isQueued)
}

export const runDependencies = (
  warehouse: Pick<TestWarehouse, 'account' | 'log'>,
  source: SurveySource,
  rules: Partial<RunRules> = {},
): RunDependencies => ({
  source,
  warehouse: warehouse.account,
  clock: testClock(),
  log: warehouse.log,
  observer: UNOBSERVED,
  signal: new AbortController().signal,
  rules: {
    discover: { overlap: 5 * 60_000, full_listing_every: 7 * DAY_MS },
    refresh: REFRESH_RULES,
    history: { progress_keep_all_for: null },
    budget: { requests_max: null, duration_max: null },
    contract: 'evolve',
    limits: { rejected_rows_max: 0, consecutive_failures_max: 5, sources_per_survey_max: 25_000 },
    full: false,
    ...rules,
  },
  runId: RUN,
  version: '1.2.3',
})
