/** The output of `verify` for people: what was checked and compared, what is wrong, and how much the sample can show. */
import { EXIT_CODES, type ExitCode } from '../../base/errors.js'
import { counted, humanCount, humanDuration } from '../../base/human.js'
import type { Cell } from '../../model/columns.js'
import { onOneLine } from '../../model/data-problem-names.js'
import { formatInstant } from '../../model/instant.js'
import type { LocalProof, Problem } from '../../verify/local/proof.js'
import { onePercentOf } from '../../verify/sample/choose.js'
import type { Compared, Verdict } from '../../verify/sample/verdict.js'
import { textTable } from '../text/text-table.js'
import { COUNTED, countsOf } from './counts.js'
import { type AccountSample, rowsWith, type VerifyReport } from './report.js'

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
