/** The cap from pod to pod: which requests of the last run count on another machine. */
import { readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { Secret } from '../../../../src/base/secret.js'
import { Ledger } from '../../../../src/http/rate-limit/ledger.js'
import type { AccountSettings } from '../../../../src/settings/settings.js'
import { acquireLease, LEASE_MS, type PreviousHolder } from '../../../../src/storage/bucket/lease.js'
import {
  ledgerSource,
  restoreLedgers,
  uploadLedger,
  uploadLedgers,
} from '../../../../src/storage/bucket/ledgers.js'
import { LostPublishError } from '../../../../src/storage/bucket/pointer.js'
import { temporaryDirectory } from '../../../support/files/temporary.js'
import { testLog } from '../../../support/log/test-log.js'
import { ALWAYS_HELD, holderNamed, LOST_LEASE, NEVER, pass } from '../../../support/storage/bucket.js'
import { ModelStore } from '../../../support/storage/model-store.js'
import { testClock } from '../../../support/time/test-clock.js'

const account = (id: number, shared: AccountSettings['shared'] = null): AccountSettings => ({
  name: `account-${id}`,
  baseUrl: 'https://api.example/api/v1',
  id,
  exclude: { status: [], surveys: [], projects: [] },
  token: new Secret('token-of-the-test'),
  rate: { requests: 60, perMs: 60_000 },
  shared,
  proxy: null,
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
    send: (of: AccountSettings, requests: number) => use(of, (ledger) => sendAll(ledger, requests)),
    emptyDisk: () => {
      for (const name of readdirSync(warehouseDirectory)) rmSync(join(warehouseDirectory, name))
    },
    run: async (accounts: readonly AccountSettings[], ledgersOf: string | null = null) => {
      const acquiring = acquireLease({ store, holder: holderNamed(name), clock, log, signal: NEVER })
      const isFree = String(model.objects.get('lease.json')?.body).includes('"free"')
      await pass(clock, model.objects.size === 0 || isFree ? 0 : LEASE_MS + 10_000)
      const lease = await acquiring
      const handing = { store, lease, settings: { accounts, warehouseDirectory }, clock, log }
      await restoreLedgers(handing, ledgersOf, NEVER)
      return {
        occupied: (of: AccountSettings) => use(of, (ledger) => ledger.occupiedMs(60).length),
        send: (of: AccountSettings, requests: number) => use(of, (ledger) => sendAll(ledger, requests)),
        end: async () => {
          await lease.release({ ledgers: await uploadLedgers(handing, NEVER), signal: NEVER })
        },
        die: () => lease.release({ ledgers: null, signal: AbortSignal.abort(new Error('killed')) }),
      }
    },
  }

  function use<Result>(owner: AccountSettings, work: (ledger: Ledger) => Result): Result {
    const timing = { perMs: 60_000, requestTimeoutMs: 30_000 }
    const ledger = new Ledger({ directory: warehouseDirectory, owner, timing, clock })
    try {
      return work(ledger)
    } finally {
      ledger.close()
    }
  }
}

const sendAll = (ledger: Ledger, requests: number): void => {
  for (let sent = 0; sent < requests; sent += 1) ledger.end(ledger.send(), 'answer')
}

/** A whole run on a machine of its own, which sends `sent` requests of each account. */
const runOnce = async (
  model: ModelStore,
  accounts: readonly AccountSettings[],
  sent: readonly number[] = [],
  end: 'end' | 'die' = 'end',
): Promise<void> => {
  const run = await (await machine(model, 'RUN-1')).run(accounts)
  for (const [place, requests] of sent.entries()) run.send(accounts[place] ?? account(1), requests)
  await run[end]()
}

/** What counts in a run on another machine. */
const occupiedIn = async (model: ModelStore, accounts = [account(1), account(2)], wall?: string) => {
  const next = await machine(model, 'RUN-2', wall)
  const run = await next.run(accounts)
  const occupied = accounts.map(run.occupied)
  await run.end()
  return { occupied, warnings: next.log.lines.map(({ message }) => message).join('; ') }
}

test('requests of a run count on the next machine, whatever its clock shows', async () => {
  const model = new ModelStore()
  const both = [account(1), account(2)]
  await runOnce(model, both, [40])
  expect((await occupiedIn(model, both, '2031-01-01T00:00:00Z')).occupied).toEqual([40, 0])
})

test('a run with other accounts hands the ledger of the first one on', async () => {
  const model = new ModelStore()
  await runOnce(model, [account(1)], [40])
  await runOnce(model, [account(2)])
  expect((await occupiedIn(model, [account(1)])).occupied).toEqual([40])
})

test('after a killed run each cap counts as used up, but not one that a Redis counts', async () => {
  const model = new ModelStore()
  await runOnce(model, [account(1)], [3], 'die')
  const shared = account(2, { url: new Secret('redis://127.0.0.1:1'), fallback: null })
  const { occupied, warnings } = await occupiedIn(model, [account(1), shared])
  expect(occupied).toEqual([60, 0])
  expect(warnings).toContain('nobody knows what the last run, which was killed, sent')
})

test('the run after a killed one hands its ledger on, so only one run waits for a window', async () => {
  const model = new ModelStore()
  await runOnce(model, [account(1)], [], 'die')
  const second = await machine(model, 'RUN-2')
  const next = await second.run([account(1)])
  await pass(second.clock, 95_000)
  next.send(account(1), 2)
  await next.end()
  expect(await occupiedIn(model, [account(1)])).toEqual({ occupied: [2], warnings: '' })
})

test('what a killed run sent for other accounts is not forgotten by a run in between', async () => {
  const model = new ModelStore()
  await runOnce(model, [account(1), account(2)], [0, 40], 'die')
  await runOnce(model, [account(1)])
  expect((await occupiedIn(model, [account(2)])).occupied).toEqual([60])
})

test('requests of hours ago do not count, by the clock of the store', async () => {
  let nowMs = Date.parse('2026-03-01T00:00:00Z')
  const model = new ModelStore({ nowMs: () => nowMs })
  await runOnce(model, [account(1)], [60])
  nowMs += 3 * 3_600_000
  expect((await occupiedIn(model, [account(1)])).occupied).toEqual([0])
})

/** Two accounts, of which the first run used both, and the second sent nothing. Returns the keys of their ledgers. */
const usedBucket = async (model: ModelStore): Promise<readonly string[]> => {
  await runOnce(model, [account(1), account(2)], [40])
  return [...model.objects.keys()].filter((key) => key.startsWith('ledger/')).sort()
}

test('without its lease, nobody knows what the last run sent; without ledgers too, the pointer shows that it was here', async () => {
  const model = new ModelStore()
  const keys = await usedBucket(model)
  model.objects.delete('lease.json')
  const { occupied, warnings } = await occupiedIn(model)
  expect(occupied).toEqual([60, 60])
  expect(warnings).toContain('lease.json was deleted, so nobody knows what the last run sent')
  model.write('current.json', '{}')
  for (const key of ['lease.json', ...keys]) model.objects.delete(key)
  expect((await occupiedIn(model)).occupied).toEqual([60, 60])
})

test.each([
  ['missing', null],
  ['damaged', '{"format":1,"token":"a","text":'],
  ['not the one that the last run left', '{"format":1,"token":"of long ago","written_at_ms":0,"text":""}'],
])('a ledger that is %s is not an empty one, and the other ledger still counts', async (problem, text) => {
  const model = new ModelStore()
  const [first = '', second = ''] = await usedBucket(model)
  expect(second).not.toBe('')
  if (text === null) model.objects.delete(first)
  else model.write(first, text)
  const { occupied, warnings } = await occupiedIn(model)
  expect(occupied).toEqual([60, 0])
  expect(warnings).toContain(`${first} is ${problem}, so nobody knows what was sent`)
})

test('a ledger that is missing is unknown also to a run that has other accounts, and to the one after it', async () => {
  const model = new ModelStore()
  const [first = ''] = await usedBucket(model)
  model.objects.delete(first)
  await occupiedIn(model, [account(2)])
  expect((await occupiedIn(model, [account(1)])).occupied).toEqual([60])
})

test('an account that nobody ever used does not wait', async () => {
  const model = new ModelStore()
  await usedBucket(model)
  expect(await occupiedIn(model, [account(1), account(3)])).toEqual({ occupied: [40, 0], warnings: '' })
})

test('a free lease that was restored does not hide what was sent after it, also in the directory that it names', async () => {
  const model = new ModelStore()
  const first = await machine(model, 'RUN-1')
  const both = [account(1), account(2)]
  const used = await first.run(both)
  used.send(account(1), 40)
  await used.end()
  const before = model.objects.get('lease.json')?.body ?? ''
  await runOnce(model, both, [0, 40])
  for (const [where, ledgersOf] of [
    [await machine(model, 'RUN-3'), null],
    [first, 'RUN-1'],
  ] as const) {
    model.write('lease.json', before)
    const next = await where.run(both, ledgersOf)
    expect(both.map(next.occupied)).toEqual([60, 60])
    await next.end()
  }
})

test('a local ledger that was deleted is taken from the bucket, or is unknown after a kill', async () => {
  const model = new ModelStore()
  const first = await machine(model, 'RUN-1')
  const run = await first.run([account(1)])
  run.send(account(1), 40)
  await run.end()
  first.emptyDisk()
  const next = await first.run([account(1)], 'RUN-1')
  expect(next.occupied(account(1))).toBe(40)
  await next.die()
  first.emptyDisk()
  const last = await first.run([account(1)], 'RUN-1')
  expect(last.occupied(account(1))).toBe(60)
  await last.end()
})

test('a bucket that was emptied is unknown to a directory that was used with it, and new to another one', async () => {
  const model = new ModelStore()
  const first = await machine(model, 'RUN-1')
  await (await first.run([account(1)])).end()
  model.objects.clear()
  const next = await first.run([account(1)], 'RUN-1')
  expect(next.occupied(account(1))).toBe(60)
  await next.end()
  model.objects.clear()
  expect((await occupiedIn(model, [account(1)])).occupied).toEqual([0])
})

test('what a directory sent before it was used with a bucket counts, also after a first run that ended early', async () => {
  const model = new ModelStore()
  const only = await machine(model, 'RUN-1')
  only.send(account(1), 40)
  const { clock, log } = only
  const lease = await acquireLease({
    ...{ store: model.client(), holder: holderNamed('EARLY'), clock, log, signal: NEVER },
  })
  await lease.release({ ledgers: {}, signal: NEVER })
  const run = await only.run([account(1)])
  expect(run.occupied(account(1))).toBe(40)
  await run.end()
})

test('a lease of an older version names no ledgers: what is there counts, and what is not is unknown', async () => {
  const model = new ModelStore()
  await usedBucket(model)
  const { ledgers: _, ...old } = JSON.parse(model.objects.get('lease.json')?.body.toString() ?? '')
  model.write('lease.json', JSON.stringify(old))
  expect((await occupiedIn(model, [account(1), account(3)])).occupied).toEqual([40, 60])
})

const HOUR_MS = 3_600_000
const PREVIOUS = { id: 'a', wasReleased: true, hasLedgers: true, ledgers: {}, ageMs: 1_000 }
const WITHOUT = { ...PREVIOUS, hasLedgers: false }
const LONG_AGO = { ...PREVIOUS, ageMs: 8 * HOUR_MS }

test.each<[string, PreviousHolder, string, number | null, string]>([
  ['the last run used this directory', PREVIOUS, 'a', 1_000, 'local'],
  ['another directory, released without its ledgers', WITHOUT, 'b', 1_000, 'unknown'],
  ['another directory, taken over', { ...WITHOUT, wasReleased: false }, 'b', 1_000, 'unknown'],
  ['a lease and a ledger of long ago', LONG_AGO, 'b', 8 * HOUR_MS, 'none'],
  ['a lease of long ago beside a young ledger', LONG_AGO, 'b', HOUR_MS, 'bucket'],
  ['a lease of long ago beside a ledger of unknown age', LONG_AGO, 'b', null, 'bucket'],
])('where the ledger is: %s', (_, previous, ledgersOf, ageMs, source) => {
  const ledger = { key: 'ledger/l.ndjson', bytes: 1, etag: '"1"', ageMs }
  expect(ledgerSource(previous, ledgersOf, [ledger])).toBe(source)
})

test('a paused writer does not replace the ledger of the run after it', async () => {
  const clock = testClock()
  const model = new ModelStore()
  const upload = (text: string, store = model.client(), lease = ALWAYS_HELD) =>
    uploadLedger({ store, lease: { ...lease, previous: null }, clock }, 'l.ndjson', text, NEVER)
  const stored = () => JSON.parse(model.objects.get('ledger/l.ndjson')?.body.toString() ?? 'null')
  await upload('one')
  const slow = model.client({
    fault: async ({ verb }) => {
      if (verb === 'putIfMatch') await upload('theirs')
      return null
    },
  })
  await expect(upload('ours', slow)).rejects.toThrow(LostPublishError)
  await expect(upload('ours', model.client(), LOST_LEASE)).rejects.toThrow('lost')
  expect(stored()).toMatchObject({ text: 'theirs' })
})
