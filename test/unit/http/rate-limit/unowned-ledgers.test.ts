/** The cap of a ledger that is named after an account is unknown. Such a ledger counts for every client while it holds slots. */
import { existsSync, readFileSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { Clock } from '../../../../src/base/clock.js'
import { openLedger } from '../../../../src/http/rate-limit/ledger.js'
import { ledgerLine } from '../../../../src/http/rate-limit/ledger-arithmetic.js'
import { readRatePer } from '../../../../src/settings/readers.js'
import { temporaryDirectory } from '../../../support/files/temporary.js'

const NOW = Date.UTC(2026, 2, 3, 10)
const HOLD_MS = 60_050
const YEAR_MS = 365 * 86_400_000
const timing = { perMs: 60_000, requestTimeoutMs: 30_000 }
const OLD_NAMES = ['request-ledger-default.ndjson', 'request-ledger-Acme.0123456789ab.ndjson']

/** A request that was answered `agoMs` ago, in the reckoning of a new run. */
const answered = (agoMs: number) => ledgerLine(1, 'answer', NOW - agoMs - 1_000)

const open = async (files: Readonly<Record<string, string>>, writtenAgoMs = 0) => {
  const directory = await temporaryDirectory()
  const at = { nowMs: NOW }
  const clock: Clock = { nowMs: () => at.nowMs, monotonicMs: () => 0, sleep: () => Promise.resolve() }
  for (const [name, text] of Object.entries(files)) {
    writeFileSync(join(directory, name), text)
    utimesSync(join(directory, name), (NOW - writtenAgoMs) / 1_000, (NOW - writtenAgoMs) / 1_000)
  }
  return {
    directory,
    /** The slots that a client finds if it starts `afterMs` later. */
    occupied: (afterMs: number, id = 17, cap = 60) => {
      at.nowMs = NOW + afterMs
      const ledger = openLedger({
        directory,
        owner: { baseUrl: 'https://api.example/api/v1', id },
        timing,
        clock,
      })
      try {
        return ledger.occupiedMs(cap)
      } finally {
        ledger.close()
      }
    },
    has: (name: string) => existsSync(join(directory, name)),
    text: (name: string) => readFileSync(join(directory, name), 'utf8'),
  }
}

test('unowned ledgers count for every client at every start and stay unchanged', async () => {
  const [first = '', second = ''] = OLD_NAMES
  const trial = await open({ [first]: answered(10_000), [second]: answered(20_000) })
  for (const id of [17, 18, 17]) expect(trial.occupied(0, id)).toEqual([HOLD_MS - 10_000, HOLD_MS - 20_000])
  expect(trial.occupied(0, 17, 1)).toEqual([HOLD_MS - 10_000])
  expect(trial.occupied(45_000)).toEqual([HOLD_MS - 55_000])
  expect(trial.occupied(60_000)).toEqual([])
  expect(trial.text(first)).toBe(answered(10_000))
})

test('an unowned ledger is removed only when no setting could make it count', async () => {
  expect(readRatePer('1h').ok && !readRatePer('61m').ok).toBe(true)
  const [name = ''] = OLD_NAMES
  const trial = await open({ [name]: answered(0), 'request-ledger-empty.ndjson': '' })
  trial.occupied(3_600_000)
  expect(trial.has(name)).toBe(true)
  expect(trial.has('request-ledger-empty.ndjson')).toBe(false)
  trial.occupied(3_601_051)
  expect(trial.has(name)).toBe(false)
})

test('a damaged line counts from the last write of the file, not from each start', async () => {
  const [name = ''] = OLD_NAMES
  const trial = await open({ [name]: 'something else\n' }, 30_000)
  expect(trial.occupied(0)).toEqual([HOLD_MS - 29_000])
  expect(trial.occupied(HOLD_MS)).toEqual([])
})

test('a time in the future counts from the start that first reads it', async () => {
  const [name = ''] = OLD_NAMES
  const trial = await open({ [name]: answered(-YEAR_MS) }, -YEAR_MS)
  expect(trial.occupied(0)).toEqual([HOLD_MS])
  expect(trial.occupied(30_000)).toEqual([HOLD_MS - 29_000])
  expect(trial.occupied(HOLD_MS + 1_000)).toEqual([])
})

test('files with similar names are ignored and kept', async () => {
  const trial = await open({ 'request-ledger.txt': answered(0), 'my-request-ledger-a.ndjson': answered(0) })
  expect(trial.occupied(0)).toEqual([])
  trial.occupied(YEAR_MS)
  expect(trial.has('request-ledger.txt') && trial.has('my-request-ledger-a.ndjson')).toBe(true)
})
