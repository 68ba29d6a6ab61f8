/**
 * A server that counts as it is told and takes its time to answer, with no network in between: under fake timers the real
 * client works for ten minutes in no time. What counts is the window of the reference server.
 */
import { Readable } from 'node:stream'
import type { CreateTransport } from '../../../../src/http/transport.js'
import { type CapSettings, createAccountCap } from '../../../../src/reference-server/api/account-cap.js'

export interface SimulatedServer {
  readonly createTransport: CreateTransport
  /** Of every request, accepted or not. */
  readonly arrivals: { readonly atMs: number; readonly accepted: boolean }[]
}

export interface SimulatedServerOptions extends Partial<CapSettings> {
  /** Of one request: there, and as long back again. Called once for each. */
  readonly latencyMs?: () => number
  /** Whether a 429 tells when to come back; it does unless said. */
  readonly retryAfter?: boolean
}

export const MINUTE: CapSettings['rateLimit'] = { requests: 60, perMs: 60_000 }

export const simulateServer = ({
  latencyMs = () => 40,
  retryAfter = true,
  ...settings
}: SimulatedServerOptions = {}): SimulatedServer => {
  const cap = createAccountCap(
    { rateWindow: 'sliding', rateLimit: MINUTE, ratePhase: 0, foreignLoad: 0, ...settings },
    performance.now(),
  )
  const arrivals: SimulatedServer['arrivals'] = []
  const after = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms))
  return {
    arrivals,
    createTransport: () => ({
      get: async () => {
        const thereMs = latencyMs() / 2
        await after(thereMs)
        const waitMs = cap.admit(performance.now())
        arrivals.push({ atMs: performance.now(), accepted: waitMs <= 0 })
        await after(thereMs)
        const headers = new Map(
          waitMs > 0 && retryAfter ? [['retry-after', String(Math.ceil(waitMs / 1_000))]] : [],
        )
        return {
          status: waitMs > 0 ? 429 : 200,
          header: (name: string) => headers.get(name) ?? null,
          headerNames: [...headers.keys()],
          body: Readable.from([Buffer.from('{}')]) as Awaited<
            ReturnType<ReturnType<CreateTransport>['get']>
          >['body'],
        }
      },
      destroy: () => Promise.resolve(),
    }),
  }
}
