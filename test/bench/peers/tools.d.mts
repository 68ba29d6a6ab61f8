export interface Tool {
  readonly name: string
  /** A SELECT for each table. */
  readonly queries: Readonly<Record<string, string>>
}

export declare const TOOLS: readonly [Tool, ...Tool[]]
