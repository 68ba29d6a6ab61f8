/** The cap of one account: which window counts its requests, where it begins, and who else uses it. */
import { withForeignLoad } from './foreign-load.js'
import {
  fixedWindow,
  type RateLimit,
  type RateWindow,
  type RateWindowKind,
  slidingCounter,
  slidingLog,
} from './rate-window.js'

export interface CapSettings {
  readonly rateWindow: RateWindowKind
  readonly rateLimit: RateLimit
  /** How far into a window the server starts, milliseconds; only `fixed` and `sliding-counter` have fixed borders. */
  readonly ratePhase: number
  /** Requests per window that somebody else makes, below the cap; 0 is nobody. */
  readonly foreignLoad: number
}

export interface AccountCap {
  /**
   * Takes one request that arrives at `nowMs`, milliseconds on a clock that never goes back. Returns 0 when it is
   * accepted; otherwise the milliseconds after which one will be, if no other comes before it.
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
