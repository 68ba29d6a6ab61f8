/**
 * The summary of `sync`: one section per account, the published files, and a last line. The last line alone says
 * whether the run was complete, partial or failed.
 */
import { EXIT_CODES } from '../../base/errors.js'
import { counted, humanCount, humanDuration } from '../../base/human.js'
import { createRedactor } from '../../base/secret.js'
import type { RunReport, RunStatus, SyncReport } from '../../model/run.js'
import { summaryLines } from '../../model/run-record.js'
import { type Settings, secretsOf } from '../../settings/settings.js'
import { jsonOf } from '../text/json.js'
import { driftLines, failingLines, publishSection, rejectionLines } from '../text/run-lines.js'
import { textTable } from '../text/text-table.js'

interface SummaryOptions {
  /** Milliseconds since the command started. Without it, the summary has only the time of each account. */
  readonly elapsedMs?: number
  /** Whether the last line gets terminal colours. */
  readonly colour?: boolean
}

/** The summary, or the report as JSON. Both quote values from the API, and any of them may contain a token. */
export const outputOf = (report: SyncReport, settings: Settings, options: SummaryOptions): string =>
  createRedactor(secretsOf(settings))(settings.json ? `${jsonOf(report)}\n` : renderSummary(report, options))

/** The summary, with a newline at its end. */
export const renderSummary = (
  report: SyncReport,
  { elapsedMs, colour = false }: SummaryOptions = {},
): string =>
  [
    ...report.accounts.map((account) => accountSection(account, report.accounts.length > 1)),
    publishSection(report, elapsedMs),
    paint(lastLine(report), report.status, colour),
  ]
    .map((section) => `${section}\n`)
    .join('\n')

const accountSection = (run: RunReport, isOneOfSeveral: boolean): string => {
  const tables = Object.entries(run.rowsByTable).map(([table, rows]) => [
    table,
    humanCount(rows.added),
    humanCount(rows.changed),
    humanCount(rows.unchanged),
  ])
  const head = isOneOfSeveral ? `account ${run.account}: ${run.status}\n` : ''
  return `${head}${textTable([['rows', 'added', 'changed', 'unchanged'], ...tables])}\n\n${factsOf(run)}`
}

const factsOf = (run: RunReport): string =>
  [
    [
      'requests',
      `${humanCount(run.requests)} (${counted(run.retries, 'retry', 'retries')}, ${counted(run.refusals, 'refusal')} with 429)`,
    ],
    ...(run.paceIntervalMs === null
      ? []
      : [
          [
            'pace',
            `a request every ${humanCount(Math.ceil(run.paceIntervalMs))} ms: the API refuses bursts within the cap`,
          ],
        ]),
    [
      'listing',
      run.listing === null ? 'none' : `${run.listing}, ${counted(run.surveysListed, 'survey')} listed`,
    ],
    [
      'refreshed',
      `${counted(run.surveysRefreshed, 'survey')}${run.surveysFailed > 0 ? `, ${humanCount(run.surveysFailed)} failed` : ''}`,
    ],
    ...summaryLines(run).flatMap(({ field, label, text }) => [
      [label, text],
      ...(EXPLANATIONS[field]?.(run) ?? []).map((line) => ['', `  ${line}`]),
    ]),
    ['time', humanDuration(Number((run.endedAt - run.startedAt) / 1_000n))],
  ]
    .map(([label = '', text = '']) => `${label.padEnd(LABEL_COLUMNS)}  ${text}`)
    .join('\n')

/** Detail lines below the line of a field. */
const EXPLANATIONS: Readonly<Record<string, (run: RunReport) => readonly string[]>> = {
  leftOver: failingLines,
  rejectedRows: rejectionLines,
  driftEvents: driftLines,
}

const LABEL_COLUMNS = 'refreshed'.length

const lastLine = (report: SyncReport): string => {
  const sum = (pick: (run: RunReport) => number) =>
    report.accounts.reduce((total, run) => total + pick(run), 0)
  const leftOver = sum(({ leftOver }) => leftOver)
  if (report.accounts.length === 0 && report.status === 'complete')
    return 'complete: no account belongs to this shard; nothing was requested.'
  if (report.status === 'complete') {
    const refreshed = counted(
      sum(({ surveysRefreshed }) => surveysRefreshed),
      'survey',
    )
    return `complete: ${refreshed} refreshed, nothing left over.`
  }
  const queue =
    leftOver === 0
      ? 'nothing is queued.'
      : `${counted(leftOver, 'survey is', 'surveys are')} queued for the next run.`
  return `${report.status} (exit ${report.exitCode}): ${oneLine(reasonOf(report))}; ${queue}`
}

/** The reasons of the accounts that decided the exit code. With several accounts, each reason names its account. */
const reasonOf = (report: SyncReport): string => {
  const deciding = report.accounts.filter(
    ({ exitCode, reason }) => exitCode === report.exitCode && reason !== null,
  )
  const several = report.accounts.length > 1
  const reasons = deciding.map(
    ({ account, reason }) => `${several ? `${account}: ` : ''}${withoutStop(reason ?? '')}`,
  )
  if (report.publishError !== null && (reasons.length === 0 || report.exitCode === EXIT_CODES.warehouse)) {
    reasons.unshift(`not published: ${withoutStop(report.publishError)}`)
  }
  return reasons.length === 0 ? 'no reason was given' : [...new Set(reasons)].join('; ')
}

const withoutStop = (sentence: string): string => sentence.replace(/\.$/, '')

const oneLine = (text: string): string => text.replace(/\s*\n\s*/g, ' ')

const COLOURS: Readonly<Record<RunStatus, string>> = { complete: '32', partial: '33', failed: '31' }

const paint = (text: string, status: RunStatus, colour: boolean): string =>
  colour ? `\u001b[${COLOURS[status]}m${text}\u001b[0m` : text
