/** Reads one survey through the API port as a run does, and commits what it read. */
import type { RefreshRules } from '../../../src/model/run.js'
import { RunBudget } from '../../../src/sync/budget.js'
import { readBundle } from '../../../src/sync/bundle.js'
import { EndpointWatch } from '../../../src/sync/failure-watch.js'
import { createRunState } from '../../../src/sync/run-state.js'
import type { MemorySource } from '../api/memory-source.js'
import { testClock } from '../time/test-clock.js'
import { RUN } from './rows.js'
import { runDependencies } from './run-dependencies.js'
import { storedBundle, type TestWarehouse } from './warehouse.js'

type Request = Parameters<typeof readBundle>[1]

interface Options extends Partial<Request['task']> {
  readonly requestsMax?: number | null
  readonly refresh?: Partial<RefreshRules>
  /** Without, the warehouse stays as it is. */
  readonly commits?: boolean
}

/** `api.asked` has the requests of this bundle alone. */
export const readAndCommit = async (
  warehouse: TestWarehouse,
  api: MemorySource,
  { requestsMax = null, refresh = {}, commits = true, ...task }: Options = {},
) => {
  const given = runDependencies(warehouse, api)
  const rules = { ...given.rules, refresh: { ...given.rules.refresh, ...refresh } }
  const allowance = new RunBudget({ requests_max: requestsMax, duration_max: null }, testClock()).admitBundle(
    3,
  )
  if (allowance === null) throw new Error('a bundle of three requests was not admitted')
  api.asked.length = 0
  const state = { ...createRunState(), serverTime: api.now }
  const request = {
    task: {
      surveyId: 1,
      reason: 'active',
      isNightly: true,
      isLeftOver: false,
      isUnseen: false,
      hasFailed: false,
      refusals: 0,
      ...task,
    },
    stored: await storedBundle(warehouse.account, task.surveyId ?? 1),
    allowance,
    watch: new EndpointWatch(),
  } as const
  const { outcome, failure } = await readBundle({ ...given, rules, state }, request)
  if (commits) await warehouse.account.commitBundles([outcome], RUN)
  return { outcome, failure, usage: state.requestUsage.entries() }
}
