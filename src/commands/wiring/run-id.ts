/** The id of a run: of its records, of what it publishes, and of the holder of a bucket. */
import { randomBytes } from 'node:crypto'

/** Ids sort by time, and are unique even if two runs start in the same second. */
export const newRunId = (nowMs: number): string =>
  `${new Date(nowMs).toISOString().slice(0, 19).replaceAll(/[-:]/g, '')}Z-${randomBytes(3).toString('hex')}`
