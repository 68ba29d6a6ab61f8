/** What the status of a survey says about its interviews. */

/** Nobody answers these surveys. They are refreshed only when they change. */
export const IDLE_STATUSES: readonly string[] = ['draft', 'user_demo']
export const isIdle = (status: string): boolean => IDLE_STATUSES.includes(status)

/** The only statuses that are known to be inactive. */
export const INACTIVE_STATUSES: readonly string[] = [...IDLE_STATUSES, 'complete']

/** A status that this version does not know counts as active: better a request too many than a stale row. */
export const isActive = (status: string): boolean => !INACTIVE_STATUSES.includes(status)
