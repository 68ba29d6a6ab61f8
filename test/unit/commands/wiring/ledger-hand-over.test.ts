/** The cap from pod to pod: which requests of the last run count on another machine. */
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { Secret } from '../../../../src/base/secret.js'
import { handLedgersOn, takeLedgersOver } from '../../../../src/commands/wiring/ledger-hand-over.js'
import { type Ledger, openLedger } from '../../../../src/http/rate-limit/ledger.js'
import { ledgerNames } from '../../../../src/http/rate-limit/ledger-hand-over.js'
import { acquireLease } from '../../../../src/publish/bucket/lease.js'
import { LEASE_MS } from '../../../../src/publish/bucket/lease-time.js'
import type { AccountSettings } from '../../../../src/settings/settings.js'
import { temporaryDirectory } from '../../../support/files/temporary.js'
import { testLog } from '../../../support/log/test-log.js'
import { holderNamed, NEVER, pass } from '../../../support/storage/bucket.js'
import { ModelStore } from '../../../support/storage/model-store.js'
import { testClock } from '../../../support/time/test-clock.js'

const account = (id: number, shared: AccountSettings['shared'] = null): AccountSettings => ({
  name: `account-${id}`,
  baseUrl: 'https://api.example/api/v1',
  id,
  token: new Secret('token-of-the-test'),
  rate: { requests: 60, perMs: 60_000 },
  shared,
  proxy: null,
  weight: 1,
})

/** One machine of a bucket, with its own disk and its own wrong clock. */
const machine = async (model: ModelStore, name: string, wall = '2026-03-01T00:00:00Z') => {
  const clock = testClock(wall)
  const log = testLog()
  const store = model.client()
  const warehouseDirectory = await temporaryDirectory()
  return {
    clock,
    log,
    removeLedgers: () => {
      for (const name of ledgerNames(warehouseDirectory)) rmSync(join(warehouseDirectory, name))
    },
    run: async (accounts: readonly AccountSettings[], ledgersOf: string | null = null) => {
      const acquiring = acquireLease({ store, holder: holderNamed(name), clock, log, signal: NEVER })
      await pass(clock, model.objects.size > 0 ? LEASE_MS + 10_000 : 0)
      const lease = await acquiring
      const handing = { store, lease, settings: { accounts, warehouseDirectory }, clock, log }
      await takeLedgersOver(handing, ledgersOf, NEVER)
      return {
        occupied: (of: AccountSettings) => use(of, (ledger) => ledger.occupiedMs(60).length),
        send: (of: AccountSettings, requests: number) =>
          use(of, (ledger) => {
            for (let sent = 0; sent < requests; sent += 1) ledger.end(ledger.send(), 'answer')
          }),
        end: async () => {
          await lease.release({ ledgers: await handLedgersOn(handing, NEVER), signal: NEVER })
        },
        die: () => lease.release({ ledgers: null, signal: AbortSignal.abort(new Error('killed')) }),
      }
    },
  }

  function use<Result>(owner: AccountSettings, work: (ledger: Ledger) => Result): Result {
    const timing = { perMs: 60_000, requestTimeoutMs: 30_000 }
    const ledger = openLedger({ directory: warehouseDirectory, owner, timing, clock })
    try {
      return work(ledger)
    } finally {
      ledger.close()
    }
  }
}

test('requests of a run count on the next machine, whatever its clock shows', async () => {
  const model = new ModelStore()
  const first = await machine(model, 'RUN-1')
  const run = await first.run([account(1), account(2)])
  run.send(account(1), 40)
  await run.end()
  const second = await machine(model, 'RUN-2', '2031-01-01T00:00:00Z')
  const next = await second.run([account(1), account(2)])
  expect([next.occupied(account(1)), next.occupied(account(2))]).toEqual([40, 0])
  await next.end()
})

test('a run with other accounts hands the ledger of the first one on', async () => {
  const model = new ModelStore()
  const [first, second, third] = [
    await machine(model, 'RUN-1'),
    await machine(model, 'RUN-2'),
    await machine(model, 'RUN-3'),
  ]
  const run = await first.run([account(1)])
  run.send(account(1), 40)
  await run.end()
  await (await second.run([account(2)])).end()
  const last = await third.run([account(1)])
  expect(last.occupied(account(1))).toBe(40)
  await last.end()
})

test('after a killed run each cap counts as used up, but not one that a Redis counts', async () => {
  const model = new ModelStore()
  const first = await machine(model, 'RUN-1')
  const run = await first.run([account(1)])
  run.send(account(1), 3)
  await run.die()
  const shared = account(2, { url: new Secret('redis://127.0.0.1:1'), fallback: null })
  const second = await machine(model, 'RUN-2')
  const next = await second.run([account(1), shared])
  expect([next.occupied(account(1)), next.occupied(shared)]).toEqual([60, 0])
  expect(second.log.lines.map(({ message }) => message)).toContainEqual(
    expect.stringContaining('nobody knows what the last run sent'),
  )
  await next.end()
})

test('the run after a killed one hands its ledger on, so only one run waits for a window', async () => {
  const model = new ModelStore()
  await (await (await machine(model, 'RUN-1')).run([account(1)])).die()
  const second = await machine(model, 'RUN-2')
  const next = await second.run([account(1)])
  await pass(second.clock, 95_000)
  next.send(account(1), 2)
  await next.end()
  const third = await machine(model, 'RUN-3')
  const last = await third.run([account(1)])
  expect(last.occupied(account(1))).toBe(2)
  expect(third.log.lines).toEqual([])
  await last.end()
})

test('what a killed run sent for other accounts is not forgotten by a run in between', async () => {
  const model = new ModelStore()
  const run = await (await machine(model, 'RUN-1')).run([account(1), account(2)])
  run.send(account(2), 40)
  await run.die()
  await (await (await machine(model, 'RUN-2')).run([account(1)])).end()
  const last = await (await machine(model, 'RUN-3')).run([account(2)])
  expect(last.occupied(account(2))).toBe(60)
  await last.end()
})

test('the machine of a killed run knows what it sent', async () => {
  const model = new ModelStore()
  const first = await machine(model, 'RUN-1')
  const run = await first.run([account(1)])
  run.send(account(1), 3)
  await run.die()
  const again = await first.run([account(1)], 'RUN-1')
  // The watch for the lease took longer than the window.
  expect(again.occupied(account(1))).toBe(0)
  await again.end()
})

test('a deleted lease hides no request: each cap counts as used up, after a watch for the run before', async () => {
  const model = new ModelStore()
  const run = await (await machine(model, 'RUN-1')).run([account(1)])
  run.send(account(1), 3)
  await run.end()
  model.objects.delete('lease.json')
  const second = await machine(model, 'RUN-2')
  const watchedMs = second.clock.monotonicMs()
  // Also on the disk of the last run: nobody knows whether it was the last one.
  const next = await second.run([account(1), account(2)], 'RUN-1')
  expect(second.clock.monotonicMs() - watchedMs).toBeGreaterThanOrEqual(LEASE_MS)
  expect([next.occupied(account(1)), next.occupied(account(2))]).toEqual([60, 60])
  expect(second.log.lines.map(({ message }) => message)).toEqual([
    expect.stringContaining('lease.json was deleted'),
    expect.stringContaining('nobody knows what the last run sent'),
  ])
  await next.end()
})

test.each([
  ['deleted', (model: ModelStore, key: string) => void model.objects.delete(key)],
  ['cut', (model: ModelStore, key: string) => void model.write(key, '{"format": 1, "text": "')],
])('a ledger that was %s counts as used up, and other accounts do not wait', async (_, damage) => {
  const model = new ModelStore()
  const run = await (await machine(model, 'RUN-1')).run([account(1), account(2)])
  run.send(account(1), 3)
  run.send(account(2), 4)
  await run.end()
  const key = [...model.objects.keys()].find((one) => one.startsWith('ledger/'))
  damage(model, key ?? '')
  const second = await machine(model, 'RUN-2')
  const next = await second.run([account(1), account(2), account(3)])
  expect([1, 2, 3].map((id) => next.occupied(account(id)))).toEqual([60, 4, 0])
  await pass(second.clock, 95_000)
  await next.end()
  const last = await (await machine(model, 'RUN-3')).run([account(1)])
  expect(last.occupied(account(1))).toBe(0)
  await last.end()
})

test('a ledger that was deleted on the disk of the last run counts as used up', async () => {
  const model = new ModelStore()
  const first = await machine(model, 'RUN-1')
  const run = await first.run([account(1)])
  run.send(account(1), 3)
  await run.end()
  first.removeLedgers()
  const next = await first.run([account(1)], 'RUN-1')
  expect(next.occupied(account(1))).toBe(60)
  await next.end()
})

test('requests of hours ago do not count, by the clock of the store', async () => {
  let nowMs = Date.parse('2026-03-01T00:00:00Z')
  const model = new ModelStore({ nowMs: () => nowMs })
  const run = await (await machine(model, 'RUN-1')).run([account(1)])
  run.send(account(1), 60)
  await run.end()
  nowMs += 3 * 3_600_000
  const next = await (await machine(model, 'RUN-2')).run([account(1)])
  expect(next.occupied(account(1))).toBe(0)
  await next.end()
})
