/** The result of the local checks of `verify`. */

import { sum } from 'd3-array'
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
  /** One of these rows or files. */
  example: z.string(),
  advice: z.string(),
})
export type Problem = Readonly<z.output<typeof problemSchema>>

/** The proof in the form in which one process sends it to another. */
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

/** The part of a proof that one check adds. */
export type Checked = Partial<LocalProof>

/** The proof of all checks together. */
export const together = (...checked: readonly Checked[]): LocalProof => ({
  checks: sum(checked.map(({ checks = 0 }) => checks)),
  states: checked.flatMap(({ states = [] }) => states),
  problems: checked.flatMap(({ problems = [] }) => problems),
  notes: checked.flatMap(({ notes = [] }) => notes),
})

/** The work database is the source of every published state. */
export const PUBLISH_AGAIN =
  'Run fieldwork-sync sync, which publishes anew from the work database. If it stays, restore a backup, and report it'

export const damaged = (state: string, example: string): readonly Problem[] =>
  problemOfFiles(state, { rule: 'state_can_be_read', says: 'the state is damaged' }, [example])

/** One problem for all these files; none without files. `where` is their table if all files belong to one table. */
export const problemOfFiles = (
  state: string,
  { rule, says, where = 'files' }: Pick<Problem, 'rule' | 'says'> & { readonly where?: string },
  paths: readonly string[],
  advice = PUBLISH_AGAIN,
): readonly Problem[] => {
  const [example] = paths
  return example === undefined ? [] : [{ rule, state, where, says, count: paths.length, example, advice }]
}
