/**
 * Chooses the surveys of a sample, weighted and without replacement (Efraimidis and Spirakis): a survey that was read long ago is
 * chosen more often. The choice follows from the seed and the published state, so it can be repeated. Pure.
 */

import { createHash } from 'node:crypto'
import { DAY_MS } from '../../base/durations.js'
import { type Instant, msBetween } from '../../model/instant.js'

interface Candidate {
  readonly id: number
  /** When its progress was last read, server time. */
  readonly refreshedAt: Instant
}

/** All candidates, in the order in which they are compared. Any first part of the order is itself a weighted sample. */
export const inSampleOrder = <One extends Candidate>(
  candidates: readonly One[],
  { account, seed }: { readonly account: string; readonly seed: string },
): readonly One[] => {
  let newest = 0n
  for (const { refreshedAt } of candidates) if (refreshedAt > newest) newest = refreshedAt
  return candidates
    .map((candidate) => ({
      one: candidate,
      rank: -Math.log(fractionOf(`${seed}/${account}/${candidate.id}`)) / weightOf(candidate, newest),
    }))
    .toSorted((a, b) => a.rank - b.rank || a.one.id - b.one.id)
    .map(({ one }) => one)
}

/**
 * 1, plus the days from the last reading of the survey to the newest reading of any survey. So the choice does not depend on the present
 * time.
 */
const weightOf = ({ refreshedAt }: Candidate, newest: Instant): number =>
  1 + msBetween(refreshedAt, newest) / DAY_MS

const BITS = 48

/** A number above 0 and up to 1, derived from the text. */
const fractionOf = (text: string): number =>
  (createHash('sha256')
    .update(text)
    .digest()
    .readUIntBE(0, BITS / 8) +
    1) /
  2 ** BITS

/**
 * The chance that a sample of `sampled` of `surveys` has at least one of `wrong` wrong surveys. It does not depend on the weights, as
 * long as nothing links the wrong surveys to their ages.
 */
export const chanceToFind = (surveys: number, sampled: number, wrong: number): number => {
  let missed = 1
  for (let index = 0; index < sampled; index += 1)
    missed *= Math.max(0, surveys - wrong - index) / Math.max(1, surveys - index)
  return 1 - missed
}

/** One percent of the surveys, at least one survey. */
export const onePercentOf = (surveys: number): number => Math.max(1, Math.round(surveys / 100))
