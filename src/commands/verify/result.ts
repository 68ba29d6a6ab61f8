/** The result of `verify`: its exit code, the text for people, and the document of `--json`. */
import { EXIT_CODES, type ExitCode, UpstreamError, worseOf } from '../../base/errors.js'
import { counted, humanCount, humanDuration } from '../../base/human.js'
import type { Cell } from '../../model/columns.js'
import { onOneLine } from '../../model/data-problem-names.js'
import { formatInstant } from '../../model/instant.js'
import type { LocalProof, Problem } from '../../verify/local/proof.js'
import { onePercentOf } from '../../verify/sample/choose.js'
import type { SampleProof } from '../../verify/sample/run.js'
import { COMPARED_TABLES, type Compared, VERDICTS, type Verdict } from '../../verify/sample/verdict.js'
import { jsonOf } from '../text/json.js'
import { textTable } from '../text/text-table.js'

export interface AccountSample extends SampleProof {
  /** Requests sent, retries included. */
  readonly requests: number
}

export interface VerifyReport {
  readonly exitCode: ExitCode
  readonly local: LocalProof
  /** Null with `--local`. */
  readonly sample: { readonly seed: string; readonly accounts: readonly AccountSample[] } | null
}

interface SampleOutcome {
  readonly accounts: readonly AccountSample[]
  /** Whether `--sample` gave the number of surveys. Then the sample is incomplete with fewer. */
  readonly isSampleGiven: boolean
  readonly isSignalled: boolean
}

/** The code of the highest rank among all findings. */
export const exitCodeOf = (local: LocalProof, sample: SampleOutcome | null): ExitCode => {
  const codes: ExitCode[] = [local.problems.length > 0 ? EXIT_CODES.data : EXIT_CODES.complete]
  for (const account of sample?.accounts ?? []) {
    if (account.endedBy instanceof UpstreamError) codes.push(account.endedBy.exitCode)
    if (rowsWith(account, 'wrong').length > 0) codes.push(EXIT_CODES.data)
    if (sample !== null && isIncomplete(account, sample)) codes.push(EXIT_CODES.partial)
  }
  return codes.reduce(worseOf)
}

const rowsWith = ({ rows }: Pick<SampleProof, 'rows'>, verdict: Verdict) =>
  rows.filter((row) => row.verdict === verdict)

/** Without `--sample`, the budget decides how many surveys are compared, and one is enough. */
const isIncomplete = ({ compared, chosen, unread }: AccountSample, outcome: SampleOutcome): boolean =>
  unread.length > 0 || (compared < chosen && (compared === 0 || outcome.isSampleGiven || outcome.isSignalled))

/** The text for people. The document of `--json` has every row that differs, and counts of all rows. */
export const outputOf = (report: VerifyReport, isJson: boolean, elapsedMs: number): string => {
  if (!isJson) return renderVerify(report, elapsedMs)
  const sample = report.sample && { ...report.sample, accounts: report.sample.accounts.map(accountToJson) }
  return `${jsonOf({ ...report, sample })}\n`
}

/** The most findings of one kind that are listed. The rest is counted, and `--json` has all. */
const LISTED_MAX = 20

const listed = (lines: readonly string[], more = ''): readonly string[] => [
  ...lines.slice(0, LISTED_MAX).map((line) => `  ${line}`),
  ...(lines.length > LISTED_MAX ? [`  and ${humanCount(lines.length - LISTED_MAX)} more${more}`] : []),
]

export const renderVerify = (report: VerifyReport, elapsedMs: number): string => {
  const accounts = report.sample?.accounts ?? []
  return [
    localPart(report.local),
    ...(accounts.length === 0 ? [] : [samplePart(accounts)]),
    ...findingsPart(accounts, 'wrong', 'WRONG'),
    ...findingsPart(accounts, 'unclear', 'cannot be decided'),
    ...accounts.flatMap(({ account, unread }) =>
      unread.map(
        ({ surveyId, problem }) =>
          `${account}: survey ${surveyId} could not be compared: ${onOneLine(problem)}`,
      ),
    ),
    closing(report, accounts, elapsedMs),
  ]
    .map((part) => `${part}\n`)
    .join('\n')
}

const localPart = ({ checks, states, problems, notes }: LocalProof): string =>
  [
    `${states.join(' and ')}: ${counted(checks, 'check')}, ${problems.length === 0 ? 'nothing wrong' : counted(problems.length, 'problem')}`,
    ...listed(problems.map(problemLine)),
    ...[...new Set(problems.map(({ advice }) => advice))].map((advice) => `  ${advice}.`),
    ...notes.map((note) => `  ${note}`),
  ].join('\n')

const problemLine = ({ where, says, count, example, state }: Problem): string =>
  `WRONG  ${where === 'files' ? state : where}: ${says}: ${count === 1 ? '' : `${humanCount(count)}, such as `}${onOneLine(example)}`

const samplePart = (accounts: readonly AccountSample[]): string =>
  [
    textTable([
      ['account', 'requests', ...COUNTED],
      ...accounts.map(({ account, requests, rows }) => {
        const counts = countsOf(rows)
        return [account, ...[requests, ...COUNTED.map((name) => counts[name])].map(humanCount)]
      }),
    ]),
    ...accounts.map(powerLine),
    ...accounts.flatMap(droppedLines),
  ].join('\n')

const powerLine = (sample: AccountSample): string => {
  const { account, surveys, compared, chosen, endedBy } = sample
  const stop = endedBy === null || compared === chosen ? '' : ` (${endedBy.message})`
  if (compared === 0) return `${account}: no survey was ${surveys === 0 ? 'read yet' : 'compared'}${stop}`
  const wrong = onePercentOf(surveys)
  const [were, one] = wrong === 1 ? ['was', 'it'] : ['were', 'one']
  return `${account}: ${humanCount(compared)} of ${counted(surveys, 'survey')} compared (${percent(compared / surveys)})${stop}. If ${humanCount(wrong)} of them ${were} wrong, a sample of this size would find ${one} with a chance of ${percent(sample.chanceToFindOnePercent)}`
}

/** A change of the API. It makes no row wrong. */
const droppedLines = ({ account, droppedFields }: AccountSample): readonly string[] =>
  droppedFields.map(
    ({ resource, field, rows }) =>
      `${account}: the API gives ${resource}.${field} in no answer any more; ${counted(rows, 'row still has', 'rows still have')} a value of before, until it changes`,
  )

const percent = (fraction: number): string =>
  `${Number((100 * fraction).toPrecision(fraction > 0.01 ? 3 : 2))} %`

const findingsPart = (
  accounts: readonly AccountSample[],
  verdict: Verdict,
  title: string,
): readonly string[] => {
  const lines = accounts.flatMap((sample) =>
    rowsWith(sample, verdict).flatMap((row) => findingLines(sample.account, row)),
  )
  return lines.length === 0 ? [] : [[title, ...listed(lines, '; --json has all')].join('\n')]
}

/** The row and why, then a line for each field. */
const findingLines = (account: string, row: Compared): readonly string[] => [
  `${account} survey ${row.surveyId}${row.sampleSourceId === null ? '' : ` source ${row.sampleSourceId}`}, ${row.table}: ${row.why}`,
  ...row.differences.map(
    ({ field, stored, service }) =>
      `  ${field}: ${cellText(stored)} in the warehouse, ${cellText(service)} by the service`,
  ),
]

const cellText = (cell: Cell): string =>
  typeof cell === 'bigint' ? formatInstant(cell) : onOneLine(JSON.stringify(cell))

const closing = (report: VerifyReport, accounts: readonly AccountSample[], elapsedMs: number): string => {
  const { sample } = report
  const seed = sample === null ? '' : `; --seed ${sample.seed} chooses the same surveys until the next sync`
  return [
    ...accounts.flatMap(({ account, endedBy }) =>
      endedBy instanceof UpstreamError ? [`${account}: ${endedBy.message}`] : [],
    ),
    `took ${humanDuration(elapsedMs)}${seed}`,
    ...remedies(accounts),
    endOfVerify(report),
  ].join('\n')
}

/** The last line: whether something is wrong. */
export const endOfVerify = ({ exitCode, local, sample }: VerifyReport): string => {
  const accounts = sample?.accounts ?? []
  const rows = accounts.reduce((sum, account) => sum + rowsWith(account, 'wrong').length, 0)
  const problems = local.problems.length
  const wrong = [
    ...(problems > 0 ? [`${counted(problems, 'problem')} in the published state`] : []),
    ...(rows > 0 ? [`${counted(rows, 'row')} of the sample`] : []),
  ]
  const verified =
    exitCode === EXIT_CODES.complete
      ? 'verified: nothing wrong.'
      : `not verified completely (exit ${exitCode}): nothing wrong so far.`
  return wrong.length > 0 ? `wrong (exit ${exitCode}): ${wrong.join(' and ')}.` : verified
}

/**
 * The commands that read the wrong rows again. A listing of all surveys repairs only rows of surveys. Wrong sources and progress of a
 * survey whose row is right need `sync --surveys`.
 */
const remedies = (accounts: readonly AccountSample[]): readonly string[] => {
  const wrong = accounts.flatMap((sample) =>
    rowsWith(sample, 'wrong').map(({ table, surveyId }) => ({
      table,
      name: accounts.length > 1 ? `${sample.account}/${surveyId}` : String(surveyId),
    })),
  )
  const names = [...new Set(wrong.filter(({ table }) => table !== 'surveys').map(({ name }) => name))]
  return [
    ...(wrong.some(({ table }) => table === 'surveys')
      ? ['rows of surveys are read again by: fieldwork-sync sync --full']
      : []),
    ...(names.length === 0
      ? []
      : [`sources and progress are read again by: fieldwork-sync sync --surveys ${names.join(',')}`]),
  ]
}

const accountToJson = ({ rows, ...sample }: AccountSample) => ({
  account: sample.account,
  surveys: sample.surveys,
  chosen: sample.chosen,
  compared: sample.compared,
  chanceToFindOnePercent: sample.chanceToFindOnePercent,
  requests: sample.requests,
  stopped: sample.endedBy?.message ?? null,
  unread: sample.unread,
  droppedFields: sample.droppedFields,
  tables: COMPARED_TABLES.map((table) => ({ table, ...countsOf(rows.filter((row) => row.table === table)) })),
  findings: rows.filter(({ verdict }) => verdict !== 'equal').map(({ fields: _, ...row }) => row),
})

const COUNTED = ['rows', 'fields', ...VERDICTS] as const

/** Counts of compared rows and fields, and of rows by verdict. */
const countsOf = (rows: readonly Compared[]): Readonly<Record<(typeof COUNTED)[number], number>> => {
  const counts = { rows: rows.length, fields: 0, equal: 0, moved: 0, waiting: 0, unclear: 0, wrong: 0 }
  for (const { verdict, fields } of rows) {
    counts[verdict] += 1
    counts.fields += fields
  }
  return counts
}
