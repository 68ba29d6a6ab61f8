/** What `conformance` does: sends the requests, and prints a table of rules and the observations, or all results as JSON. */
import { systemClock } from '../base/clock.js'
import { EXIT_CODES, type ExitCode, isStop } from '../base/errors.js'
import { counted, humanDuration, humanWindow } from '../base/human.js'
import { type ConformanceReport, type RuleResult, runConformance } from '../conformance/run.js'
import type { Verdict } from '../conformance/verdict.js'
import type { Settings } from '../settings/settings.js'
import type { CliContext } from './context.js'
import { openTelemetry } from './monitored-run.js'
import { painted, textTable } from './text/text-table.js'

/** Slightly more than the rules need for an account with a few pages of surveys. */
const REQUESTS_MAX = 90
/** Enough for every answer that a rule needs; all answers are kept until the report. */
const RESPONSE_BYTES_MAX = 4 * 1024 * 1024

/** `settings` have one account. */
export const checkConformance = async (
  context: CliContext,
  settings: Settings,
  exceedCap: boolean,
): Promise<void> => {
  const { log, colour, redact } = await openTelemetry(settings, context)
  const [account] = settings.accounts
  if (account === undefined) throw new TypeError('settings without an account')
  const requestsMax = settings.budget.requests_max ?? REQUESTS_MAX
  const { requests, perMs } = account.rate
  log.info(
    { requests_max: requestsMax },
    `at most ${requestsMax} requests, ${requests} per ${humanWindow(perMs)}: this takes up to ${humanDuration(perMs * Math.ceil(requestsMax / requests))}`,
  )
  const startedMs = systemClock.monotonicMs()
  const report = await runConformance({
    ...account,
    account: account.name,
    requestTimeoutMs: settings.limits.request_timeout,
    responseBytesMax: Math.min(RESPONSE_BYTES_MAX, settings.limits.response_bytes_max),
    requestsMax,
    exceedCap,
    clock: systemClock,
    log,
    signal: context.signal,
  })
  const exitCode = exitCodeOf(report)
  const style = { elapsedMs: systemClock.monotonicMs() - startedMs, exitCode, colour }
  const text = settings.json
    ? `${JSON.stringify(conformanceToJson(report, style))}\n`
    : renderConformance(report, style)
  // Answers are redacted where they are read; this covers any other way for a token to get into the report.
  context.exit(exitCode, {
    reason: reasonOf(report),
    ...(exitCode === EXIT_CODES.data && { next: 'tell the owner of the service which rules are broken' }),
  })
  await (settings.json ? context.print : context.tell)(redact(text))
}

const reasonOf = ({ rules, endedBy }: ConformanceReport): string | null => {
  const { fail } = totalsOf(rules)
  const reasons = [
    ...(fail > 0 ? [`${counted(fail, 'rule is', 'rules are')} broken`] : []),
    ...(endedBy === null ? [] : [endedBy.message]),
  ]
  return reasons.join('; ') || null
}

/** The exit code of a failed request takes precedence over a broken rule, and a broken rule over a signal. */
const exitCodeOf = ({ rules, endedBy }: ConformanceReport): ExitCode => {
  if (endedBy !== null && !isStop(endedBy)) return endedBy.exitCode
  if (totalsOf(rules).fail > 0) return EXIT_CODES.data
  return endedBy?.exitCode ?? EXIT_CODES.complete
}

interface ConformanceStyle {
  readonly elapsedMs: number
  readonly exitCode: number
  /** Whether verdicts get terminal colours. */
  readonly colour: boolean
}

/** The report, with a newline at its end. */
const renderConformance = (report: ConformanceReport, style: ConformanceStyle): string => {
  const observations = report.observations.map(({ topic, told }) => [topic, told])
  return [
    `${report.baseUrl}, checked against the API document`,
    ruleTable(report.rules, style.colour),
    `where the document is silent\n${textTable(observations, { indent: '  ', leftColumns: 2 })}`,
    lastLines(report, style),
  ]
    .map((section) => `${section}\n`)
    .join('\n')
}

const WORDS = { pass: 'pass', fail: 'FAIL', not_observable: 'not observable' } as const
const COLOURS = { pass: 'green', fail: 'red', not_observable: 'yellow' } as const
const DETAIL_INDENT = ' '.repeat(WORDS.not_observable.length + 4)

/** The rules under their sections of the API document. Sections follow the order of their first rule. */
const ruleTable = (rules: readonly RuleResult[], colour: boolean): string => {
  const sections = [...new Set(rules.map(({ section }) => section))]
  const sorted = sections.flatMap((section) => rules.filter((rule) => rule.section === section))
  const cells = sorted.map(({ id, text, verdict }) => [WORDS[verdict.verdict], id, text])
  const lines = textTable(cells, { leftColumns: 3 }).split('\n')
  return sorted
    .flatMap(({ section, verdict }, index) => [
      ...(section === sorted[index - 1]?.section ? [] : ['', section]),
      `  ${colour ? withColour(lines[index] ?? '', verdict) : lines[index]}`,
      ...detailsOf(verdict).map((detail) => `${DETAIL_INDENT}${detail}`),
    ])
    .slice(1)
    .join('\n')
}

/** Only the word of the verdict is coloured. */
const withColour = (line: string, { verdict }: Verdict): string =>
  `${painted(WORDS[verdict], COLOURS[verdict])}${line.slice(WORDS[verdict].length)}`

const detailsOf = (verdict: Verdict): readonly string[] => {
  switch (verdict.verdict) {
    case 'pass':
      return verdict.note === undefined ? [] : [verdict.note]
    case 'not_observable':
      return [verdict.reason]
    case 'fail':
      return [`request   ${verdict.asked}`, `expected  ${verdict.expected}`, `answer    ${verdict.got}`]
  }
}

const totalsOf = (rules: readonly RuleResult[]) => {
  const totals = { pass: 0, fail: 0, not_observable: 0 }
  for (const { verdict } of rules) totals[verdict.verdict] += 1
  return totals
}

const lastLines = (report: ConformanceReport, { elapsedMs, exitCode }: ConformanceStyle): string => {
  const { rules, requests, rateLimited, endedBy } = report
  const refused = rateLimited === 0 ? '' : `, ${rateLimited} of them refused with 429`
  const { pass, fail, not_observable } = totalsOf(rules)
  return [
    `${counted(requests, 'request')}${refused}, in ${humanDuration(elapsedMs)}`,
    ...(endedBy === null ? [] : [`ended early: ${endedBy.message}`]),
    `${counted(rules.length, 'rule')}: ${pass} pass, ${fail} fail, ${not_observable} not observable${exitCode === 0 ? '' : ` (exit ${exitCode})`}.`,
  ].join('\n')
}

/** The document of `--json`. */
const conformanceToJson = (report: ConformanceReport, { elapsedMs, exitCode }: ConformanceStyle) => ({
  exit_code: exitCode,
  base_url: report.baseUrl,
  totals: totalsOf(report.rules),
  rules: report.rules.map(({ verdict, ...rule }) => ({ ...rule, ...verdict })),
  observations: report.observations,
  requests: report.requests,
  rate_limited: report.rateLimited,
  elapsed_ms: Math.round(elapsedMs),
  ended_early: report.endedBy?.message ?? null,
})
