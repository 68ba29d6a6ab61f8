/**
 * Rules of the API document, observations where it is silent, and verdicts. A rule that cannot be observed is neither
 * kept nor broken: its check throws `Unseen`, and the verdict gives the reason.
 */
import type { Evidence } from './read/evidence.js'

/** `asked`: the request, `got`: what came instead of what was expected. All texts are short and without secrets. */
export type Verdict =
  | { readonly verdict: 'pass'; readonly note?: string }
  | { readonly verdict: 'fail'; readonly asked: string; readonly expected: string; readonly got: string }
  | { readonly verdict: 'not_observable'; readonly reason: string }

/** One rule of the API document. */
export interface Rule {
  /** Stable, for machines: `paging.next`. */
  readonly id: string
  /** The heading of the API document that contains the rule. */
  readonly section: string
  /** The rule in one line. */
  readonly text: string
  /** May send requests. Throws `Unseen` where the rule cannot be observed. */
  readonly check: (evidence: Evidence) => Verdict | Promise<Verdict>
  /** Sends no requests: it is checked after the others, on everything that they have read. */
  readonly passive?: true
  /** Takes many requests, so it is checked after the other rules that send some. */
  readonly last?: true
}

/** Reports the behaviour of the service where the API document is silent. */
export interface Observation {
  readonly topic: string
  readonly section: string
  readonly observe: (evidence: Evidence) => string | Promise<string>
  /** Comes after all rules that send requests. */
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
