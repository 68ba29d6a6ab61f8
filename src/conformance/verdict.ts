/**
 * What can be said of a rule once the service has been looked at, and what a rule is. A rule that could not be looked
 * at is neither kept nor broken, and says why.
 */
import type { Evidence } from './read/evidence.js'

export type Verdict =
  | { readonly verdict: 'pass'; readonly note?: string }
  | ({ readonly verdict: 'fail' } & Failure)
  | { readonly verdict: 'not_observable'; readonly reason: string }

/** What was asked, what should have come, and what came: each short, and without secrets. */
export interface Failure {
  readonly asked: string
  readonly expected: string
  readonly got: string
}

/** One rule of the API document. */
export interface Rule {
  /** Stable, for machines: `paging.next`. */
  readonly id: string
  /** The heading of the API document under which it stands. */
  readonly section: string
  /** What it says, in a line. */
  readonly text: string
  /** May ask the service. Throws `Unseen` where it cannot be looked at. */
  readonly check: (evidence: Evidence) => Verdict | Promise<Verdict>
  /** Looks only at what the other rules have read, so it comes after them. */
  readonly passive?: true
  /** Takes so many requests that everything else comes first. */
  readonly last?: true
}

/** What the service does where the API document is silent. */
export interface Observation {
  readonly topic: string
  readonly section: string
  readonly observe: (evidence: Evidence) => string | Promise<string>
  /** Comes after all rules. */
  readonly last?: true
}

export const PASS: Verdict = { verdict: 'pass' }
export const passWith = (note: string): Verdict => ({ verdict: 'pass', note })
export const fail = (asked: string, expected: string, got: string): Verdict => ({
  verdict: 'fail',
  asked,
  expected,
  got,
})
export const unseen = (reason: string): Verdict => ({ verdict: 'not_observable', reason })

/**
 * Holds each of `items` to a rule. `problemOf` tells what is wrong with one, null when nothing is, `skip` when
 * the rule says nothing about it. Fails with the first problem, counting the rest.
 */
export const holdEach = <Item>(
  items: readonly Item[],
  problemOf: (item: Item) => Failure | null | 'skip',
  nothing: string,
): Verdict => {
  let held = 0
  const problems: Failure[] = []
  for (const item of items) {
    const problem = problemOf(item)
    if (problem === 'skip') continue
    held += 1
    if (problem !== null) problems.push(problem)
  }
  if (held === 0) return unseen(nothing)
  const [first, ...more] = problems
  if (first === undefined) return PASS
  return {
    verdict: 'fail',
    ...first,
    got: more.length === 0 ? first.got : `${first.got} (and ${more.length} more)`,
  }
}
