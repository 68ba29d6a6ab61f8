/** How much history is kept: a pure rule over two clocks. */
import { type Instant, instantFromMs, minusMs } from '../model/instant.js'
import type { HistoryRules } from '../model/run.js'

const DAY_MICROS = 86_400_000_000n

/**
 * The time up to which progress history may be compacted; null to keep everything. The time is a midnight of UTC, because a day is
 * compacted as a whole. It follows from the slower of the server's clock and ours, because removed rows do not come back.
 */
export const compactBefore = (serverTime: Instant, nowMs: number, rules: HistoryRules): Instant | null => {
  if (rules.progress_keep_all_for === null) return null
  const ours = instantFromMs(nowMs)
  const limit = minusMs(serverTime < ours ? serverTime : ours, rules.progress_keep_all_for)
  return limit < 0n ? null : limit - (limit % DAY_MICROS)
}
