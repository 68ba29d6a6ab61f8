import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import {
  fullLedgerText,
  isLedgerName,
  Ledger,
  ledgerFileName,
  ledgerNames,
  movedLedgerText,
  readLedgerText,
  replaceLedgerText,
} from '../../../../src/http/rate-limit/ledger.js'
import { temporaryDirectory } from '../../../support/files/temporary.js'
import { testClock } from '../../../support/time/test-clock.js'

const owner = { baseUrl: 'https://api.example', id: 7 }
const name = ledgerFileName(owner)
const timing = { perMs: 60_000, requestTimeoutMs: 30_000 }

test('requests count on another machine, whose clock shows another day, as if they had just been handed over', async () => {
  const [first, second] = [await temporaryDirectory(), await temporaryDirectory()]
  const clock = testClock('2026-03-01T00:00:00Z')
  const other = testClock('2031-07-01T00:00:00Z')
  const ledger = new Ledger({ directory: first, owner, timing, clock })
  ledger.end(ledger.send(), 'answer')
  clock.advance(10_000)
  ledger.send()
  clock.advance(5_000)
  ledger.close()
  const moved = movedLedgerText(readLedgerText(first, name), other.nowMs() - clock.nowMs())
  replaceLedgerText(second, name, moved)
  const there = new Ledger({ directory: second, owner, timing, clock: other })
  // Each time counts as a second younger. A request without an answer may still be under way.
  expect(there.occupiedMs(60)).toEqual([90_050, 60_050 - 15_000 + 1_000].toSorted((a, b) => b - a))
  there.close()
})

test('a ledger that nobody saw counts as a whole cap of requests without an answer', async () => {
  const directory = await temporaryDirectory()
  const clock = testClock()
  replaceLedgerText(directory, name, fullLedgerText(60, clock.nowMs()))
  const ledger = new Ledger({ directory, owner, timing, clock })
  expect(ledger.occupiedMs(60)).toEqual(Array.from({ length: 60 }, () => 90_050))
  ledger.close()
})

test('a damaged line stays, and counts as requests of this moment', async () => {
  const text = `{"id":1,"at":5,"event":"send"}\n{"id":1,"a\n`
  expect(movedLedgerText(text, 10)).toBe(`{"id":1,"at":15,"event":"send"}\n{"id":1,"a\n`)
  expect(movedLedgerText(text, -10)).toBe(`{"id":1,"at":0,"event":"send"}\n{"id":1,"a\n`)
  expect(movedLedgerText('', 10)).toBe('')
  expect(readLedgerText(await temporaryDirectory(), name)).toBe('')
})

test('a directory that cannot be written is an error that names the file', () => {
  expect(() => replaceLedgerText('/nowhere/at/all', name, '')).toThrow('/nowhere/at/all')
})

test('the ledgers of a directory are found by their names, and nothing else is', async () => {
  const directory = await temporaryDirectory()
  const clock = testClock()
  new Ledger({ directory, owner, timing, clock }).close()
  writeFileSync(join(directory, 'work.duckdb'), '')
  expect(ledgerNames(directory)).toEqual([name])
  expect(
    [name, '../sent-requests-x.ndjson', `${name}.new`, 'sent-requests-a/b.ndjson'].map(isLedgerName),
  ).toEqual([true, false, false, false])
})
