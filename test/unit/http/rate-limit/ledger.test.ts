/** The request ledger: whatever state it is found in, it never promises a slot that the server still counts. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { Clock } from '../../../../src/base/clock.js'
import { WarehouseError } from '../../../../src/base/errors.js'
import { LedgerError } from '../../../../src/http/errors.js'
import { ledgerFileName, openLedger } from '../../../../src/http/rate-limit/ledger.js'
import {
  type LedgerEvent,
  ledgerLine,
  occupiedMs,
  readLedger,
} from '../../../../src/http/rate-limit/ledger-arithmetic.js'
import { startClient } from '../server-and-client.js'

const timing = { perMs: 60_000, requestTimeoutMs: 30_000 }
const OWNER = { baseUrl: 'https://api.example/api/v1', id: 17 }
const FILE = ledgerFileName(OWNER)
const NOW = Date.UTC(2026, 2, 3, 10)
const HOLD = 60_050

const occupied = (text: string, cap = 60): readonly number[] =>
  occupiedMs(readLedger(text, NOW), timing, NOW, cap)

/** Every line of the runs before is taken to be a second younger than it says. */
const UNSEEN = 1_000

/** A line that is taken to be so old. */
const line = (id: number, event: LedgerEvent, agoMs: number) => ledgerLine(id, event, NOW - agoMs - UNSEEN)
const send = (id: number, agoMs: number) => line(id, 'send', agoMs)
const answer = (id: number, agoMs: number) => line(id, 'answer', agoMs)

const cases: readonly (readonly [name: string, text: string, leftMs: readonly number[]])[] = [
  ['nothing', '', []],
  ['an answer counts from its headers on', send(1, 10_000) + answer(1, 9_000), [HOLD - 9_000]],
  ['an old answer is over', send(1, 70_000) + answer(1, 61_000), []],
  ['a loss counts for a request timeout longer', send(1, 9_000) + line(1, 'loss', 5_000), [HOLD + 25_000]],
  ['one that was never sent does not count', send(1, 10) + ledgerLine(1, 'unsent', NOW), []],
  ['one without an outcome may have been in flight until now', send(1, 10_000), [HOLD + 30_000]],
  ['or until its timeout', send(1, 40_000), [HOLD + 20_000]],
  ['one without an outcome is over in the end', send(1, 121_000), []],
  ['the future is now', send(1, -3_600_000), [HOLD + 30_000]],
  ['an answer in the future is now', send(1, 5_000) + answer(1, -3_600_000), [HOLD]],
  ['an answer before its send counts from the send', send(1, 5_000) + answer(1, 50_000), [HOLD - 5_000]],
  ['an answer whose send is damaged', answer(1, 5_000), [HOLD - 5_000]],
  [
    'half a line is a send just now',
    `${send(1, 5_000)}${answer(1, 5_000)}{"id":2,"at":17`,
    [HOLD, HOLD - 5_000],
  ],
  ['a line of something else is a send just now', '{"id":"x"}\n[]\nnull\n', [HOLD, HOLD, HOLD]],
  ['a stretch of zeros is as many as fit into it', '\0'.repeat(100), [HOLD, HOLD, HOLD]],
  ['two sends of one number are two', send(1, 5_000) + send(1, 4_000), [HOLD + 30_000, HOLD + 30_000]],
  ['two answers to one send are two', answer(1, 5_000) + answer(1, 4_000), [HOLD - 4_000, HOLD - 5_000]],
  [
    'an answered one that was never sent, they say, counts',
    answer(1, 5_000) + ledgerLine(1, 'unsent', NOW),
    [HOLD - 5_000],
  ],
]

test.each(cases)('%s', (_, text, leftMs) => {
  expect(occupied(text)).toEqual(leftMs)
})

test('no state of the file occupies a slot for longer than a window and two request timeouts', () => {
  for (const [, text] of cases) {
    for (const leftMs of occupied(text)) expect(leftMs).toBeLessThanOrEqual(60_050 + 2 * 30_000)
  }
})

test('after the cap was lowered the slots that end last are kept', () => {
  const text = [1, 2, 3, 4].map((n) => send(n, n * 1_000) + answer(n, n * 1_000)).join('')
  expect(occupied(text, 2)).toEqual([HOLD - 1_000, HOLD - 2_000])
})

test('a file that was cut anywhere occupies no less than its whole lines do', () => {
  const text =
    send(1, 9_000) + send(2, 8_000) + answer(1, 7_000) + ledgerLine(2, 'loss', NOW - 100) + send(3, 50)
  for (let length = 0; length <= text.length; length += 1) {
    const cut = text.slice(0, length)
    // A line that lacks nothing but its end is whole.
    const whole = cut.endsWith('}') ? cut : cut.slice(0, cut.lastIndexOf('\n') + 1)
    const [found, least] = [occupied(cut), occupied(whole)]
    expect(found.length).toBeGreaterThanOrEqual(least.length)
    for (const [index, leftMs] of least.entries()) expect(found[index]).toBeGreaterThanOrEqual(leftMs)
  }
})

const createClock = () => {
  const at = { wallMs: NOW, monotonicMs: 5_000 }
  const clock: Clock = {
    nowMs: () => at.wallMs,
    monotonicMs: () => at.monotonicMs,
    sleep: () => Promise.resolve(),
  }
  const pass = (ms: number) => {
    at.wallMs += ms
    at.monotonicMs += ms
  }
  const putForward = (ms: number) => {
    at.wallMs += ms
  }
  return { clock, pass, putForward }
}

const temporaryDirectory = () => mkdtempSync(join(tmpdir(), 'ledger-'))

test('what one run wrote the next one reads, and its own numbers do not collide', () => {
  const directory = temporaryDirectory()
  const { clock, pass } = createClock()
  const open = () => openLedger({ directory, owner: OWNER, timing, clock })
  const first = open()
  first.end(first.send(), 'answer')
  first.send()
  pass(4_000)
  const second = open()
  expect(second.occupiedMs(60)).toEqual([HOLD + 30_000, HOLD - 4_000 + UNSEEN])
  second.end(second.send(), 'answer')
  expect(open().occupiedMs(60)).toEqual([HOLD + 30_000, HOLD, HOLD - 4_000 + 2 * UNSEEN])
  pass(HOLD + 70_000)
  expect(open().occupiedMs(60)).toEqual([])
  expect(statSync(join(directory, FILE)).size).toBe(0)
})

test('the file stays small in a long run, and loses nothing by it', () => {
  const directory = temporaryDirectory()
  const { clock, pass } = createClock()
  const ledger = openLedger({ directory, owner: OWNER, timing, clock })
  let largest = 0
  for (let sent = 0; sent < 10_000; sent += 1) {
    ledger.end(ledger.send(), 'answer')
    pass(1_000)
    if (sent % 100 === 0) largest = Math.max(largest, statSync(join(directory, FILE)).size)
  }
  expect(largest).toBeLessThan(250_000)
  expect(openLedger({ directory, owner: OWNER, timing, clock }).occupiedMs(100)).toHaveLength(61)
  expect(readdirSync(directory)).toEqual([FILE])
})

test('a clock that is put forward or back while we run does not make the next run forget', () => {
  for (const stepMs of [3_600_000, -3_600_000]) {
    const directory = temporaryDirectory()
    const { clock, pass, putForward } = createClock()
    const ledger = openLedger({ directory, owner: OWNER, timing, clock })
    ledger.end(ledger.send(), 'answer')
    pass(10_000)
    putForward(stepMs)
    ledger.end(ledger.send(), 'answer')
    expect(openLedger({ directory, owner: OWNER, timing, clock }).occupiedMs(60)).toEqual([
      HOLD,
      HOLD - 10_000 + UNSEEN,
    ])
  }
})

// Found by the property tests of the ledger: the answer's time was right already, and was moved along with the send's.
test('a clock that is put back or forward between a send and its answer does not free its slot early', () => {
  for (const stepMs of [-3_600_000, 3_600_000]) {
    const directory = temporaryDirectory()
    const { clock, pass, putForward } = createClock()
    const open = () => openLedger({ directory, owner: OWNER, timing, clock })
    const ledger = open()
    const first = ledger.send()
    pass(2_000)
    putForward(stepMs)
    pass(20_000)
    ledger.end(first, 'answer')
    pass(5_000)
    ledger.end(ledger.send(), 'answer')
    expect(open().occupiedMs(60)).toEqual([HOLD, HOLD - 5_000 + UNSEEN])
  }
})

test('a clock that is stepped by less than a second between two runs frees no slot early', () => {
  for (const stepMs of [-900, -1, 1, 900]) {
    const directory = temporaryDirectory()
    const { clock, pass, putForward } = createClock()
    const open = () => openLedger({ directory, owner: OWNER, timing, clock })
    const ledger = open()
    ledger.end(ledger.send(), 'answer')
    pass(20_000)
    putForward(stepMs)
    const [leftMs = 0] = open().occupiedMs(60)
    expect(leftMs).toBeGreaterThanOrEqual(HOLD - 20_000)
    expect(leftMs).toBeLessThanOrEqual(HOLD - 20_000 + 2 * UNSEEN)
  }
})

test('a clock that is put back again and again while we run, a little each time, frees no slot early', () => {
  const directory = temporaryDirectory()
  const { clock, pass, putForward } = createClock()
  const ledger = openLedger({ directory, owner: OWNER, timing, clock })
  for (let sends = 0; sends < 56; sends += 1) {
    pass(1_000)
    putForward(-300)
    ledger.end(ledger.send(), 'answer')
  }
  // Taken at the end, so that each step counts for the lines before it.
  const held = openLedger({ directory, owner: OWNER, timing, clock }).occupiedMs(60)
  expect(held).toHaveLength(56)
  for (const [index, leftMs] of held.entries()) expect(leftMs).toBeGreaterThanOrEqual(HOLD - index * 1_000)
})

test('a process that stands still between two looks at its clocks takes that for no step', () => {
  const directory = temporaryDirectory()
  const { clock, pass } = createClock()
  let stillMs = 0
  const haltingClock: Clock = {
    ...clock,
    nowMs: () => {
      const nowMs = clock.nowMs()
      pass(stillMs)
      return nowMs
    },
  }
  const ledger = openLedger({ directory, owner: OWNER, timing, clock: haltingClock })
  ledger.end(ledger.send(), 'answer')
  pass(10_000)
  stillMs = 7_000
  const id = ledger.send()
  stillMs = 0
  ledger.end(id, 'answer')
  const [, leftMs = 0] = openLedger({ directory, owner: OWNER, timing, clock }).occupiedMs(60)
  expect(leftMs).toBeGreaterThanOrEqual(HOLD - 24_000)
})

// Found by the property tests of the ledger: no number comes after 2^53 - 1, and two sends shared one.
test('a file with the largest number there is leaves room for the sends to come', () => {
  const directory = temporaryDirectory()
  const { clock } = createClock()
  const open = () => openLedger({ directory, owner: OWNER, timing, clock })
  writeFileSync(join(directory, FILE), answer(Number.MAX_SAFE_INTEGER, 5_000))
  const ledger = open()
  for (let sends = 0; sends < 3; sends += 1) ledger.end(ledger.send(), 'answer')
  expect(open().occupiedMs(60)).toEqual([HOLD, HOLD, HOLD, HOLD - 5_000 + UNSEEN])
})

// Found by the property tests of the ledger: three bytes that happen to be one character counted as one.
test('what a damaged stretch may have held is told by its bytes, whatever characters they make', () => {
  const directory = temporaryDirectory()
  writeFileSync(join(directory, FILE), '€'.repeat(36))
  const ledger = openLedger({ directory, owner: OWNER, timing, clock: createClock().clock })
  expect(ledger.occupiedMs(60)).toEqual([HOLD, HOLD, HOLD])
})

test('a directory that cannot be written is told in one line', () => {
  const directory = temporaryDirectory()
  writeFileSync(join(directory, 'file'), '')
  const open = () => startClient('http://127.0.0.1:1/api/v1', { ledgerDirectory: join(directory, 'file') })
  expect(open).toThrow(LedgerError)
  expect(open).toThrow(WarehouseError)
  expect(open).toThrow(
    /^the request ledger .*sent-requests-127\.0\.0\.1_1-12\.[0-9a-f]+\.ndjson cannot be read: E[A-Z]+: .*check space and permissions$/,
  )
})

test('a ledger that can no longer be written keeps the request from being sent', () => {
  const directory = temporaryDirectory()
  const { clock } = createClock()
  const ledger = openLedger({ directory, owner: OWNER, timing, clock })
  ledger.close()
  expect(() => ledger.send()).toThrow(LedgerError)
  rmSync(directory, { recursive: true })
})

test('the lines are what the documentation says', () => {
  const directory = temporaryDirectory()
  const { clock } = createClock()
  const ledger = openLedger({ directory, owner: OWNER, timing, clock })
  ledger.end(ledger.send(), 'answer')
  const file = join(directory, FILE)
  expect(readFileSync(file, 'utf8')).toBe(
    `{"id":1,"at":${NOW},"event":"send"}\n{"id":1,"at":${NOW},"event":"answer"}\n`,
  )
})
