/** What the status of a survey says about its interviews. */

/** Surveys that nobody answers: refreshed only when they change. */
const IDLE_STATUSES: readonly string[] = ['draft', 'user_demo']
export const isIdle = (status: string): boolean => IDLE_STATUSES.includes(status)

/** The only statuses that are known not to be live. */
export const STATUSES_NOT_LIVE: readonly string[] = [...IDLE_STATUSES, 'complete']

/** A status that this version does not know counts as live: better a request too many than a stale row. */
export const isLive = (status: string): boolean => !STATUSES_NOT_LIVE.includes(status)
