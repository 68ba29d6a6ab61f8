/**
 * Verdicts about a service. A rule that cannot be observed is neither kept nor broken: its check throws `Unseen`, and the
 * verdict gives the reason.
 */

/** `asked`: the request. `got`: what the answer had instead of the expected value. All texts are short and without secrets. */
export type Verdict =
  | { readonly verdict: 'pass'; readonly note?: string }
  | { readonly verdict: 'fail'; readonly asked: string; readonly expected: string; readonly got: string }
  | { readonly verdict: 'not_observable'; readonly reason: string }

/** Thrown if the service does not show what a rule or an observation needs. The message is the reason. */
export class Unseen extends Error {}

export const PASS: Verdict = { verdict: 'pass' }
export const passWith = (note: string): Verdict => ({ verdict: 'pass', note })
export const fail = (request: string, expected: string, got: string): Verdict => ({
  verdict: 'fail',
  asked: request,
  expected,
  got,
})
