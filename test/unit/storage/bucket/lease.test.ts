import { setImmediate as nextTurn } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { sleep } from '../../../../src/base/clock.js'
import { EXIT_CODES, StoppedError } from '../../../../src/base/errors.js'
import type { ObjectStore } from '../../../../src/object-store/object-store.js'
import { acquireLease, type Lease, LeaseLostError } from '../../../../src/storage/bucket/lease.js'
import { WarehouseHeldError } from '../../../../src/warehouse/connection/errors.js'
import { testLog } from '../../../support/log/test-log.js'
import { holderNamed, NEVER, pass } from '../../../support/storage/bucket.js'
import { type ModelFault, ModelStore } from '../../../support/storage/model-store.js'
import { testClock } from '../../../support/time/test-clock.js'

type TestClock = ReturnType<typeof testClock>

const trial = () => {
  const clock = testClock()
  const model = new ModelStore({ nowMs: () => clock.nowMs() })
  const log = testLog()
  const acquire = (
    id: string,
    { store = model.client(), on = clock, signal = NEVER }: AcquireOptions = {},
  ): Promise<Lease> => acquireLease({ store, holder: holderNamed(id), clock: on, log, signal })
  const stored = () => JSON.parse(model.objects.get('lease.json')?.body.toString() ?? 'null')
  return { clock, model, log, acquire, stored }
}

interface AcquireOptions {
  readonly store?: ObjectStore
  readonly on?: TestClock
  readonly signal?: AbortSignal
}

const MANIFEST = 'versions/000001-20260301T000000Z-a1b2c3.json'
const HELD_BY_DEAD = JSON.stringify({
  ...{ format: 1, token: 't', state: 'held', holder: holderNamed('dead'), ledgers_uploaded: false },
})

/** A store whose connection breaks at any time. */
const linked = (model: ModelStore, link: { readonly isDown: boolean }): ObjectStore =>
  model.client({ fault: () => (link.isDown ? 'unreachable' : null) })

const released = { ledgers: {}, signal: NEVER }

/** What a promise has come to, without waiting for it. */
const stateOf = (promise: Promise<unknown>): Promise<unknown> =>
  Promise.race([
    promise.then(
      () => 'done',
      (error: unknown) => error,
    ),
    nextTurn('pending'),
  ])

describe('to acquire the lease', () => {
  test('of a new bucket takes one put', async () => {
    const { acquire, stored, model } = trial()
    const lease = await acquire('a')
    expect(lease.previous).toBeNull()
    expect(stored()).toMatchObject({ state: 'held', holder: holderNamed('a') })
    expect(model.requests.map(({ verb }) => verb).join(' ')).toBe('get list list list list putIfAbsent')
    lease.assertHeld()
    await lease.release(released)
  })

  test('a free one is replaced, and says who had it and for how long it has been free', async () => {
    const { acquire, clock, stored } = trial()
    await (await acquire('a')).release(released)
    expect(stored()).toMatchObject({ state: 'free', holder: { id: 'a' } })
    await pass(clock, 90_000)
    const lease = await acquire('b')
    expect(lease.previous).toEqual({
      ...{ id: 'a', wasReleased: true, hasLedgers: true, ledgers: {}, ageMs: 90_000 },
    })
    await lease.release({ ledgers: null, signal: NEVER })
    expect((await acquire('c')).previous).toMatchObject({ id: 'b', hasLedgers: false })
  })

  test("a held one that is renewed is another run's, whom the error names", async () => {
    const { acquire, clock } = trial()
    const lease = await acquire('a')
    const second = acquire('b')
    second.catch(() => undefined)
    await pass(clock, 15_000)
    expect(await stateOf(second)).toBe('pending')
    await pass(clock, 15_000)
    const error = await stateOf(second)
    expect(error).toBeInstanceOf(WarehouseHeldError)
    expect(error).toMatchObject({
      exitCode: EXIT_CODES.held,
      message: expect.stringMatching(/s3:\/\/model\/test.*"sync", process 7 on pod-1/),
    })
    lease.assertHeld()
  })

  test('a held one that nobody renews is taken over after its whole life, not before', async () => {
    const { acquire, clock, model, log } = trial()
    const dead = testClock()
    await acquire('a', { on: dead })
    const second = acquire('b')
    await pass(clock, 59_000)
    expect(await stateOf(second)).toBe('pending')
    expect(log.lines.map(({ message }) => message).join()).toMatch(/waiting 60 s/)
    await pass(clock, 2_000)
    const lease = await second
    expect(lease.previous).toMatchObject({ id: 'a', wasReleased: false, hasLedgers: false })
    expect(model.requests.filter(({ verb }) => verb === 'get').length).toBeLessThan(20)
  })

  test('the wall clock counts for nothing', async () => {
    const { acquire, clock } = trial()
    await acquire('a', { on: testClock() })
    const ahead = { ...testClock('2031-01-01T00:00:00Z'), monotonicMs: clock.monotonicMs, after: clock.after }
    const second = acquire('b', { on: ahead })
    await pass(clock, 59_000)
    expect(await stateOf(second)).toBe('pending')
    await pass(clock, 2_000)
    await second
  })

  test('a held one that is released meanwhile is taken at the next look', async () => {
    const { acquire, clock } = trial()
    const lease = await acquire('a')
    const second = acquire('b')
    await pass(clock, 7_000)
    await lease.release(released)
    await pass(clock, 5_000)
    expect((await second).previous?.wasReleased).toBe(true)
  })

  test.each([
    ['nobody renews', HELD_BY_DEAD],
    ['was deleted', null],
  ])('of two that find one that %s, one wins', async (_, stored) => {
    const { acquire, clock, model } = trial()
    model.write('current.json', '{}')
    if (stored !== null) model.write('lease.json', stored)
    const both = [acquire('b'), acquire('c')]
    await Promise.all([pass(clock, 61_000), Promise.allSettled(both)])
    const states = await Promise.all(both.map(stateOf))
    expect(states.filter((state) => state === 'done')).toHaveLength(1)
    expect(states.filter((state) => state instanceof WarehouseHeldError)).toHaveLength(1)
  })

  const TRACES = ['current.json', 'conditional-writes.json', 'ledger/sent-requests-a.ndjson', MANIFEST]
  /** Its holder may still be active. */
  test.each(TRACES)('one that was deleted is taken after its whole life (%s shows it)', async (trace) => {
    const { acquire, clock, model, log } = trial()
    model.write(trace, '{}')
    const second = acquire('b')
    await pass(clock, 59_000)
    expect(await stateOf(second)).toBe('pending')
    expect(model.objects.has('lease.json')).toBe(false)
    expect(log.lines).toMatchObject([{ level: 'warn', message: /lease.json was deleted.*waiting 60 s/ }])
    await pass(clock, 2_000)
    const unknown = { wasReleased: false, hasLedgers: false, ledgers: null, ageMs: null }
    expect((await second).previous).toEqual({ id: null, ...unknown })
  })

  test('one that was deleted under an active run is taken after that run has stopped, however its requests fail', async () => {
    const { acquire, clock, model } = trial()
    model.write('current.json', '{}')
    model.write('lease.json', '{}')
    model.objects.delete('lease.json')
    const link = { isDown: false }
    const own = acquire('a', { store: linked(model, link) })
    await pass(clock, 61_000)
    const lease = await own
    link.isDown = true
    model.objects.delete('lease.json')
    const second = acquire('b')
    await pass(clock, 50_000)
    lease.assertHeld()
    await pass(clock, 6_000)
    expect(() => lease.assertHeld()).toThrow(LeaseLostError)
    expect(await stateOf(second)).toBe('pending')
    await pass(clock, 7_000)
    ;(await second).assertHeld()
  })

  test('whoever deletes a lease that is watched gains nothing', async () => {
    const { acquire, clock, model } = trial()
    model.write('current.json', '{}')
    model.write('lease.json', HELD_BY_DEAD)
    const second = acquire('b')
    await pass(clock, 30_000)
    model.objects.delete('lease.json')
    await pass(clock, 59_000)
    expect(await stateOf(second)).toBe('pending')
    await pass(clock, 7_000)
    expect((await second).previous).toMatchObject({ id: null, wasReleased: false })
  })

  test('placeholders of folders and files of a person are no traces of a run', async () => {
    const { acquire, model } = trial()
    model.write('', '')
    for (const key of [
      'versions/',
      'ledger/',
      'versions/notes.txt',
      'ledger/old/a.ndjson',
      'current.json.bak',
    ])
      model.write(key, '')
    expect((await acquire('a')).previous).toBeNull()
  })

  test('the waiting ends at once with the signal', async () => {
    const { acquire } = trial()
    await acquire('a')
    const abort = new AbortController()
    const second = acquire('b', { signal: abort.signal })
    second.catch(() => undefined)
    await nextTurn()
    abort.abort(new StoppedError('stop'))
    await expect(second).rejects.toThrow(StoppedError)
  })

  test('from a store that refuses is an error at once', async () => {
    const { acquire, model } = trial()
    await expect(acquire('a', { store: model.client({ fault: () => 'refused' }) })).rejects.toThrow('403')
  })
})

describe('a held lease', () => {
  test('is renewed every 20 s and stays held for hours', async () => {
    const { acquire, clock, model } = trial()
    const lease = await acquire('a')
    await pass(clock, 3_600_000)
    lease.assertHeld()
    expect(lease.lost.aborted).toBe(false)
    expect(model.requests).toHaveLength(6 + 180)
  })

  test.each<ModelFault>(['lost_answer', 'repeated', 'unreachable'])('holds despite %s', async (fault) => {
    const { acquire, clock, model } = trial()
    let puts = 0
    const store = model.client({
      fault: ({ verb }) => {
        if (!verb.startsWith('put')) return null
        puts += 1
        return puts % 2 === 1 ? fault : null
      },
    })
    const lease = await acquire('a', { store })
    await pass(clock, 600_000)
    lease.assertHeld()
  })

  test('survives an outage that is shorter than its life', async () => {
    const { acquire, clock, model } = trial()
    const link = { isDown: false }
    const lease = await acquire('a', { store: linked(model, link) })
    link.isDown = true
    await pass(clock, 50_000)
    lease.assertHeld()
    link.isDown = false
    await pass(clock, 60_000)
    lease.assertHeld()
  })

  test('is lost before another run can take it when the store stays away: exit 7', async () => {
    const { acquire, clock, model } = trial()
    const link = { isDown: false }
    const lease = await acquire('a', { store: linked(model, link) })
    link.isDown = true
    await pass(clock, 54_000)
    lease.assertHeld()
    await pass(clock, 1_000)
    expect(lease.lost.reason).toBeInstanceOf(LeaseLostError)
    expect(lease.lost.reason).toMatchObject({ exitCode: EXIT_CODES.warehouse })
    expect(() => lease.assertHeld()).toThrow('no answer')
  })

  test('is lost on time also when the renewal hangs', async () => {
    const { acquire, clock, model } = trial()
    let hangs = false
    const store = model.client({ fault: () => (hangs ? new Promise(() => undefined) : null) })
    const lease = await acquire('a', { store })
    hangs = true
    await pass(clock, 55_000)
    expect(lease.lost.aborted).toBe(true)
  })

  test.each([
    ['another run has written it', '{"token":"theirs"}'],
    ['was deleted', null],
  ])('is lost when %s: exit 6, and it is not written any more', async (problem, text) => {
    const { acquire, clock, model } = trial()
    const lease = await acquire('a')
    if (text === null) model.objects.clear()
    else model.write('lease.json', text)
    await pass(clock, 21_000)
    expect(() => lease.assertHeld()).toThrow(LeaseLostError)
    expect(() => lease.assertHeld()).toThrow(problem === 'was deleted' ? problem : 'another run has taken')
    expect(lease.lost.reason).toMatchObject({ exitCode: EXIT_CODES.held })
    const { length } = model.requests
    await lease.release(released)
    expect(model.requests).toHaveLength(length)
  })

  test('is lost to a process that stood still, before it does anything else', async () => {
    const { acquire, clock } = trial()
    const own = testClock()
    const lease = await acquire('a', { on: own })
    const second = acquire('b')
    await pass(clock, 61_000)
    ;(await second).assertHeld()
    own.advance(61_000)
    expect(() => lease.assertHeld()).toThrow(LeaseLostError)
    expect(lease.lost.reason).toMatchObject({ exitCode: EXIT_CODES.held })
  })

  test('is lost to a suspended machine, whose monotonic clock stood still', async () => {
    const { model } = trial()
    const own = testClock()
    let suspendedMs = 0
    const clock = { ...own, nowMs: () => own.nowMs() + suspendedMs }
    const given = { store: model.client(), holder: holderNamed('a'), log: testLog(), signal: NEVER }
    const lease = await acquireLease({ ...given, clock })
    suspendedMs = 54_000
    lease.assertHeld()
    suspendedMs = 56_000
    expect(() => lease.assertHeld()).toThrow(LeaseLostError)
  })

  test('counts from the moment before its last renewal was sent', async () => {
    const { acquire, clock, model } = trial()
    let slow = false
    const store = model.client({
      fault: async () => {
        if (slow) await sleep(clock, 30_000)
        return null
      },
    })
    const lease = await acquire('a', { store })
    slow = true
    // Sent at 20 s, answered at 50 s; the next is sent at 70 s.
    await pass(clock, 74_000)
    lease.assertHeld()
    await pass(clock, 1_000)
    expect(lease.lost.aborted).toBe(true)
  })
})

describe('a released lease', () => {
  test('is free at once, and is renewed no more', async () => {
    const { acquire, clock, model, stored } = trial()
    const lease = await acquire('a')
    await lease.release(released)
    expect(stored()).toMatchObject({ state: 'free', ledgers_uploaded: true })
    const { length } = model.requests
    await pass(clock, 120_000)
    expect(model.requests).toHaveLength(length)
    expect(lease.lost.aborted).toBe(false)
  })

  test('is free although a renewal arrives just before it', async () => {
    const { acquire, clock, model, stored } = trial()
    const client = model.client()
    let renewals = 0
    const store: ObjectStore = {
      ...client,
      // The answer of the renewal is on its way when the release begins.
      putIfMatch: async (...put) => {
        const outcome = await client.putIfMatch(...put)
        renewals += 1
        return renewals === 1 ? await new Promise(() => undefined) : outcome
      },
    }
    const lease = await acquire('a', { store })
    await pass(clock, 21_000)
    expect(renewals).toBe(1)
    await lease.release(released)
    expect(stored().state).toBe('free')
  })

  test('that cannot be written is logged, and ends by itself', async () => {
    const { acquire, model, log, stored } = trial()
    const link = { isDown: false }
    const lease = await acquire('a', { store: linked(model, link) })
    link.isDown = true
    await lease.release(released)
    expect(stored().state).toBe('held')
    expect(log.lines.at(-1)).toMatchObject({ level: 'warn' })
  })

  test('of another run is not touched', async () => {
    const { acquire, model, log, stored } = trial()
    const lease = await acquire('a')
    model.write('lease.json', '{"token":"theirs"}')
    await lease.release(released)
    expect(stored()).toEqual({ token: 'theirs' })
    expect(log.lines.at(-1)?.message).toMatch(/another run has taken/)
  })
})
