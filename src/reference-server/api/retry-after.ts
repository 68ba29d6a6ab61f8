/** How an answer 429 tells when to come back: the API document leaves it open ("Errors"), and services differ. */

export const RETRY_AFTER_STYLES = ['seconds', 'date', 'none'] as const

export type RetryAfterStyle = (typeof RETRY_AFTER_STYLES)[number]
