/** How long requests take at the cap, and how many fit into a time. Assumes bursts of the whole cap, one per window, without the limiter's margin. */
import type { Rate } from '../base/network.js'

/** From the first send to the last, milliseconds, if the server answers at once. */
export const timeAtCapMs = (requests: number, { requests: cap, perMs }: Rate): number =>
  requests <= 0 ? 0 : Math.floor((requests - 1) / cap) * perMs

/** Requests that can be sent within a time. */
export const requestsWithin = (durationMs: number, { requests: cap, perMs }: Rate): number =>
  (Math.floor(durationMs / perMs) + 1) * cap
