/** What `sync` does: opens the warehouse, runs all accounts side by side, and publishes the committed rows. Also what it prints. */
import { systemClock } from '../base/clock.js'
import { counted, humanCount, humanDuration } from '../base/human.js'
import { logWith } from '../base/log.js'
import type { RateUsage } from '../base/network.js'
import { createRedactor } from '../base/secret.js'
import { packageVersion } from '../base/version.js'
import type { CreateTransport } from '../http/transport.js'
import { onOneLine } from '../model/data-problem-names.js'
import type { PlanReport, RunReport, RunStatus, SyncReport } from '../model/run.js'
import { summaryLines } from '../model/run-record.js'
import type { AccountWarehouse } from '../model/warehouse.js'
import { type Settings, secretsOf } from '../settings/settings.js'
import { requireShardLayout } from '../storage/directory.js'
import { requireWarehouse } from '../storage/open.js'
import { runAccount } from '../sync/run.js'
import { sideBySide } from '../sync/side-by-side.js'
import { accountWarehouse } from '../warehouse/account-warehouse.js'
import type { Database } from '../warehouse/connection/database.js'
import { storePlan } from '../warehouse/plan.js'
import { readKnownSurveys } from '../warehouse/survey-status.js'
import type { MonitoredRun, Summary } from './monitored-run.js'
import { type RequestedSurvey, surveysByAccount } from './sync/requested-surveys.js'
import { driftLines, failingLines, publishSection, reasonOf, rejectionLines } from './text/run-lines.js'
import { painted, textTable } from './text/text-table.js'
import { openSource, runAndPublish } from './warehouse-run.js'

/** The job of the command, with its progress on stderr. Throws like `syncAccounts`, or for the directory of another shard layout. */
export const run = async (
  { progress, ...work }: MonitoredRun,
  requested?: readonly RequestedSurvey[],
): Promise<SyncReport> => {
  await requireShardLayout(work.settings)
  if (requested !== undefined) await requireWarehouse(work.settings, work.signal, 'sync')
  const sources = new Map<string, () => RateUsage>()
  using observer = progress((account) => sources.get(account)?.())
  const onSource: SyncAccounts['onSource'] = (account, usage) => sources.set(account, usage)
  return await syncAccounts({ ...work, observer, onSource, requested })
}

export interface SyncAccounts extends Omit<Parameters<typeof runAndPublish>[0], 'command'> {
  /** Called once per account, as soon as its request usage can be read with `usage`. */
  readonly onSource: (account: string, usage: () => RateUsage) => void
  /** The network, by default the real one; the simulation passes its own. */
  readonly createTransport?: CreateTransport | undefined
  /** Only these surveys are read; by default the due ones. */
  readonly requested?: readonly RequestedSurvey[] | undefined
}

/** Throws a `WarehouseError`, an error `unknown_survey` or a bug; every other failure is in the report. */
export const syncAccounts = async (options: SyncAccounts): Promise<SyncReport> => {
  const { settings, observer, onSource, createTransport, requested } = options
  const command = requested === undefined ? 'sync' : 'sync --surveys'
  const redact = createRedactor(secretsOf(settings))
  let plan: PlanReport | null = null
  const report = await runAndPublish({ ...options, command }, async ({ database, storage }) => {
    const only = requested === undefined ? null : await findRequested(database, requested, settings)
    const reports = await sideBySide({
      accounts: settings.accounts.filter(({ name }) => only === null || only.has(name)),
      requestsMax: settings.budget.requests_max,
      signal: storage.signal,
      log: options.log,
      // Each account has its HTTP client, its view of the warehouse and its part of `--max-requests`. An error ends all runs.
      run: async (account, requests, signal) => {
        // Several accounts write into one log, so every line names its account.
        const log = logWith(options.log, { account: account.name })
        let status: RunStatus = 'failed'
        try {
          const { cursor } = await accountWarehouse(database, account.name).position()
          const wasAnswered = cursor !== null
          await using source = openSource({ account, settings, storage, wasAnswered, log, createTransport })
          onSource(account.name, () => source.usage())
          const report = await runAccount({
            source,
            warehouse: recordingRedacted(accountWarehouse(database, account.name), redact),
            clock: systemClock,
            log,
            observer,
            signal,
            rules: { ...settings, exclude: account.exclude },
            only: only?.get(account.name),
            requests,
            runId: options.runId,
            version: packageVersion(),
          })
          status = report.status
          // With one account, the last line has the reason, and follows at once.
          if (status === 'failed' && settings.accounts.length > 1)
            log.error({ exit_code: report.exitCode }, `the run of this account failed: ${report.reason}`)
          return report
        } finally {
          observer.ended({ account: account.name, status })
        }
      },
    })
    // After the listing, so that surveys of this run are known.
    if (requested === undefined) plan = await replacePlan(database, options)
    return reports
  })
  return { ...report, plan }
}

const findRequested = async (
  database: Database,
  requested: readonly RequestedSurvey[],
  settings: Settings,
) => {
  const ids = requested.map(({ surveyId }) => surveyId)
  return surveysByAccount(
    requested,
    await database.transaction((sql) => readKnownSurveys(sql, ids)),
    settings,
  )
}

const replacePlan = async (
  database: Database,
  { settings, log }: SyncAccounts,
): Promise<PlanReport | null> => {
  const { plan } = settings
  // Without the setting, the plan of earlier runs goes.
  const counts = await storePlan(database, plan === null ? [] : plan.rows)
  if (plan === null) return null
  const { path: file, rows, rejectedLines, problems } = plan
  const isKept = rows === null
  if (isKept) log.warn({ file, problems }, 'no line of the plan can be read; those of earlier runs are kept')
  else if (rejectedLines > 0)
    log.warn({ file, problems }, `${counted(rejectedLines, 'line')} of the plan cannot be read`)
  return { file, ...counts, isKept, rejectedLines, problems }
}

/** The message of a bug is recorded as the reason of a failed run, and it may contain a token. */
const recordingRedacted = (
  warehouse: AccountWarehouse,
  redact: (text: string) => string,
): AccountWarehouse => ({
  ...warehouse,
  finishRun: (report) =>
    warehouse.finishRun({ ...report, reason: report.reason === null ? null : redact(report.reason) }),
})

/** The summary, with a newline at its end: a section for each account, the published files, and how the run ended. */
export const render = (report: SyncReport, { elapsedMs, colour = false }: Summary = {}): string =>
  [
    ...report.accounts.map((account) => accountSection(account, report.accounts.length > 1)),
    ...(report.plan ? [planSection(report.plan)] : []),
    publishSection(report, elapsedMs, report.accounts.length > 1 ? ' in all' : ''),
    colour ? painted(lastLine(report), COLOURS[report.status]) : lastLine(report),
  ]
    .filter((section) => section !== '')
    .map((section) => `${section}\n`)
    .join('\n')

const accountSection = (run: RunReport, isOneOfSeveral: boolean): string => {
  const tables = Object.entries(run.rowsByTable).map(
    ([table, { added, changed, unchanged }]) => [table, added, changed, unchanged] as const,
  )
  const hasRows = tables.some(([, ...counts]) => counts.some((count) => count > 0))
  const rows = tables.map(([table, ...counts]) => [table, ...counts.map(humanCount)])
  const head = isOneOfSeveral ? `account ${run.account}: ${run.status}\n` : ''
  const table = hasRows ? `${textTable([['rows', 'added', 'changed', 'unchanged'], ...rows])}\n\n` : ''
  return `${head}${table}${factsOf(run, isOneOfSeveral)}`
}

const factsOf = (run: RunReport, isOneOfSeveral: boolean): string => {
  // After a failure, a zero says nothing.
  const isWorthIt = (count: number) => run.status !== 'failed' || count > 0
  const repeated = [
    ...(isWorthIt(run.retries) ? [counted(run.retries, 'retry', 'retries')] : []),
    ...(isWorthIt(run.rateLimited) ? [`${counted(run.rateLimited, 'refusal')} with 429`] : []),
  ]
  const pace = `a request every ${humanCount(Math.ceil(run.paceIntervalMs ?? 0))} ms: the API refuses bursts within the cap`
  const failed = run.surveysFailed > 0 ? `, ${humanCount(run.surveysFailed)} failed` : ''
  return [
    ['requests', `${humanCount(run.requests)}${repeated.length === 0 ? '' : ` (${repeated.join(', ')})`}`],
    ...(run.paceIntervalMs === null ? [] : [['pace', pace]]),
    ...(isWorthIt(run.surveysListed)
      ? [['listing', run.listing ? `${run.listing}, ${counted(run.surveysListed, 'survey')} listed` : 'none']]
      : []),
    ...(isWorthIt(run.surveysRefreshed + run.surveysFailed)
      ? [['refreshed', `${counted(run.surveysRefreshed, 'survey')}${failed}`]]
      : []),
    ...summaryLines(run).flatMap(({ field, value, label, text }) =>
      isWorthIt(value)
        ? [[label, text], ...(EXPLANATIONS[field]?.(run) ?? []).map((line) => ['', `  ${line}`])]
        : [],
    ),
    ...(isOneOfSeveral ? [['time', humanDuration(Number((run.endedAt - run.startedAt) / 1_000n))]] : []),
  ]
    .map(([label = '', text = '']) => `${label.padEnd(LABEL_COLUMNS)}  ${text}`)
    .join('\n')
}

/** Detail lines below the line of a field. */
const EXPLANATIONS: Readonly<Record<string, (run: RunReport) => readonly string[]>> = {
  leftOver: failingLines,
  rejectedRows: rejectionLines,
  driftEvents: driftLines,
}

/** The lines of the plan, and why others were rejected. */
const planSection = (report: PlanReport): string => {
  const { file, stored, unknown, isKept, rejectedLines, problems } = report
  const kept = counted(stored, 'line')
  const lines = problems.slice(0, PROBLEMS_SHOWN).map((problem) => `  ${onOneLine(problem)}`)
  const rest = Math.max(rejectedLines, problems.length) - lines.length
  return [
    isKept
      ? `plan: no line can be read from ${file}; ${kept} of earlier runs stay`
      : `plan: ${kept} from ${file}`,
    ...(unknown === 0 ? [] : [`  ${humanCount(unknown)} about what the API does not show`]),
    ...(rejectedLines === 0 ? [] : [`  ${counted(rejectedLines, 'line')} rejected`]),
    ...lines,
    ...(rest > 0 ? [`  and ${humanCount(rest)} more`] : []),
  ].join('\n')
}

const PROBLEMS_SHOWN = 5

const LABEL_COLUMNS = 'refreshed'.length

const lastLine = (report: SyncReport): string => {
  const { accounts, status, exitCode } = report
  const sum = (field: 'leftOver' | 'surveysRefreshed') =>
    accounts.reduce((total, run) => total + run[field], 0)
  if (status === 'complete')
    return accounts.length === 0
      ? 'complete: no account belongs to this shard; nothing was requested.'
      : `complete: ${counted(sum('surveysRefreshed'), 'survey')} refreshed, nothing left over.`
  const leftOver = sum('leftOver')
  const queue =
    leftOver === 0 ? '' : `; ${counted(leftOver, 'survey is', 'surveys are')} queued for the next run`
  return `${status} (exit ${exitCode}): ${reasonOf(report) ?? 'no reason was given'}${queue}.`
}

const COLOURS = { complete: 'green', partial: 'yellow', failed: 'red' } as const
