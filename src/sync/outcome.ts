/** Decides how a run ended: exit code, status and one line of reason. The decision is pure; `finishRun` reports and records it. */
import type { Span } from '../base/clock.js'
import { EXIT_CODES, type ExitCode, worseOf } from '../base/errors.js'
import { counted } from '../base/human.js'
import { driftName } from '../model/data-problem-names.js'
import { instantFromMs } from '../model/instant.js'
import type { LeftOut, RunCommand, RunFacts, RunReport, RunStatus } from '../model/run.js'
import { countedDrift } from '../model/run-record.js'
import type { RunDependencies, RunRules, RunState } from './run-state.js'

/** The facts from which the outcome of a sync follows. */
type EndOfRun = Pick<RunState, 'stopped' | 'ended' | 'discovery' | 'repeated' | 'begunAt'> &
  Pick<RunReport, 'surveysFailed'> &
  Omit<RunFacts, 'failingSurveys' | 'rejections'>

export interface OutcomeRules extends Pick<RunRules, 'contract'> {
  readonly limits: Pick<RunRules['limits'], 'rejected_rows_max'>
}

export type Outcome = Pick<RunReport, 'exitCode' | 'status' | 'reason' | 'errorCode' | 'hasFailures'>

/** The reason names every problem of the run. */
export const outcomeOf = (facts: EndOfRun, rules: OutcomeRules): Outcome => {
  const { ended, stopped, begunAt, discovery, repeated, rejectedRows, surveysFailed, leftOver, failing } =
    facts
  const problems = [
    ended === null ? null : { exitCode: ended.exitCode, text: ended.message, isFailure: true },
    rejectedRows > rules.limits.rejected_rows_max
      ? data(
          `${counted(rejectedRows, 'row')} could not be typed and went to quarantine (_sync.rejected_rows)`,
        )
      : null,
    contractBroken(facts, rules),
    stopped === null ? null : stop(stopped),
    // Otherwise nobody would learn of a service that lets every night wait until its end.
    stopped === null || begunAt !== null ? null : failure('no request succeeded'),
    discovery === 'drifted' ? failure(driftedText(repeated)) : null,
    discovery === 'interrupted' ? stop('the next run continues the listing') : null,
    ...leftOutReasons(facts),
    surveysFailed === 0 ? null : failure(`${counted(surveysFailed, 'survey')} failed`),
  ].filter((reason) => reason !== null)
  // Surveys that are still queued make a run without problems partial.
  if (problems.length === 0 && leftOver > 0)
    problems.push(
      failing === 0
        ? stop('not all queued surveys were read')
        : failure(`${counted(failing, 'survey')} could not be read`),
    )
  const outcome = outcomeFrom(problems)
  // A survey that an earlier run could not read is still unread when a budget ends this run.
  return {
    ...outcome,
    errorCode: ended?.exitCode === outcome.exitCode ? ended.code : null,
    hasFailures: outcome.hasFailures || failing > 0,
  }
}

const leftOutReasons = ({
  surveysLeftOut: leftOut,
  surveysUnconfirmed: vanished,
  ...ofSources
}: LeftOut): readonly (Reason | null)[] => [
  leftOut === 0
    ? null
    : failure(
        `the list leaves out ${counted(leftOut, 'survey that still answers', 'surveys that still answer')}`,
      ),
  ofSources.sourcesLeftOut === 0 ? null : failure(sourcesLeftOutText(ofSources)),
  vanished === 0
    ? null
    : failure(
        `${counted(vanished, 'survey')} vanished from the list at once; they are missing when the next full listing agrees`,
      ),
]

const sourcesLeftOutText = ({
  sourcesLeftOut,
  surveysWithLeftOut,
  firstWithLeftOut,
}: Omit<LeftOut, 'surveysLeftOut' | 'surveysUnconfirmed'>): string => {
  const leftOut = counted(sourcesLeftOut, 'source that still answers', 'sources that still answer')
  return surveysWithLeftOut === 1
    ? `the list of sources of survey ${firstWithLeftOut} leaves out ${leftOut}`
    : `the lists of sources of ${surveysWithLeftOut} surveys leave out ${leftOut}`
}

const driftedText = (repeated: string | null): string =>
  repeated === null
    ? 'surveys kept moving between the pages of the listing, so it does not count, and the next run repeats it'
    : `the list of surveys shows ${repeated}, and fewer surveys than it announces, so the listing does not count. Report this to the owner of the API`

/** A replay sends no requests. Surveys that it queued are work of the next sync, and do not make it partial. */
export const replayOutcomeOf = (
  facts: Pick<EndOfRun, 'stopped' | 'driftEvents' | 'drift'> & { readonly waiting: number },
  rules: OutcomeRules,
): Outcome => {
  const { waiting, stopped } = facts
  const reasons = [
    // After a signal, rows that were not tried yet may still be typed.
    stopped === null && waiting > rules.limits.rejected_rows_max
      ? data(`${counted(waiting, 'row')} still cannot be typed (_sync.rejected_rows)`)
      : null,
    contractBroken(facts, rules),
    stopped === null ? null : stop(stopped),
  ]
  return outcomeFrom(reasons.filter((reason) => reason !== null))
}

interface Reason {
  readonly exitCode: ExitCode
  readonly text: string
  readonly isFailure: boolean
}

const data = (text: string): Reason => ({ exitCode: EXIT_CODES.data, text, isFailure: true })
const stop = (text: string): Reason => ({ exitCode: EXIT_CODES.partial, text, isFailure: false })
const failure = (text: string): Reason => ({ exitCode: EXIT_CODES.partial, text, isFailure: true })

const outcomeFrom = (reasons: readonly Reason[]): Outcome => ({
  ...worstOf(reasons),
  reason: reasons.length === 0 ? null : reasons.map(({ text }) => text).join('; '),
  errorCode: null,
  hasFailures: reasons.some(({ isFailure }) => isFailure),
})

/** The exit code of the highest rank, with its status. */
export const worstOf = (ends: readonly Pick<Outcome, 'exitCode'>[]): Pick<Outcome, 'exitCode' | 'status'> => {
  const exitCode = ends.map((end) => end.exitCode).reduce(worseOf, EXIT_CODES.complete)
  return { exitCode, status: STATUSES.get(exitCode) ?? 'failed' }
}

const STATUSES: ReadonlyMap<ExitCode, RunStatus> = new Map([
  [EXIT_CODES.complete, 'complete'],
  [EXIT_CODES.partial, 'partial'],
])

/** The most drift events that a reason names, so that it fits on one line. */
const DRIFT_NAMED_MAX = 3

/** Names the first drift events, as in `survey.priority, survey.status "archived", …; `. */
const contractBroken = (
  { driftEvents, drift }: Pick<RunFacts, 'driftEvents' | 'drift'>,
  { contract }: OutcomeRules,
): Reason | null => {
  if (contract !== 'freeze' || driftEvents === 0) return null
  const named = drift.slice(0, DRIFT_NAMED_MAX).map(driftName)
  const more = driftEvents > named.length ? ['…'] : []
  const names = named.length === 0 ? '' : `${[...named, ...more].join(', ')}; `
  return data(`${countedDrift(driftEvents)} under contract: freeze (${names}_sync.drift_events)`)
}

/** Reports a run, and records it. `ownOf` gives the outcome, and the fields that only its command has. */
export const finishRun = async (
  { warehouse, runId, only }: Pick<RunDependencies, 'warehouse' | 'runId' | 'only'>,
  { command, span, state }: { readonly command: RunCommand; readonly span: Span; readonly state: RunState },
  ownOf: (facts: RunFacts) => Outcome & Partial<RunReport>,
): Promise<RunReport> => {
  const { cursor } = await warehouse.position()
  const facts = await warehouse.runFacts(runId, only)
  const { surveysWithLeftOut, firstWithLeftOut, ...reported } = facts
  const report: RunReport = {
    runId,
    account: warehouse.account,
    command,
    startedAt: instantFromMs(span.startedMs),
    endedAt: instantFromMs(span.endMs()),
    listing: state.listing,
    cursorBefore: cursor,
    cursorAfter: cursor,
    requestsEstimated: null,
    requests: 0,
    retries: 0,
    rateLimited: 0,
    paceIntervalMs: null,
    requestUsage: state.requestUsage.entries(),
    ...state.counts,
    ...reported,
    rowsByTable: state.rows,
    replayed: null,
    ...ownOf(facts),
  }
  await warehouse.finishRun(report)
  return report
}
