/** Renamed keys of the settings file. The old names are read until version 0.2. */
import type { Path } from './tree.js'

/** `*` stands for any item of a list. */
const FORMER_KEYS: ReadonlyMap<string, string> = new Map([
  ['accounts.*.share', 'weight'],
  ['accounts.*.rate_limit.shared_unreachable', 'shared_fallback'],
  ['refresh.weights.live', 'active'],
])

/** The current name of the key `written` in the section at `path`. */
export const currentKey = (path: Path, written: string): string =>
  FORMER_KEYS.get([...path.map((step) => (typeof step === 'number' ? '*' : step)), written].join('.')) ??
  written
