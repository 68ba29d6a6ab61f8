/**
 * The ledger frees no slot before a plain list of sends says so, and holds none longer than its limit. This is true for any
 * content of the file, any sends, losses and crashes, and any change of the clock.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { Ledger, ledgerFileName } from '../../../../src/http/rate-limit/ledger.js'
import { ledgerLine } from '../../../../src/http/rate-limit/ledger-arithmetic.js'
import { anyText } from '../../../support/hostile/any-text.js'
import { cases } from '../../../support/suite/cases.js'
import { testClock } from '../../../support/time/test-clock.js'

const timing = { perMs: 60_000, requestTimeoutMs: 30_000 }
const START_MS = Date.UTC(2026, 2, 3, 10)
const AFTER_ANSWER_MS = 60_050
const AFTER_LOSS_MS = 30_000 + AFTER_ANSWER_MS
/** How far a clock may be set forward between two runs without freeing a slot too early. */
const UNSEEN_STEP_MS_MAX = 900
const HELD_MS_MAX = 30_000 + AFTER_LOSS_MS
const OWNER = { baseUrl: 'https://api.example/api/v1', id: 17 }

let directory = ''
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'hostile-ledger-'))
})
afterAll(() => rmSync(directory, { recursive: true }))
const file = () => join(directory, ledgerFileName(OWNER))

const createClock = () => {
  const clock = testClock(new Date(START_MS).toISOString())
  return { ...clock, monotonicMs: () => clock.monotonicMs() + 5_000.25 }
}

/** A send of the model, in true time. */
interface Sent {
  readonly atMs: number
  /** The earliest time at which its slot may be used again. */
  freeAtMs: number
}

type Step =
  | { readonly kind: 'send' }
  | { readonly kind: 'answer' | 'loss' | 'unsent'; readonly nth: number }
  | { readonly kind: 'pass'; readonly ms: number }
  | { readonly kind: 'put'; readonly ms: number }
  | { readonly kind: 'crash'; readonly torn: string; readonly cutBytes: number }

const TORN = '{"id":1,"at":1,"event":"unsent"'
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: fc.constant({ kind: 'send' } as const) },
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constantFrom('answer' as const, 'loss' as const, 'unsent' as const),
      nth: fc.nat(7),
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({ kind: fc.constant('pass' as const), ms: fc.integer({ min: 1, max: 40_000 }) }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('put' as const),
      // Half a minute does the most harm. NTP changes a clock by less than a second every day.
      ms: fc
        .oneof(
          fc.integer({ min: 1_000, max: 90_000 }),
          fc.constantFrom(3_600_000, 86_400_000),
          fc.integer({ min: 1, max: 999 }),
          fc.integer({ min: 1, max: 60 }),
        )
        .chain((ms) => fc.constantFrom(ms, -ms)),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('crash' as const),
      torn: fc.constantFrom('', '', '{"id":', '\0\0\0\0', 'x'.repeat(80), '\n\n', TORN),
      cutBytes: fc.constantFrom(0, 0, 1, 9),
    }),
  },
)

const descending = (leftMs: readonly number[]) => [...leftMs].sort((a, b) => b - a)

/** Every slot of the model must be held at least as long as in the model. The clock counts whole milliseconds. */
const expectHeld = (held: readonly number[], model: readonly Sent[], nowMs: number): void => {
  const expected = descending(model.map(({ freeAtMs }) => freeAtMs - nowMs).filter((leftMs) => leftMs > 1))
  expect(held.length).toBeGreaterThanOrEqual(expected.length)
  for (const [index, leftMs] of expected.entries()) expect(held[index]).toBeGreaterThanOrEqual(leftMs - 1)
}

const expectBounded = (held: readonly number[], cap: number): void => {
  expect(held.length).toBeLessThanOrEqual(cap)
  for (const leftMs of held) {
    expect(leftMs).toBeGreaterThan(0)
    expect(leftMs).toBeLessThanOrEqual(HELD_MS_MAX)
  }
}

/** Successive runs over one ledger file, and the plain list of their sends. */
class Runs {
  readonly #clock = createClock()
  #ledger: Ledger
  #sent: Sent[] = []
  /** The sends of this run without an outcome. */
  #inFlight: { readonly id: number; readonly sent: Sent }[] = []
  /** How far the clock was set since the ledger last read it. No file can show this after a crash. */
  #unseenMs = 0

  constructor() {
    rmSync(file(), { force: true })
    this.#ledger = this.#open()
  }

  take(one: Step): void {
    if (one.kind === 'pass') this.#pass(one.ms)
    else if (one.kind === 'put') this.#put(one.ms)
    else if (one.kind === 'send') this.#send()
    else if (one.kind === 'crash') this.#crash(one)
    else this.#end(one.nth, one.kind)
  }

  close(): void {
    this.#ledger.close()
  }

  #open(): Ledger {
    return new Ledger({ directory, owner: OWNER, timing, clock: this.#clock })
  }

  /** A request without an answer is lost after the request timeout. */
  #pass(ms: number): void {
    const untilMs = this.#clock.monotonicMs() + ms
    for (let first = this.#inFlight[0]; first !== undefined; first = this.#inFlight[0]) {
      const timeoutMs = first.sent.atMs + timing.requestTimeoutMs
      if (timeoutMs > untilMs) break
      this.#clock.advance(timeoutMs - this.#clock.monotonicMs())
      this.#end(0, 'loss')
    }
    this.#clock.advance(untilMs - this.#clock.monotonicMs())
  }

  #put(ms: number): void {
    this.#clock.put(ms)
    this.#unseenMs += ms
  }

  #send(): void {
    const sent = { atMs: this.#clock.monotonicMs(), freeAtMs: Number.POSITIVE_INFINITY }
    this.#inFlight.push({ id: this.#ledger.send(), sent })
    this.#sent.push(sent)
    this.#unseenMs = 0
  }

  #end(nth: number, kind: 'answer' | 'loss' | 'unsent'): void {
    const [ended] = this.#inFlight.splice(nth % Math.max(1, this.#inFlight.length), 1)
    if (ended === undefined) return
    this.#ledger.end(ended.id, kind)
    this.#unseenMs = 0
    const holdMs = { answer: AFTER_ANSWER_MS, loss: AFTER_LOSS_MS, unsent: 0 }[kind]
    ended.sent.freeAtMs = this.#clock.monotonicMs() + holdMs
  }

  #crash({ cutBytes, torn }: Step & { readonly kind: 'crash' }): void {
    this.#ledger.close()
    const bytes = readFileSync(file())
    const kept = bytes.subarray(0, Math.max(0, bytes.length - cutBytes))
    writeFileSync(file(), Buffer.concat([kept, Buffer.from(torn)]))
    const nowMs = this.#clock.monotonicMs()
    // Requests in flight are lost with their run. They may have been answered now, or at their timeout.
    for (const { sent } of this.#inFlight)
      sent.freeAtMs = Math.min(sent.atMs + timing.requestTimeoutMs, nowMs) + AFTER_ANSWER_MS
    for (const sent of this.#sent) sent.freeAtMs -= Math.max(0, this.#unseenMs - UNSEEN_STEP_MS_MAX)
    this.#sent = this.#sent.filter(({ freeAtMs }) => freeAtMs > nowMs)
    this.#inFlight = []
    this.#unseenMs = 0
    this.#ledger = this.#open()
    expectHeld(this.#ledger.occupiedMs(1_000), this.#sent, nowMs)
    expectBounded(this.#ledger.occupiedMs(1_000), 1_000)
  }
}

test('no slot is free early after any sequence of sends, answers, losses, crashes and clock changes', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40, size: 'max' }), (steps) => {
      const runs = new Runs()
      for (const one of steps) runs.take(one)
      runs.close()
    }),
    cases(100),
  )
})

/** The sends of a run, with the change of the clock before each. */
const smallSteps = fc.array(
  fc.record({
    putMs: fc.integer({ min: -900, max: 900 }),
    passMs: fc.integer({ min: 0, max: 5_000 }),
    answered: fc.boolean(),
  }),
  { minLength: 1, maxLength: 25, size: 'max' },
)

test('clock changes below a second, during and between runs, free no slot early', () => {
  fc.assert(
    fc.property(smallSteps, fc.integer({ min: -900, max: 900 }), (steps, putBetweenMs) => {
      rmSync(file(), { force: true })
      const clock = createClock()
      const ledger = new Ledger({ directory, owner: OWNER, timing, clock })
      const sent: Sent[] = steps.map(({ putMs, passMs, answered }) => {
        clock.put(putMs)
        clock.advance(passMs)
        const id = ledger.send()
        const atMs = clock.monotonicMs()
        if (answered) ledger.end(id, 'answer')
        return { atMs, freeAtMs: atMs + AFTER_ANSWER_MS }
      })
      ledger.close()
      clock.put(putBetweenMs)
      const next = new Ledger({ directory, owner: OWNER, timing, clock })
      expectHeld(next.occupiedMs(1_000), sent, clock.monotonicMs())
      expectBounded(next.occupiedMs(1_000), 1_000)
      next.close()
    }),
    cases(15, 2_000),
  )
})

const anyBytes = fc.oneof(
  fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes)),
  anyText({ maxLength: 60 }).map((text) => Buffer.from(text)),
  // Characters of three bytes each, so that the text is shorter than the file.
  fc.integer({ min: 1, max: 60 }).map((length) => Buffer.from('€'.repeat(length))),
)
const anyNumberText = fc.constantFrom(
  ...'-1 1.5 1e3 9007199254740991 9007199254740993 1e400 null "1" {}'.split(' '),
)
const anyLine = fc.oneof(
  {
    weight: 4,
    arbitrary: fc
      .tuple(
        fc.integer({ min: 1, max: 6 }),
        fc.constantFrom('send' as const, 'answer' as const, 'loss' as const),
        fc.integer({ min: -90_000, max: 90_000 }),
      )
      .map(([id, event, afterMs]) => Buffer.from(ledgerLine(id, event, START_MS + afterMs))),
  },
  fc
    .tuple(anyNumberText, anyNumberText, fc.constantFrom('"send"', '"answer"', '"sent"', 'null'))
    .map(([id, at, event]) => Buffer.from(`{"id":${id},"at":${at},"event":${event}}\n`)),
  fc
    .constantFrom('9007199254740991', '9007199254740990')
    .map((id) => Buffer.from(`{"id":${id},"at":${START_MS},"event":"send"}\n`)),
  anyBytes,
)

/** The fewest bytes of a line that the ledger writes. */
const LINE_BYTES_MIN = 36

/** The sends that a file holds: all readable ones, and the number that may have been in its damaged places. */
const sendsIn = (bytes: Buffer): { readonly read: Sent[]; readonly damaged: number } => {
  const read: Sent[] = []
  let damaged = 0
  for (const line of bytes
    .toString('latin1')
    .split('\n')
    .filter((one) => one !== '')) {
    const found = /^\{"id":(\d{1,16}),"at":(\d{1,16}),"event":"(send|answer|loss)"\}$/.exec(
      line.replace(/^[ \t\r]+|[ \t\r]+$/g, ''),
    )
    if (found === null || !found.slice(1, 3).map(Number).every(Number.isSafeInteger))
      damaged += canBeRead(line) ? 0 : Math.ceil(line.length / LINE_BYTES_MIN)
    else if (found[3] === 'send') {
      // Held at least for one window after the send, whatever the following lines say.
      read.push({ atMs: START_MS, freeAtMs: Math.min(Number(found[2]), START_MS) + AFTER_ANSWER_MS })
    }
  }
  return { read, damaged }
}

/** Whether a line that the ledger does not write is valid all the same: numbers with an exponent or a decimal point. */
const canBeRead = (line: string): boolean => {
  try {
    const value: unknown = JSON.parse(line)
    return typeof value === 'object' && value !== null && !Array.isArray(value) && /1e3|1\.5/.test(line)
  } catch {
    return false
  }
}

test('for any content of the file, readable sends count, and damaged places count as sent just now', () => {
  fc.assert(
    fc.property(fc.array(anyLine, { maxLength: 12 }), fc.integer({ min: 1, max: 80 }), (lines, cap) => {
      const bytes = Buffer.concat(lines)
      writeFileSync(file(), bytes)
      const clock = createClock()
      const ledger = new Ledger({ directory, owner: OWNER, timing, clock })
      const { read, damaged } = sendsIn(bytes)
      const doubtful = Array.from({ length: damaged }, () => ({
        atMs: START_MS,
        freeAtMs: START_MS + AFTER_ANSWER_MS,
      }))
      expectHeld(ledger.occupiedMs(10_000), [...read, ...doubtful], START_MS)
      expectBounded(ledger.occupiedMs(cap), cap)
      // The sends of this run count as well, in this run and after a crash.
      const before = ledger.occupiedMs(10_000).length
      ledger.end(ledger.send(), 'answer')
      ledger.send()
      ledger.close()
      const next = new Ledger({ directory, owner: OWNER, timing, clock })
      expect(next.occupiedMs(10_000)).toHaveLength(before + 2)
      next.close()
    }),
    cases(100),
  )
})

const CLOSED_OWNER = { ...OWNER, id: 18 }

test('using a closed ledger, or opening one in a file, throws a LedgerError', () => {
  const clock = createClock()
  const ledger = new Ledger({ directory, owner: CLOSED_OWNER, timing, clock })
  ledger.close()
  for (const use of [
    () => ledger.send(),
    () =>
      new Ledger({ directory: join(directory, ledgerFileName(CLOSED_OWNER)), owner: OWNER, timing, clock }),
  ])
    expect(use).toThrow(expect.objectContaining({ code: 'ledger_unwritable' }))
})
