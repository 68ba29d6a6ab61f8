/** The output of `conformance`: for people a table of rules and the observations, for machines all results. */
import { counted, humanDuration } from '../../base/human.js'
import type { ConformanceReport, RuleResult } from '../../conformance/run.js'
import type { Verdict } from '../../conformance/verdict.js'
import { textTable } from '../text/text-table.js'

type Word = Verdict['verdict']

export interface ConformanceStyle {
  readonly elapsedMs: number
  readonly exitCode: number
  /** Whether verdicts get terminal colours. */
  readonly colour: boolean
}

/** The report, with a newline at its end. */
export const renderConformance = (report: ConformanceReport, style: ConformanceStyle): string =>
  [
    `${report.baseUrl}, checked against the API document`,
    ruleTable(report.rules, style.colour),
    `where the document is silent\n${textTable(
      report.observations.map(({ topic, told }) => [topic, told]),
      '  ',
      2,
    )}`,
    lastLines(report, style),
  ]
    .map((section) => `${section}\n`)
    .join('\n')

const WORDS: Readonly<Record<Word, string>> = {
  pass: 'pass',
  fail: 'FAIL',
  not_observable: 'not observable',
}
const COLOURS: Readonly<Record<Word, string>> = { pass: '32', fail: '31', not_observable: '33' }
const DETAIL_INDENT = ' '.repeat(WORDS.not_observable.length + 4)

/** The rules under their sections of the API document. Sections follow the order of their first rule. */
const ruleTable = (rules: readonly RuleResult[], colour: boolean): string => {
  const sections = [...new Set(rules.map(({ section }) => section))]
  const sorted = sections.flatMap((section) => rules.filter((rule) => rule.section === section))
  const lines = textTable(
    sorted.map(({ id, text, verdict }) => [WORDS[verdict.verdict], id, text]),
    '',
    3,
  ).split('\n')
  return sorted
    .flatMap(({ section, verdict }, place) => [
      ...(section === sorted[place - 1]?.section ? [] : ['', section]),
      painted(lines[place] ?? '', verdict.verdict, colour),
      ...detailsOf(verdict).map((detail) => `${DETAIL_INDENT}${detail}`),
    ])
    .slice(1)
    .join('\n')
}

const painted = (line: string, verdict: Word, colour: boolean): string => {
  const word = WORDS[verdict]
  return `  ${colour ? `\u001b[${COLOURS[verdict]}m${word}\u001b[0m${line.slice(word.length)}` : line}`
}

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

const countOf = (rules: readonly RuleResult[], word: Word): number =>
  rules.filter(({ verdict }) => verdict.verdict === word).length

const lastLines = (report: ConformanceReport, { elapsedMs, exitCode }: ConformanceStyle): string => {
  const { rules, requests, refusals, endedBy } = report
  const refused = refusals === 0 ? '' : `, ${refusals} of them refused with 429`
  const lines = [`${counted(requests, 'request')}${refused}, in ${humanDuration(elapsedMs)}`]
  if (endedBy !== null) lines.push(`ended early: ${endedBy.message}`)
  const totals = `${countOf(rules, 'pass')} pass, ${countOf(rules, 'fail')} fail, ${countOf(rules, 'not_observable')} not observable`
  lines.push(`${counted(rules.length, 'rule')}: ${totals}${exitCode === 0 ? '' : ` (exit ${exitCode})`}.`)
  return lines.join('\n')
}

/** The document of `--json`. */
export const conformanceToJson = (report: ConformanceReport, { elapsedMs, exitCode }: ConformanceStyle) => ({
  exit_code: exitCode,
  base_url: report.baseUrl,
  totals: {
    pass: countOf(report.rules, 'pass'),
    fail: countOf(report.rules, 'fail'),
    not_observable: countOf(report.rules, 'not_observable'),
  },
  rules: report.rules.map(({ verdict, ...rule }) => ({ ...rule, ...verdict })),
  observations: report.observations,
  requests: report.requests,
  refusals: report.refusals,
  elapsed_ms: Math.round(elapsedMs),
  ended_early: report.endedBy?.message ?? null,
})
