/** How much of the past is kept: a pure rule over two clocks. */
import type { Instant } from './instant.js'
import { instantFromMs, minusMs } from './instant.js'
import type { HistoryRules } from './run.js'

const DAY_MICROS = 86_400_000_000n

/**
 * Up to when progress history may be compacted: a midnight of UTC, for a day is compacted as a whole or not at all; null
 * where everything is kept. Of the server's clock and ours the slower one is believed: what goes does not come back.
 */
export const compactBefore = (serverTime: Instant, nowMs: number, rules: HistoryRules): Instant | null => {
  if (rules.progressKeepAllForMs === null) return null
  const ours = instantFromMs(nowMs)
  const limit = minusMs(serverTime < ours ? serverTime : ours, rules.progressKeepAllForMs)
  return limit < 0n ? null : limit - (limit % DAY_MICROS)
}
