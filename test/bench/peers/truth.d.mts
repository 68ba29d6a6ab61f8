export type Tables = Readonly<Record<string, Map<string, Readonly<Record<string, unknown>>>>>

export interface Differences {
  readonly rows: number
  readonly missing: number
  readonly gone: number
  readonly different: number
  readonly examples: readonly string[]
}

export declare const rowsOfTruth: (truth: object) => Tables

export declare const rowsOfFile: (file: string, queries: Readonly<Record<string, string>>) => Promise<Tables>

export declare const differences: (truth: Tables, stored: Tables) => Differences
