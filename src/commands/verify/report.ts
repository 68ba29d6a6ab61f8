/** The result of `verify`, and its exit code. */
import { EXIT_CODES, EXITS, type ExitCode } from '../../base/errors.js'
import type { LocalProof } from '../../verify/local/proof.js'
import type { SampleProof } from '../../verify/sample/run.js'
import type { Verdict } from '../../verify/sample/verdict.js'

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

export const rowsWith = ({ rows }: Pick<SampleProof, 'rows'>, verdict: Verdict) =>
  rows.filter((row) => row.verdict === verdict)

export interface SampleOutcome {
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
