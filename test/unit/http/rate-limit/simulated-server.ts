/**
 * A server without a network, with a configurable rate window and latency. Under fake timers the real client works for ten
 * simulated minutes at once. The rate windows are those of the reference server.
 */
import type { CreateTransport } from '../../../../src/http/transport.js'
import { type CapSettings, createAccountCap } from '../../../../src/reference-server/api/rate-limit.js'

export interface SimulatedServer {
  readonly createTransport: CreateTransport
  /** The arrival of every request, accepted or not. */
  readonly arrivals: { readonly atMs: number; readonly accepted: boolean }[]
}

export interface SimulatedServerOptions extends Partial<CapSettings> {
  /** The round trip of one request, half of it each way. Called once for each request. */
  readonly latencyMs?: () => number
  /** Whether a 429 has a Retry-After; default true. */
  readonly retryAfter?: boolean
}

export const MINUTE: CapSettings['rateLimit'] = { requests: 60, perMs: 60_000 }

export const simulateServer = ({
  latencyMs = () => 40,
  retryAfter = true,
  ...settings
}: SimulatedServerOptions = {}): SimulatedServer => {
  const admit = createAccountCap(
    { rateWindow: 'sliding', rateLimit: MINUTE, ratePhase: 0, foreignLoad: 0, ...settings },
    performance.now(),
  )
  const arrivals: SimulatedServer['arrivals'] = []
  const after = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms))
  return {
    arrivals,
    createTransport: () => ({
      get: async () => {
        const oneWayMs = latencyMs() / 2
        await after(oneWayMs)
        const waitMs = admit(performance.now())
        arrivals.push({ atMs: performance.now(), accepted: waitMs <= 0 })
        await after(oneWayMs)
        return {
          status: waitMs > 0 ? 429 : 200,
          headers: waitMs > 0 && retryAfter ? { 'retry-after': String(Math.ceil(waitMs / 1_000)) } : {},
          read: async () => Buffer.from('{}'),
          [Symbol.dispose]: () => undefined,
        }
      },
      destroy: () => Promise.resolve(),
    }),
  }
}
