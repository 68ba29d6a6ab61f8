import { randomBytes } from 'node:crypto'

/** Sorts by time, and is unique where two runs begin in the same second. */
export const newRunId = (nowMs: number): string =>
  `${new Date(nowMs).toISOString().slice(0, 19).replaceAll(/[-:]/g, '')}Z-${randomBytes(3).toString('hex')}`
