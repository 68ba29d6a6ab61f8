/** What the local half of `verify` has checked and what it found. */

/** One thing that is wrong in a published state: what, where, how often, an example, and what to do. */
export interface Problem {
  /** Stable name of the rule, for programs. */
  readonly rule: string
  /** Path of the published state. */
  readonly state: string
  /** Table, view or file. */
  readonly where: string
  readonly says: string
  /** Rows or files that break the rule. */
  readonly count: number
  /** One of them. */
  readonly example: string
  readonly advice: string
}

export interface LocalProof {
  /** Rules, files and partitions that were checked. */
  readonly checks: number
  /** Paths of the published states that were checked. */
  readonly states: readonly string[]
  readonly problems: readonly Problem[]
  /** What was left out, and why. */
  readonly notes: readonly string[]
}

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
