/** The result of `verify`: its exit code, the text for people, and the document of `--json`. */
import { EXIT_CODES, EXITS, type ExitCode } from '../../base/errors.js'
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

const rowsWith = ({ rows }: Pick<SampleProof, 'rows'>, verdict: Verdict) =>
  rows.filter((row) => row.verdict === verdict)

interface SampleOutcome {
  readonly accounts: readonly AccountSample[]
  /** Whether the number of surveys was given: fewer are then not enough. */
  readonly isSampleGiven: boolean
  readonly isSignalled: boolean
}

/** The code of the highest rank among all findings. */
export const exitCodeOf = (local: LocalProof, sample: SampleOutcome | null): ExitCode => {
  const codes: ExitCode[] = [
    local.problems.length > 0 ? EXIT_CODES.data : EXIT_CODES.complete,
    ...(sample?.accounts ?? []).flatMap((account): readonly ExitCode[] => [
      rowsWith(account, 'wrong').length > 0 ? EXIT_CODES.data : EXIT_CODES.complete,
      account.failure?.exitCode ?? EXIT_CODES.complete,
      isIncomplete(account, sample) ? EXIT_CODES.partial : EXIT_CODES.complete,
    ]),
  ]
  return codes.reduce((worst, code) => (EXITS[code].rank > EXITS[worst].rank ? code : worst))
}

/** Without `--sample`, the budget decides how many surveys are compared. One is the least. */
const isIncomplete = (
  { compared, chosen, unread }: AccountSample,
  outcome: Pick<SampleOutcome, 'isSampleGiven' | 'isSignalled'> | null,
): boolean => {
  if (unread.length > 0) return true
  const isShort = compared < chosen
  return isShort && (compared === 0 || outcome?.isSampleGiven === true || outcome?.isSignalled === true)
}

export const outputOf = (report: VerifyReport, isJson: boolean, elapsedMs: number): string =>
  isJson ? `${jsonOf(verifyToJson(report))}\n` : renderVerify(report, elapsedMs)

/** Findings of one kind that are listed; the rest is counted, and `--json` has all. */
const LISTED_MAX = 20

export const renderVerify = ({ exitCode, local, sample }: VerifyReport, elapsedMs: number): string => {
  const accounts = sample?.accounts ?? []
  return [
    localPart(local),
    ...(accounts.length === 0 ? [] : [samplePart(accounts)]),
    ...findingsPart(accounts, 'wrong', 'WRONG'),
    ...findingsPart(accounts, 'unclear', 'cannot be decided'),
    ...accounts.flatMap(({ account, unread }) =>
      unread.map(
        ({ surveyId, problem }) =>
          `${account}: survey ${surveyId} could not be compared: ${onOneLine(problem)}`,
      ),
    ),
    closing({ exitCode, local, sample }, elapsedMs),
  ]
    .map((part) => `${part}\n`)
    .join('\n')
}

const localPart = ({ checks, states, problems, notes }: LocalProof): string =>
  [
    `${states.join(' and ')}: ${counted(checks, 'check')}, ${problems.length === 0 ? 'nothing wrong' : counted(problems.length, 'problem')}`,
    ...problems.slice(0, LISTED_MAX).map(problemLine),
    ...(problems.length > LISTED_MAX ? [`  and ${humanCount(problems.length - LISTED_MAX)} more`] : []),
    ...[...new Set(problems.map(({ advice }) => advice))].map((advice) => `  ${advice}.`),
    ...notes.map((note) => `  ${note}`),
  ].join('\n')

const problemLine = ({ where, says, count, example, state }: Problem): string => {
  const first = onOneLine(example)
  return `  WRONG  ${where === 'files' ? state : where}: ${says}: ${count === 1 ? first : `${humanCount(count)}, such as ${first}`}`
}

const samplePart = (accounts: readonly AccountSample[]): string =>
  [
    textTable([
      ['account', 'surveys', 'compared', 'requests', ...COUNTED],
      ...accounts.map((account) => {
        const counts = countsOf(account.rows)
        return [
          account.account,
          ...[
            account.surveys,
            account.compared,
            account.requests,
            ...COUNTED.map((name) => counts[name]),
          ].map(humanCount),
        ]
      }),
    ]),
    ...accounts.map(powerLine),
  ].join('\n')

const powerLine = (sample: AccountSample): string => {
  const { account, surveys, compared, chosen, stopped } = sample
  const stop = stopped === null || compared === chosen ? '' : ` (${stopped})`
  if (surveys === 0) return `${account}: no survey was read yet${stop}`
  if (compared === 0) return `${account}: no survey was compared${stop}`
  const wrong = onePercentOf(surveys)
  const chance = percent(sample.chanceToFindOnePercent)
  return `${account}: ${humanCount(compared)} of ${counted(surveys, 'survey')} compared (${percent(compared / surveys)})${stop}. If ${humanCount(wrong)} of them ${wrong === 1 ? 'was' : 'were'} wrong, a sample of this size would find ${wrong === 1 ? 'it' : 'one'} with a chance of ${chance}`
}

const percent = (fraction: number): string =>
  `${Number((100 * fraction).toPrecision(fraction > 0.01 ? 3 : 2))} %`

const findingsPart = (
  accounts: readonly AccountSample[],
  verdict: Verdict,
  title: string,
): readonly string[] => {
  const lines = accounts.flatMap(({ account, ...sample }) =>
    rowsWith(sample, verdict).flatMap((row) => findingLines(account, row)),
  )
  if (lines.length === 0) return []
  const rest = lines.length - LISTED_MAX
  return [
    [
      title,
      ...lines.slice(0, LISTED_MAX).map((line) => `  ${line}`),
      ...(rest > 0 ? [`  and ${humanCount(rest)} more; --json has all`] : []),
    ].join('\n'),
  ]
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

const closing = ({ exitCode, local, sample }: VerifyReport, elapsedMs: number): string => {
  const accounts = sample?.accounts ?? []
  const failures = accounts.flatMap(({ account, failure }) =>
    failure === null ? [] : [`${account}: ${failure.message}`],
  )
  const seed = sample === null ? '' : `; --seed ${sample.seed} chooses the same surveys until the next sync`
  const took = `took ${humanDuration(elapsedMs)}${seed}`
  return [...failures, took, lastLine(exitCode, local, accounts)].join('\n')
}

const lastLine = (
  exitCode: ExitCode,
  { problems }: LocalProof,
  accounts: readonly AccountSample[],
): string => {
  const rows = accounts.reduce((sum, account) => sum + rowsWith(account, 'wrong').length, 0)
  const wrong = [
    ...(problems.length > 0 ? [`${counted(problems.length, 'problem')} in the published state`] : []),
    ...(rows > 0 ? [`${counted(rows, 'row')} of the sample`] : []),
  ]
  if (wrong.length > 0) return `wrong (exit ${exitCode}): ${wrong.join(' and ')}.`
  return exitCode === EXIT_CODES.complete
    ? 'verified: nothing wrong.'
    : `not verified completely (exit ${exitCode}): nothing wrong so far.`
}

/** Every row that differs, and counts of all rows. */
const verifyToJson = ({ exitCode, local, sample }: VerifyReport) => ({
  exitCode,
  local,
  sample: sample === null ? null : { seed: sample.seed, accounts: sample.accounts.map(accountToJson) },
})

const accountToJson = (sample: AccountSample) => ({
  account: sample.account,
  surveys: sample.surveys,
  chosen: sample.chosen,
  compared: sample.compared,
  chanceToFindOnePercent: sample.chanceToFindOnePercent,
  requests: sample.requests,
  stopped: sample.stopped,
  unread: sample.unread,
  tables: COMPARED_TABLES.map((table) => ({
    table,
    ...countsOf(sample.rows.filter((row) => row.table === table)),
  })),
  findings: sample.rows.filter(({ verdict }) => verdict !== 'equal').map(({ fields: _, ...row }) => row),
})

/** Counts of compared rows and fields, by verdict. */
interface RowVerdicts extends Readonly<Record<Verdict, number>> {
  readonly rows: number
  readonly fields: number
}

const countsOf = (rows: readonly Compared[]): RowVerdicts => {
  const count = (verdict: Verdict) => rows.filter((row) => row.verdict === verdict).length
  return {
    rows: rows.length,
    fields: rows.reduce((sum, { fields }) => sum + fields, 0),
    equal: count('equal'),
    moved: count('moved'),
    waiting: count('waiting'),
    unclear: count('unclear'),
    wrong: count('wrong'),
  }
}

const COUNTED = ['rows', 'fields', ...VERDICTS] as const
