/**
 * The action for each response status, as a table. The API document names only 429; the rest follows HTTP. A status that is
 * not in the table is a failure without a retry.
 */
export type StatusAction =
  /** The body is the answer. */
  | 'parse'
  /** The rate cap is exceeded (API document, "Errors"): a pause, then the same request again. */
  | 'pause'
  /** A retry may succeed. */
  | 'retry'
  /** The credentials may not read this address; they may still read others. */
  | 'refuse_credentials'
  /** Credentials are never sent to the target of a redirect. */
  | 'refuse_redirect'
  /** The resource does not exist; the caller decides what follows. */
  | 'not_found'
  /** This request is wrong; others may succeed. */
  | 'reject'
  /** Not a status that this API gives. */
  | 'unknown'

const BY_STATUS: ReadonlyMap<number, StatusAction> = new Map<number, StatusAction>([
  [200, 'parse'],
  [401, 'refuse_credentials'],
  [403, 'refuse_credentials'],
  [404, 'not_found'],
  [408, 'retry'],
  [429, 'pause'],
])

const BY_CLASS: ReadonlyMap<number, StatusAction> = new Map<number, StatusAction>([
  [3, 'refuse_redirect'],
  [4, 'reject'],
  [5, 'retry'],
])

export const statusAction = (status: number): StatusAction =>
  BY_STATUS.get(status) ?? BY_CLASS.get(Math.floor(status / 100)) ?? 'unknown'
