/**
 * What each status asks us to do, as a table. The API document names only 429; everything else is our reading
 * of HTTP, and what the table does not know fails instead of being tried again.
 */
export type StatusAction =
  /** The body is the answer. */
  | 'parse'
  /** The rate cap is exceeded (API document, "Errors"): no traffic for a while, then the same request again. */
  | 'pause'
  /** It may work in a moment. */
  | 'retry'
  /** The credentials may not read this address; they may still read others. */
  | 'refuse_credentials'
  /** Credentials never follow a redirect. */
  | 'refuse_redirect'
  /** What was asked for is not there; the caller knows what that means. */
  | 'not_found'
  /** This request is wrong, others may be right. */
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
