import { expect, test } from 'vitest'
import { LostPublishError } from '../../../../src/publish/bucket/errors.js'
import { downloadLedger, ledgerSource, uploadLedger } from '../../../../src/publish/bucket/ledger.js'
import { ALWAYS_HELD, NEVER } from '../../../support/storage/bucket.js'
import { ModelStore } from '../../../support/storage/model-store.js'
import { testClock } from '../../../support/time/test-clock.js'

const HOUR_MS = 3_600_000
const previous = { id: 'a', wasReleased: true, ledgers: [], ageMs: 1_000 }

test.each([
  ['no run was here before', null, null, 'local'],
  ['the last run used this directory', previous, 'a', 'local'],
  ['the last run used this directory and was killed', { ...previous, wasReleased: false }, 'a', 'local'],
  ['another directory, released', previous, 'b', 'bucket'],
  ['an empty directory, released', previous, null, 'bucket'],
  ['released without its ledgers', { ...previous, ledgers: null }, 'b', 'unknown'],
  [
    'of a lease that was deleted',
    { ...previous, id: null, wasReleased: false, ledgers: null },
    null,
    'unknown',
  ],
  ['taken over', { ...previous, wasReleased: false, ledgers: null }, 'b', 'unknown'],
  ['taken over, age unknown', { ...previous, wasReleased: false, ageMs: null }, 'b', 'unknown'],
  ['taken over after a night', { ...previous, wasReleased: false, ageMs: 8 * HOUR_MS }, 'b', 'local'],
])('where the ledger is: %s', (_, given, ledgersOf, source) => {
  expect(ledgerSource(given, ledgersOf)).toBe(source)
})

const trial = () => {
  const clock = testClock()
  const model = new ModelStore({ nowMs: () => clock.nowMs() })
  const upload = (text: string, store = model.client(), lease = ALWAYS_HELD) =>
    uploadLedger({ store, lease, name: 'l.ndjson', text, clock, signal: NEVER })
  const download = () => downloadLedger(model.client(), 'l.ndjson', NEVER)
  return { clock, model, upload, download }
}

test("a ledger is uploaded, replaced and downloaded with the writer's clock", async () => {
  const { clock, upload, download } = trial()
  expect(await download()).toBeNull()
  await upload('one')
  clock.advance(10_000)
  await upload('two')
  expect(await download()).toEqual({ text: 'two', writtenAtMs: clock.nowMs() })
})

test('a ledger that cannot count any more is not used', async () => {
  const { clock, upload, download } = trial()
  await upload('one')
  clock.advance(2 * HOUR_MS)
  expect((await download())?.text).toBe('one')
  clock.advance(1)
  expect((await download())?.text).toBe('')
})

test('a paused writer does not replace the ledger of the run after it', async () => {
  const { upload, download, model } = trial()
  await upload('one')
  const slow = model.client({
    fault: async ({ verb }) => {
      if (verb === 'putIfMatch') await upload('theirs')
      return null
    },
  })
  await expect(upload('ours', slow)).rejects.toThrow(LostPublishError)
  expect((await download())?.text).toBe('theirs')
  let isHeld = true
  const client = model.client({
    fault: () => {
      isHeld = false
      return null
    },
  })
  const lease = {
    assertHeld: () => {
      if (!isHeld) throw new Error('lost')
    },
  }
  await expect(upload('ours', client, lease)).rejects.toThrow('lost')
  expect((await download())?.text).toBe('theirs')
})
