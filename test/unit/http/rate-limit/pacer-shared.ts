/** What both test files of pacer use. */
import { vi } from 'vitest'
import { createRandom } from '../../../simulation/random.js'
import { startClient, type TestClient } from '../server-and-client.js'
import {
  MINUTE,
  type SimulatedServer,
  type SimulatedServerOptions,
  simulateServer,
} from './simulated-server.js'

export const WINDOW_MS = 60_000
/** Times from the beginning of a window of the server to the first request. */
export const PHASES = [0, 1, 7_000, 29_000, 40_000, 55_000, 59_500]

interface Trial {
  readonly server: SimulatedServer
  readonly client: TestClient
  /** Requests more than the cap allows for `minutes`. */
  work(minutes: number): Promise<void>
  end(): Promise<void>
}

export const begin = (options: SimulatedServerOptions = {}): Trial => {
  const server = simulateServer(options)
  const client = startClient('http://127.0.0.1:9/api/v1', {
    rate: MINUTE,
    createTransport: server.createTransport,
  })
  let isWorking = true
  const worker = async () => {
    while (isWorking) await client.get()
  }
  return {
    server,
    client,
    work: async (minutes) => {
      const workers = Array.from({ length: 12 }, () => worker().catch(() => undefined))
      await vi.advanceTimersByTimeAsync(minutes * WINDOW_MS)
      isWorking = false
      void workers
    },
    end: async () => {
      isWorking = false
      const closed = client.close()
      await vi.advanceTimersByTimeAsync(WINDOW_MS)
      await closed
    },
  }
}

export const refusedOf = ({ arrivals }: SimulatedServer) =>
  arrivals.filter(({ accepted }) => !accepted).length
export const acceptedOf = ({ arrivals }: SimulatedServer, fromMs: number, toMs: number) =>
  arrivals.filter(({ accepted, atMs }) => accepted && atMs >= fromMs && atMs < toMs).length

/** Cap usage, refusals and pace after ten minutes with a backlog, or fewer. */
export const tenMinutes = async (trial: Trial, minutes = 10) => {
  const startMs = performance.now()
  await trial.work(minutes)
  const used = acceptedOf(trial.server, startMs, startMs + minutes * WINDOW_MS) / (minutes * MINUTE.requests)
  await trial.end()
  return { used, refused: refusedOf(trial.server), pace: trial.client.usage().paceIntervalMs }
}

export const jitter = () => {
  const random = createRandom(7)
  return () => 20 + random.unit() * 160
}
