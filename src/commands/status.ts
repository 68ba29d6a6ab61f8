/** What `status` prints: a verdict and the published state, one survey, or only the requests of the last runs by reason and kind. */
import { systemClock } from '../base/clock.js'
import { counted, humanCount } from '../base/human.js'
import { formatInstant, instantFromMs } from '../model/instant.js'
import { REQUEST_KINDS, REQUEST_REASONS, type RequestUsage } from '../model/request-usage.js'
import { serverNow } from '../rules/plan.js'
import { parseDuration } from '../settings/readers.js'
import type { Settings } from '../settings/settings.js'
import { findState, readLastRequestUsage, readWithHead } from '../storage/open.js'
import { planOf } from '../sync/planning.js'
import { accountWarehouse } from '../warehouse/account-warehouse.js'
import type { Database } from '../warehouse/connection/database.js'
import type { RunRequestUsage } from '../warehouse/history/runs.js'
import { readStatus, requireCurrentSchema } from '../warehouse/status.js'
import { accountsOfSurvey, readSurveyStatus } from '../warehouse/survey-status.js'
import type { CliContext } from './context.js'
import { surveyNameOf, usageError } from './flags.js'
import { type Explained, explain } from './status/explain.js'
import { renderOverview } from './status/overview.js'
import { renderSurvey } from './status/survey-text.js'
import { VERDICT_COLOURS, verdictOf } from './status/verdict.js'
import { jsonOf } from './text/json.js'
import { REQUEST_USAGE_WORDS } from './text/run-lines.js'
import { painted, terminalOf, textTable, wrapped } from './text/text-table.js'

interface StatusFlags {
  /** Print only the verdict, and exit with its code. */
  readonly check?: boolean | undefined
  readonly 'max-age'?: string | undefined
  /** `4711` or `acme/4711`: explain only this survey. */
  readonly survey?: string | undefined
}

/** A night, and two hours for a run that takes longer than the one before. */
const MAX_AGE = '26h'

export const showStatus = async (
  context: CliContext,
  settings: Settings,
  { check = false, 'max-age': maxAge = MAX_AGE, survey }: StatusFlags,
): Promise<void> => {
  const { signal, print, exit } = context
  const maxAgeMs = parseDuration(maxAge)
  if (maxAgeMs === null) throw usageError('--max-age must be a duration, such as 26h', 'status')
  if (survey !== undefined) return await showSurvey(context, settings, survey, maxAgeMs)
  const state = await findState(settings, signal)
  const nowMs = systemClock.nowMs()
  const asked = { accountNames: settings.accountNames, runs: state.runs, nowMs, maxAgeMs }
  // A first run that failed has published nothing, and left why.
  const hasFailed = state.published === null && state.runs.last !== null
  if (hasFailed && check && !settings.json) {
    const { exitCode, text, next } = verdictOf([], asked)
    exit(exitCode, { reason: text, next })
    return void (await print(`${text}\n`))
  }
  const { head, result } = await readWithHead(settings, state, signal, (database) =>
    database.transaction(readStatus),
  )
  const { syncs, ...shown } = result
  const verdict = verdictOf(syncs, asked)
  if (check) exit(verdict.exitCode, { reason: verdict.text, next: verdict.next })
  if (settings.json) return void (await print(`${jsonOf({ verdict, ...head, ...shown })}\n`))
  const { width, colour } = terminalOf(context)
  const { state: kind, text } = verdict
  const line = check ? text : wrapped(text, width)
  const first = colour ? painted(line, VERDICT_COLOURS[kind]) : line
  if (check) return void (await print(`${first}\n`))
  const overlapMs = settings.discover.overlap
  await print(`${first}\n\n${renderOverview(head, shown, { nowMs, overlapMs, width, said: text })}\n`)
}

export const showRequests = async ({ signal, print }: CliContext, settings: Settings): Promise<void> => {
  const runs = await readLastRequestUsage(settings, signal)
  await print(settings.json ? `${jsonOf({ runs })}\n` : `${renderRequestUsage(runs)}\n`)
}

const renderRequestUsage = (runs: readonly RunRequestUsage[]): string =>
  runs
    .map(({ account, started_at, requests, requests_estimated, requestUsage }) => {
      const saved = sum(requestUsage, 'saved')
      const planned = requests_estimated === null ? '' : `, ${humanCount(requests_estimated)} planned`
      return `requests of ${account}, run of ${formatInstant(started_at)}
  ${counted(requests ?? 0, 'request')}${planned}; ${humanCount(saved)} saved
${textTable(requestTable(requestUsage), { indent: '  ' })}`
    })
    .join('\n\n') || 'no run has recorded its requests yet'

const sum = (usage: readonly RequestUsage[], field: 'requests' | 'saved'): number =>
  usage.reduce((total, one) => total + one[field], 0)

const requestTable = (usage: readonly RequestUsage[]): readonly (readonly string[])[] => {
  const kinds = REQUEST_KINDS.filter((kind) => usage.some((one) => one.kind === kind))
  const rowOf = (name: string, mine: readonly RequestUsage[]) => [
    name,
    ...kinds.map((kind) => requestCell(mine.filter((one) => one.kind === kind))),
  ]
  return [
    ['why', ...kinds.map((kind) => REQUEST_USAGE_WORDS[kind])],
    ...REQUEST_REASONS.flatMap((reason) => {
      const mine = usage.filter((one) => one.reason === reason)
      return mine.length === 0 ? [] : [rowOf(REQUEST_USAGE_WORDS[reason], mine)]
    }),
    rowOf('in all', usage),
  ]
}

/** `17`, `17 (2 saved)`, `(2 saved)` */
const requestCell = (usage: readonly RequestUsage[]): string => {
  const [made, saved] = [sum(usage, 'requests'), sum(usage, 'saved')]
  const parts = [made === 0 ? '' : humanCount(made), saved === 0 ? '' : `(${humanCount(saved)} saved)`]
  return parts.join(' ').trim() || '-'
}

/** Explains one survey, of every account that has it. The rules of a run say when it is read next. */
const showSurvey = async (
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
      const found: Explained[] = []
      for (const account of await database.transaction((sql) => accountsOfSurvey(sql, name, path)))
        found.push(await explainSurvey(database, { account, surveyId: name.surveyId }, settings, maxAgeMs))
      return found
    },
  )
  if (settings.json) return void (await context.print(`${jsonOf({ ...head, surveys })}\n`))
  const terminal = terminalOf(context)
  await context.print(`${surveys.map((one) => renderSurvey(one, terminal)).join('\n\n')}\n`)
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
