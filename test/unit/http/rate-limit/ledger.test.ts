/** In any state, the request ledger frees no slot whose request the server still counts. */
import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { Clock } from '../../../../src/base/clock.js'
import { WarehouseError } from '../../../../src/base/errors.js'
import { Ledger, ledgerFileName } from '../../../../src/http/rate-limit/ledger.js'
import {
  type LedgerEvent,
  ledgerLine,
  occupiedMs,
  readLedger,
} from '../../../../src/http/rate-limit/ledger-arithmetic.js'
import { temporaryDirectory } from '../../../support/files/temporary.js'
import { testClock } from '../../../support/time/test-clock.js'
import { startClient } from '../server-and-client.js'

const timing = { perMs: 60_000, requestTimeoutMs: 30_000 }
const OWNER = { baseUrl: 'https://api.example/api/v1', id: 17 }
const FILE = ledgerFileName(OWNER)
const AT = '2026-03-03T10:00:00Z'
const NOW = Date.parse(AT)
const HOLD = 60_050

const occupied = (text: string, cap = 60): readonly number[] =>
  occupiedMs(readLedger(text, NOW).values(), timing, NOW, cap)

/** The ledger treats every line of earlier runs as a second younger than it says. */
const UNSEEN = 1_000

/** A line that the ledger treats as `agoMs` old. */
const line = (id: number, event: LedgerEvent, agoMs: number) => ledgerLine(id, event, NOW - agoMs - UNSEEN)
const send = (id: number, agoMs: number) => line(id, 'send', agoMs)
const answer = (id: number, agoMs: number) => line(id, 'answer', agoMs)

const cases: readonly (readonly [name: string, text: string, leftMs: readonly number[]])[] = [
  ['an empty file occupies nothing', '', []],
  ['an answer counts from its headers on', send(1, 10_000) + answer(1, 9_000), [HOLD - 9_000]],
  ['an answer older than a window does not count', send(1, 70_000) + answer(1, 61_000), []],
  ['a loss counts for a request timeout longer', send(1, 9_000) + line(1, 'loss', 5_000), [HOLD + 25_000]],
  ['an unsent request does not count', send(1, 10) + ledgerLine(1, 'unsent', NOW), []],
  ['a send without an outcome counts as in flight until now', send(1, 10_000), [HOLD + 30_000]],
  ['a send without an outcome is in flight until its timeout at most', send(1, 40_000), [HOLD + 20_000]],
  ['a send without an outcome stops counting in the end', send(1, 121_000), []],
  ['a send in the future counts as sent now', send(1, -3_600_000), [HOLD + 30_000]],
  ['an answer in the future counts as given now', send(1, 5_000) + answer(1, -3_600_000), [HOLD]],
  ['an answer before its send counts from the send', send(1, 5_000) + answer(1, 50_000), [HOLD - 5_000]],
  ['an answer without a send counts', answer(1, 5_000), [HOLD - 5_000]],
  ['half a line is sent now', `${send(1, 5_000)}${answer(1, 5_000)}{"id":2,"at":17`, [HOLD, HOLD - 5_000]],
  ['an unknown line counts as sent just now', '{"id":"x"}\n[]\nnull\n', [HOLD, HOLD, HOLD]],
  ['zero bytes count as many sends as fit into them', '\0'.repeat(100), [HOLD, HOLD, HOLD]],
  ['two sends of one number count twice', send(1, 5_000) + send(1, 4_000), [HOLD + 30_000, HOLD + 30_000]],
  ['two answers to one send count twice', answer(1, 5_000) + answer(1, 4_000), [HOLD - 4_000, HOLD - 5_000]],
  [
    'an answered request counts even if a line says that it was unsent',
    answer(1, 5_000) + ledgerLine(1, 'unsent', NOW),
    [HOLD - 5_000],
  ],
]

test.each(cases)('%s', (_, text, leftMs) => {
  expect(occupied(text)).toEqual(leftMs)
})

test('with a lowered cap the ledger keeps the slots that end last', () => {
  const text = [1, 2, 3, 4].map((n) => send(n, n * 1_000) + answer(n, n * 1_000)).join('')
  expect(occupied(text, 2)).toEqual([HOLD - 1_000, HOLD - 2_000])
})

test('a run reads the ledger of the run before and gives its own sends new numbers', async () => {
  const directory = await temporaryDirectory()
  const clock = testClock(AT)
  const open = () => new Ledger({ directory, owner: OWNER, timing, clock })
  const first = open()
  first.end(first.send(), 'answer')
  first.send()
  clock.advance(4_000)
  const second = open()
  expect(second.occupiedMs(60)).toEqual([HOLD + 30_000, HOLD - 4_000 + UNSEEN])
  second.end(second.send(), 'answer')
  expect(open().occupiedMs(60)).toEqual([HOLD + 30_000, HOLD, HOLD - 4_000 + 2 * UNSEEN])
  clock.advance(HOLD + 70_000)
  expect(open().occupiedMs(60)).toEqual([])
  expect(statSync(join(directory, FILE)).size).toBe(0)
})

test('the file stays small in a long run and loses no send', async () => {
  const directory = await temporaryDirectory()
  const clock = testClock(AT)
  const ledger = new Ledger({ directory, owner: OWNER, timing, clock })
  let largest = 0
  for (let sent = 0; sent < 10_000; sent += 1) {
    ledger.end(ledger.send(), 'answer')
    clock.advance(1_000)
    if (sent % 100 === 0) largest = Math.max(largest, statSync(join(directory, FILE)).size)
  }
  expect(largest).toBeLessThan(250_000)
  expect(new Ledger({ directory, owner: OWNER, timing, clock }).occupiedMs(100)).toHaveLength(61)
  expect(readdirSync(directory)).toEqual([FILE])
})

test('a process that halts between reading its two clocks does not treat the halt as a clock change', async () => {
  const directory = await temporaryDirectory()
  const clock = testClock(AT)
  let stillMs = 0
  const haltingClock: Clock = {
    ...clock,
    nowMs: () => {
      const nowMs = clock.nowMs()
      clock.advance(stillMs)
      return nowMs
    },
  }
  const ledger = new Ledger({ directory, owner: OWNER, timing, clock: haltingClock })
  ledger.end(ledger.send(), 'answer')
  clock.advance(10_000)
  stillMs = 7_000
  const id = ledger.send()
  stillMs = 0
  ledger.end(id, 'answer')
  const [, leftMs = 0] = new Ledger({ directory, owner: OWNER, timing, clock }).occupiedMs(60)
  expect(leftMs).toBeGreaterThanOrEqual(HOLD - 24_000)
})

test('a directory that cannot be written gives an error in one line', async () => {
  const directory = await temporaryDirectory()
  writeFileSync(join(directory, 'file'), '')
  const open = () => startClient('http://127.0.0.1:1/api/v1', { ledgerDirectory: join(directory, 'file') })
  expect(open).toThrow(expect.objectContaining({ code: 'ledger_unwritable' }))
  expect(open).toThrow(WarehouseError)
  expect(open).toThrow(
    /^the request ledger .*sent-requests-127\.0\.0\.1_1-12\.[0-9a-f]+\.ndjson cannot be read: E[A-Z]+: .*check space and permissions$/,
  )
})

test('a pipe in the place of the ledger is refused, and nothing waits for it', async () => {
  const directory = await temporaryDirectory()
  execFileSync('mkfifo', [join(directory, ledgerFileName(OWNER))])
  expect(() => new Ledger({ directory, owner: OWNER, timing, clock: testClock() })).toThrow(
    'it is not a file',
  )
})

test('the lines have the documented format', async () => {
  const directory = await temporaryDirectory()
  const clock = testClock(AT)
  const ledger = new Ledger({ directory, owner: OWNER, timing, clock })
  ledger.end(ledger.send(), 'answer')
  const file = join(directory, FILE)
  expect(readFileSync(file, 'utf8')).toBe(
    `{"id":1,"at":${NOW},"event":"send"}\n{"id":1,"at":${NOW},"event":"answer"}\n`,
  )
})
