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
