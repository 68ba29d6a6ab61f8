/** The cap of one account: a window of the kind that was asked for, where it begins, and who else spends of it. */
import { fixedWindow } from './fixed-window.js'
import { withForeignLoad } from './foreign-load.js'
import type { RateLimit, RateWindow, RateWindowKind } from './rate-window.js'
import { slidingCounter } from './sliding-counter.js'
import { slidingLog } from './sliding-log.js'

export interface CapSettings {
  readonly rateWindow: RateWindowKind
  readonly rateLimit: RateLimit
  /** How far into a fixed window the server starts, milliseconds; only `fixed` and `sliding-counter` have such. */
  readonly ratePhase: number
  /** Requests a window that somebody else makes, below the cap; 0 is nobody. */
  readonly foreignLoad: number
}

export interface AccountCap {
  /**
   * Takes one request that arrives at `nowMs`, milliseconds on a clock that never goes back. Returns 0 when it is
   * accepted; else after how many milliseconds one will be, if no other comes before it.
   */
  admit(nowMs: number): number
}

/** `startMs` is when the server started. */
export const createAccountCap = (settings: CapSettings, startMs: number): AccountCap => {
  const { rateWindow, rateLimit, ratePhase, foreignLoad } = settings
  if (rateWindow === 'none') return { admit: () => 0 }
  const alone = WINDOWS[rateWindow](rateLimit)
  const window = foreignLoad === 0 ? alone : withForeignLoad(alone, foreignLoad, rateLimit, ratePhase)
  return {
    admit: (nowMs) => {
      const windowMs = nowMs - startMs + ratePhase
      const waitMs = window.opensAtMs(windowMs) - windowMs
      if (waitMs > 0) return waitMs
      window.take(windowMs)
      return 0
    },
  }
}

const WINDOWS: Readonly<Record<Exclude<RateWindowKind, 'none'>, (limit: RateLimit) => RateWindow>> = {
  sliding: slidingLog,
  fixed: fixedWindow,
  'sliding-counter': slidingCounter,
}
