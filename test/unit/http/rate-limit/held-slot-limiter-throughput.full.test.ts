/** Held slots use nearly all of the cap while there is work. */

import { expect, test } from 'vitest'
import { json, startClient, startServer, worstWindow } from '../server-and-client.js'

test('a client keeps the cap in every window and uses 97 % of the possible requests', async () => {
  const [cap, perMs, windows] = [60, 4_000, 2]
  await using server = await startServer((_, response) => {
    setTimeout(() => json(response, {}), 20)
  })
  await using client = startClient(server.baseUrl, { rate: { requests: cap, perMs } })
  await Promise.all(Array.from({ length: cap * windows + 1 }, () => client.get()))
  expect(server.arrivals).toHaveLength(cap * windows + 1)
  expect(worstWindow(server.arrivals, perMs)).toBeLessThanOrEqual(cap)
  const latencies = client.lines.filter(({ message }) => message === 'request').map(({ fields }) => fields.ms)
  const meanMs = latencies.reduce((sum: number, ms) => sum + Number(ms), 0) / latencies.length
  // A busy machine sends requests late. A slot that is held for longer than necessary is late in every window.
  const times = server.arrivals.map(({ atMs }) => atMs)
  const used = perMs / Math.min(...times.slice(cap).map((atMs, first) => atMs - (times[first] ?? Number.NaN)))
  expect(used / (perMs / (perMs + meanMs))).toBeGreaterThanOrEqual(0.97)
})
