/** What the local half of `verify` has checked and what it found. */

import { z } from 'zod'

/** One thing that is wrong in a published state: what, where, how often, an example, and what to do. */
const problemSchema = z.object({
  /** Stable name of the rule, for programs. */
  rule: z.string(),
  /** Path of the published state. */
  state: z.string(),
  /** Table, view or file. */
  where: z.string(),
  says: z.string(),
  /** Rows or files that break the rule. */
  count: z.number(),
  /** One of them. */
  example: z.string(),
  advice: z.string(),
})
export type Problem = Readonly<z.output<typeof problemSchema>>

/** As one process sends it to another. */
export const proofSchema = z.object({
  /** Rules, files and partitions that were checked. */
  checks: z.number(),
  /** Paths of the published states that were checked. */
  states: z.array(z.string()).readonly(),
  problems: z.array(problemSchema).readonly(),
  /** What was left out, and why. */
  notes: z.array(z.string()).readonly(),
})
export type LocalProof = Readonly<z.output<typeof proofSchema>>

/** What one of its checks adds. */
export type Checked = Pick<LocalProof, 'checks' | 'problems'>

export const NOTHING: LocalProof = { checks: 0, states: [], problems: [], notes: [] }

/** Adds the findings of both. */
export const together = (one: LocalProof, other: Partial<LocalProof>): LocalProof => ({
  checks: one.checks + (other.checks ?? 0),
  states: [...one.states, ...(other.states ?? [])],
  problems: [...one.problems, ...(other.problems ?? [])],
  notes: [...one.notes, ...(other.notes ?? [])],
})

/** The work database is the source of every published state. */
export const PUBLISH_AGAIN =
  'Run fieldwork-sync sync, which publishes anew from the work database. If it stays, restore a backup, and report it'

export const damaged = (state: string, example: string): Problem => ({
  rule: 'state_can_be_read',
  state,
  where: 'files',
  says: 'the state is damaged',
  count: 1,
  example,
  advice: PUBLISH_AGAIN,
})

/** One problem for all these files; none without files. */
export const problemOfFiles = (
  state: string,
  { rule, says }: Pick<Problem, 'rule' | 'says'>,
  paths: readonly string[],
  advice = PUBLISH_AGAIN,
): readonly Problem[] => {
  const [first] = paths
  return first === undefined
    ? []
    : [{ rule, state, where: 'files', says, count: paths.length, example: first, advice }]
}
