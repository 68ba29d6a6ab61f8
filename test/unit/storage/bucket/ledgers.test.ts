import { expect, test } from 'vitest'
import { downloadLedger, ledgerSource, uploadLedger } from '../../../../src/storage/bucket/ledgers.js'
import { LostPublishError } from '../../../../src/storage/bucket/pointer.js'
import { ALWAYS_HELD, NEVER } from '../../../support/storage/bucket.js'
import { ModelStore } from '../../../support/storage/model-store.js'
import { testClock } from '../../../support/time/test-clock.js'

const HOUR_MS = 3_600_000
const previous = { id: 'a', wasReleased: true, ledgersUploaded: true, ledgers: {}, ageMs: 1_000 }
const DELETED = { id: null, wasReleased: false, ledgersUploaded: false, ledgers: null, ageMs: null }

test.each([
  ['no run was here before', null, null, 'none'],
  ['the bucket was emptied', null, 'a', 'unknown'],
  ['the lease was deleted', DELETED, null, 'unknown'],
  ['the lease was deleted, and the directory was never used to its end', DELETED, '', 'unknown'],
  ['the lease was deleted, and the directory was used', DELETED, 'a', 'unknown'],
  ['the last run used this directory', previous, 'a', 'local'],
  ['the last run used this directory and was killed', { ...previous, wasReleased: false }, 'a', 'local'],
  ['another directory, released', previous, 'b', 'bucket'],
  ['an empty directory, released', previous, null, 'bucket'],
  ['released without its ledgers', { ...previous, ledgersUploaded: false }, 'b', 'unknown'],
  ['taken over', { ...previous, wasReleased: false, ledgersUploaded: false }, 'b', 'unknown'],
  ['taken over, age unknown', { ...previous, wasReleased: false, ageMs: null }, 'b', 'unknown'],
  ['taken over after a night', { ...previous, wasReleased: false, ageMs: 8 * HOUR_MS }, 'b', 'none'],
])('where the ledger is: %s', (_, given, ledgersOf, source) => {
  expect(ledgerSource(given, ledgersOf, [])).toBe(source)
})

test.each([
  [8 * HOUR_MS, 'none'],
  [HOUR_MS, 'bucket'],
  [null, 'bucket'],
])('a lease of long ago beside a ledger that was written %s ms ago: %s', (ageMs, source) => {
  const ledger = { key: 'ledger/l.ndjson', bytes: 1, ageMs }
  expect(ledgerSource({ ...previous, ageMs: 8 * HOUR_MS }, 'b', [ledger])).toBe(source)
})

const trial = () => {
  const clock = testClock()
  const model = new ModelStore({ nowMs: () => clock.nowMs() })
  const upload = (text: string, store = model.client(), lease = ALWAYS_HELD) =>
    uploadLedger({ store, lease, clock }, 'l.ndjson', text, NEVER)
  const download = (token?: string) => downloadLedger(model.client(), 'l.ndjson', token, NEVER)
  return { clock, model, upload, download }
}

test("a ledger is uploaded, replaced and downloaded with the writer's clock", async () => {
  const { clock, upload, download } = trial()
  expect(await download()).toEqual({ kind: 'missing' })
  await upload('one')
  clock.advance(10_000)
  await upload('two')
  expect(await download()).toEqual({ kind: 'copy', text: 'two', writtenAtMs: clock.nowMs() })
})

test('a ledger that cannot count any more is not used', async () => {
  const { clock, upload, download } = trial()
  await upload('one')
  clock.advance(2 * HOUR_MS)
  expect(await download()).toMatchObject({ kind: 'copy' })
  clock.advance(1)
  expect(await download()).toEqual({ kind: 'old' })
})

test('a ledger that is not the one that the last run left is not used, nor one that is damaged', async () => {
  const { upload, download, model } = trial()
  const token = await upload('one')
  expect(await download(token)).toMatchObject({ kind: 'copy', text: 'one' })
  await upload('two')
  expect(await download(token)).toEqual({ kind: 'replaced' })
  for (const damage of ['', '{', '{"format":1}', 'null']) {
    model.write('ledger/l.ndjson', damage)
    expect(await download(token)).toEqual({ kind: 'damaged' })
  }
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
  expect(await download()).toMatchObject({ text: 'theirs' })
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
  expect(await download()).toMatchObject({ text: 'theirs' })
})
