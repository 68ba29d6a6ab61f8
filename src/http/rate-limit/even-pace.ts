/**
 * How far apart requests have to be for a server that is stricter than "at most so many in any window": one that
 * counts with two counters, as many proxies do. Such a counter cuts time into spans of the window's length, and adds to the
 * requests of this span those of the span before, by the part of it that a window would still cover.
 *
 * Let N be the cap, W the window, and arrivals never closer together than evenly: the nth after another comes at least
 * n·s - J after it, where s is the distance and J what the network and our timers may take away of it. **With
 * s = (W + J) / (N - 1), N at least 2, J at most s, no such counter ever refuses, wherever its spans begin.** For let P be the
 * arrivals of the span before, and let k of this span have come before the one that asks, at the part f of the span. It is
 * refused where P·(1 - f) + k + 1 > N. Let m = W/s; then m·(1 + J/W) = N - 1.
 * - P is at most N - 1: its last arrival is less than W after its first, so (P - 1)·s - J < W.
 * - k = 0: P + 1 is at most N.
 * - k > 0, P at most m: the one that asks comes k·s - J after the first of its span, so f is at least k/m - J/W, and the sum at
 *   most P·(1 - k/m + J/W) + k + 1. It grows with P; for P = m it is m·(1 + J/W) + 1 = N.
 * - k > 0, P more than m: it comes (P + k)·s - J after the first of the span before, so f is at least (P + k)/m - J/W - 1, and the sum at
 *   most P·(2 + J/W - (P + k)/m) + k + 1. For P = m that is N again, and from there it falls: its top is at
 *   m·(1 + J/2W) - k/2, which is not above m while J is at most s.
 *
 * Closer is not possible: a span after a full one takes N - 1, and so on for ever. With N = 1 a request fills its own
 * span and the next, so two have to be 2·W apart.
 */

/** The cap: at most `requests` in `perMs` milliseconds. */
export interface Cap {
  readonly requests: number
  readonly perMs: number
}

/** What is taken off for arrivals that come closer together than they were meant to, for all of a window and not for each. */
const SPREAD_MS_MAX = 250

/** J above: by how much less than evenly requests may be apart, milliseconds. */
export const spreadMs = ({ requests, perMs }: Cap): number => Math.min(SPREAD_MS_MAX, perMs / (2 * requests))

/** As many requests a window as a counter of that cap always takes when they come evenly. */
export const evenShare = ({ requests }: Cap): number => (requests === 1 ? 0.5 : requests - 1)

/** The distance between requests, milliseconds, for so many of them a window: `evenShare` or fewer. */
export const intervalMs = (cap: Cap, share: number): number => (cap.perMs + spreadMs(cap)) / share

/**
 * Whether a counter of that cap could have refused the last of these requests, given when they were sent, all of them in the last
 * two windows. What it counts lies in its span and the one before, so up to the cap none can. Then somebody else spends of
 * the cap, or it is lower than it is said to be, or the server has troubles of its own.
 */
export const counterMayRefuse = ({ requests }: Cap, sentInTwoWindows: number): boolean =>
  sentInTwoWindows > requests
