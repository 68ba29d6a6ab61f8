/** How a run has ended, from what happened in it: exit code, status and one line of reason. Pure. */
import { EXIT_CODES, type ExitCode } from '../base/errors.js'
import { driftName } from '../model/data-problem-names.js'
import type { MetDrift, RunReport, RunStatus } from '../model/run.js'
import type { RunState } from './run-state.js'

export type RunFacts = Pick<RunState, 'stopped' | 'ended' | 'discovery'> &
  Pick<RunReport, 'surveysFailed' | 'leftOver' | 'failing' | 'rejectedRows' | 'driftEvents' | 'drift'>

export interface OutcomeRules {
  readonly rejectedRowsMax: number
  readonly contract: 'evolve' | 'freeze'
}

export interface Outcome {
  readonly exitCode: ExitCode
  readonly status: RunStatus
  readonly reason: string | null
}

/** Several at once: 4, 5, 3 in this order (7 ends a run by itself). The reason names them all. */
export const outcomeOf = (facts: RunFacts, rules: OutcomeRules): Outcome => {
  const found = [...endedEarly(facts), ...dataProblems(facts, rules), ...unfinished(facts)]
  return outcomeFrom(found.length === 0 ? leftOver(facts) : found)
}

/** A replay asks for nothing: what it queued is for the next sync, and leaves nothing undone. */
export const replayOutcomeOf = (
  facts: Pick<RunFacts, 'stopped' | 'driftEvents' | 'drift'> & { readonly waiting: number },
  rules: OutcomeRules,
): Outcome => {
  const { waiting, stopped } = facts
  return outcomeFrom([
    // Of those that a signal left untried nobody knows.
    ...(stopped === null && waiting > rules.rejectedRowsMax
      ? [data(`${count(waiting, 'row')} still cannot be typed (_sync.rejected_rows)`)]
      : []),
    ...contractBroken(facts, rules),
    ...(stopped === null ? [] : [partial(stopped)]),
  ])
}

/** The worst comes first. */
const outcomeFrom = (reasons: readonly Reason[]): Outcome => {
  const worst = reasons[0]
  if (worst === undefined) return { exitCode: EXIT_CODES.complete, status: 'complete', reason: null }
  return {
    exitCode: worst.exitCode,
    status: worst.exitCode === EXIT_CODES.partial ? 'partial' : 'failed',
    reason: reasons.map(({ text }) => text).join('; '),
  }
}

/** Several accounts: the first of these that any of them ended with. */
const PRECEDENCE: readonly ExitCode[] = [
  EXIT_CODES.warehouse,
  EXIT_CODES.upstream,
  EXIT_CODES.data,
  EXIT_CODES.partial,
  EXIT_CODES.complete,
]

export const worstOf = (
  reports: readonly Pick<Outcome, 'exitCode' | 'status'>[],
): Pick<Outcome, 'exitCode' | 'status'> => {
  const exitCode = PRECEDENCE.find((code) => reports.some((report) => report.exitCode === code))
  const worst = reports.find((report) => report.exitCode === exitCode)
  return { exitCode: worst?.exitCode ?? EXIT_CODES.complete, status: worst?.status ?? 'complete' }
}

interface Reason {
  readonly exitCode: ExitCode
  readonly text: string
}

const endedEarly = ({ ended }: RunFacts): readonly Reason[] =>
  ended === null ? [] : [{ exitCode: ended.exitCode, text: ended.message }]

const data = (text: string): Reason => ({ exitCode: EXIT_CODES.data, text })

const dataProblems = (facts: RunFacts, rules: OutcomeRules): readonly Reason[] => {
  const { rejectedRows } = facts
  const rejected = `${count(rejectedRows, 'row')} could not be typed and went to quarantine (_sync.rejected_rows)`
  return [...(rejectedRows > rules.rejectedRowsMax ? [data(rejected)] : []), ...contractBroken(facts, rules)]
}

const contractBroken = (
  { driftEvents, drift }: Pick<RunFacts, 'driftEvents' | 'drift'>,
  { contract }: OutcomeRules,
): readonly Reason[] =>
  contract === 'freeze' && driftEvents > 0
    ? [
        data(
          `${count(driftEvents, 'difference from the API document', 'differences from the API document')} under contract: freeze (${namesOf(drift, driftEvents)}_sync.drift_events)`,
        ),
      ]
    : []

/** `survey.priority, survey.status "archived", …; ` */
const namesOf = (drift: readonly MetDrift[], all: number): string => {
  const named = drift.slice(0, NAMED_MAX).map(driftName)
  if (named.length === 0) return ''
  return `${[...named, ...(all > named.length ? ['…'] : [])].join(', ')}; `
}

/** The reason is one line. */
const NAMED_MAX = 3

const partial = (text: string): Reason => ({ exitCode: EXIT_CODES.partial, text })

/** Where nothing else says why: whatever is still queued makes a run partial. */
const leftOver = ({ leftOver: left, failing }: RunFacts): readonly Reason[] => {
  if (left === 0) return []
  const why = failing === 0 ? '' : `, ${failing} of them could not be read (freshness.last_error)`
  return [partial(`${count(left, 'survey')} left in the queue${why}`)]
}

const unfinished = (facts: RunFacts): readonly Reason[] => {
  const { stopped, discovery, surveysFailed } = facts
  return [
    ...(stopped === null ? [] : [partial(stopped)]),
    ...(discovery === 'drifted'
      ? [partial('surveys kept moving between the pages of the listing, so the cursor was not moved')]
      : []),
    ...(discovery === 'interrupted' ? [partial('the listing goes on in the next run')] : []),
    ...(surveysFailed === 0
      ? []
      : [partial(`${count(surveysFailed, 'survey')} failed (freshness.last_error)`)]),
  ]
}

const count = (number: number, one: string, many = `${one}s`): string =>
  `${number} ${number === 1 ? one : many}`
