/** What all surveys gained together, on days that are the same for all of them. */
import { expect, test } from 'vitest'
import type { Survey } from '../../../../src/model/fields.js'
import { accountWarehouse } from '../../../../src/warehouse/account-warehouse.js'
import { FIELD_GAINS } from '../../../../src/warehouse/history/gains.js'
import { hourOf } from '../../../support/time/instants.js'
import { bundle, list, progress, RUN, reconstructed, survey } from '../../../support/warehouse/rows.js'
import { sharedWarehouse } from '../../../support/warehouse/warehouse.js'

const emptyWarehouse = sharedWarehouse()

const at = (day: number) => hourOf(day, 14)

/** A number of complete interviews for each night that reads the survey, from the first of March on. */
interface Read extends Partial<Survey> {
  readonly nights: readonly (number | null)[]
}

/** Newest gain, its days, gain of the week, its days, after each of the nights that `runs` names. */
const gainsAfter = async (surveys: readonly Read[], runs: readonly number[], past = false) => {
  const { account, database, rows } = await emptyWarehouse()
  const found: Record<number, unknown[]> = {}
  const rowOf = (place: number, status?: Survey['status']) => {
    const { nights: _, ...change } = surveys[place] ?? { nights: [] }
    return survey(place + 1, { ...change, ...(status === undefined ? {} : { status }) })
  }
  for (const night of runs) {
    const read = surveys.flatMap(({ nights }, place) => {
      const complete = nights[night - 1]
      return complete === null || complete === undefined ? [] : [{ place, complete }]
    })
    const listed = read.map(({ place }) => rowOf(place))
    await list(account, listed, at(night), night === 1 ? 'full' : 'incremental')
    await account.commitBundles(
      read.map(({ place, complete }) => bundle(place + 1, at(night), [], progress(complete))),
      RUN,
    )
    if (past && night === 1)
      for (const { place, complete } of read)
        for (const days of [1, 2, 3, 4, 5, 6, 7])
          await account.commitReconstructed(
            [reconstructed(place + 1, [days], progress(complete - 2 * days), at(1))],
            RUN,
          )
    // Another account, of which only one day is known, adds nothing.
    if (night === runs[0]) {
      const other = accountWarehouse(database, 'bolt')
      await list(other, [survey(1)], at(night), 'full')
      await other.commitBundles([bundle(1, at(night), [], progress(50))], RUN)
    }
    const [row = {}] = await rows(FIELD_GAINS)
    found[night] = Object.values(row).map((value) => (value === null ? null : Number(value)))
  }
  return found
}

const nightly = (gain: number, from = 20): readonly number[] =>
  Array.from({ length: 14 }, (_, night) => from + gain * night)

test('the gains are of the same last day and the same last 7 days for every survey', async () => {
  const surveys: readonly Read[] = [
    { nights: nightly(5) },
    // Paused since the sixth night: its pace is of earlier days.
    { nights: [20, 30, 40, 50, 60, 60, 60, 60, 60, 60], status: 'deviating_from_specs' },
    // It ended on the sixth night, and was read less and less often. Then quality checks took back all of it.
    { nights: [1, 2, 3, 4, 5, 11, 11, null, 0, null], status: 'complete' },
    // Created later: it began without an interview.
    { nights: [null, null, null, null, null, 8, 9, 9, 9, 12], created_at: at(5) },
    // Not read before the eighth night, but older.
    { nights: [null, null, null, null, null, null, null, 90, 91, 92] },
    { nights: nightly(100), status: 'user_demo' },
  ]
  const found = await gainsAfter(surveys, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10])
  expect(found[1]).toEqual([null, null, null, null])
  expect(found[2]).toEqual([5 + 10 + 1, 1, 16, 1])
  expect(found[6]).toEqual([5 + 0 + 6 + 8, 1, 25 + 40 + 10 + 8, 5])
  expect(found[10]).toEqual([5 + 0 + 0 + 3 + 1, 1, 35 + 20 + 8 + 12 + 2, 7])
})

test('after nights without a run, the gains say how many days they cover', async () => {
  const found = await gainsAfter([{ nights: nightly(5) }], [1, 2, 3, 5, 6, 10, 11, 12, 13])
  expect(found[5]).toEqual([10, 2, 20, 4])
  expect(found[10]).toEqual([20, 4, 35, 7])
  // The fourth was not read.
  expect(found[11]).toEqual([5, 1, 40, 8])
  expect(found[12]).toEqual([5, 1, 35, 7])
})

test('before the first reading, reconstructed days count', async () => {
  const found = await gainsAfter([{ nights: nightly(5) }], [1, 2, 4, 12], true)
  expect(found[1]).toEqual([2, 1, 14, 7])
  expect(found[2]).toEqual([5, 1, 17, 7])
  expect(found[4]).toEqual([10, 2, 23, 7])
  expect(found[12]).toEqual([40, 8, 40, 8])
})

test('an account that is no longer read adds what it gained within these days, and no days', async () => {
  const { account, database, rows } = await emptyWarehouse()
  const other = accountWarehouse(database, 'bolt')
  const totals = async () => (await rows(FIELD_GAINS)).map((row) => Object.values(row).map(Number))
  for (const each of [account, other]) await list(each, [survey(1)], at(1), 'full')
  for (let night = 1; night <= 20; night += 1) {
    await account.commitBundles([bundle(1, at(night), [], progress(5 * night))], RUN)
    if (night <= 6) await other.commitBundles([bundle(1, at(night), [], progress(100 * night))], RUN)
    if (night === 6) expect(await totals()).toEqual([[105, 1, 525, 5]])
    // Seven days back, on the second, it had 200.
    if (night === 9) expect(await totals()).toEqual([[5, 1, 35 + 400, 7]])
  }
  expect(await totals()).toEqual([[5, 1, 35, 7]])
})

test('a few surveys that were read later in the day do not make a day of their own', async () => {
  const { account, database, rows } = await emptyWarehouse()
  const other = accountWarehouse(database, 'bolt')
  const ids = [1, 2, 3, 4, 5]
  const totals = async () => (await rows(FIELD_GAINS)).map((row) => Object.values(row).map(Number))
  await list(
    account,
    ids.map((id) => survey(id)),
    hourOf(1, 1),
    'full',
  )
  await list(other, [survey(1)], hourOf(1, 1), 'full')
  for (let day = 1; day <= 12; day += 1) {
    const read = (id: number) => bundle(id, hourOf(day, 2), [], progress(20 * day))
    await account.commitBundles(ids.map(read), RUN)
    await other.commitBundles([read(1)], RUN)
  }
  const all = [[6 * 20, 1, 6 * 140, 7]]
  expect(await totals()).toEqual(all)
  await account.commitBundles([bundle(3, hourOf(12, 15), [], progress(251))], RUN)
  await other.commitBundles([bundle(1, hourOf(12, 15), [], progress(252))], RUN)
  expect(await totals()).toEqual(all)
})

test('the last gain of the last survey counts after its end', async () => {
  const found = await gainsAfter([{ nights: [20, 25, 31], status: 'complete' }], [1, 2, 3])
  expect(found[3]).toEqual([6, 1, 11, 2])
})
