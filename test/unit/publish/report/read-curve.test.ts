/** A curve is level while nothing was observed, and ends with the last reading. */
import { expect, test } from 'vitest'
import { curveOf } from '../../../../src/publish/report/read.js'

const row = (day: number, interviews: number) => ({
  account: 'default',
  survey_id: 1,
  day,
  interviews_count: interviews,
  sample_size: 100,
  complete: interviews,
  undecided: 0,
  rejected: 0,
  not_needed: 0,
  screened_out: 0,
  incomplete: 0,
})
const points = (rows: readonly ReturnType<typeof row>[], lastDay: number) =>
  curveOf(rows, lastDay).map(({ day, interviews_count }) => [day, interviews_count])

test('days with an observation each stay as they are', () => {
  expect(points([row(10, 1), row(11, 3), row(12, 4)], 12)).toEqual([
    [10, 1],
    [11, 3],
    [12, 4],
  ])
})

test('it is level until the day before the next observation', () => {
  expect(points([row(10, 1), row(15, 9)], 15)).toEqual([
    [10, 1],
    [14, 1],
    [15, 9],
  ])
})

test('it goes on to the last reading', () => {
  expect(points([row(10, 1)], 14)).toEqual([
    [10, 1],
    [14, 1],
  ])
  expect(points([], 14)).toEqual([])
})

test('earlier days have longer steps', () => {
  // 24 points before the last 28 days: one in 14.
  const lastDay = 364
  const rows = [row(0, 1), row(14, 5), row(70, 20), row(364, 80)]
  expect(points(rows, lastDay)).toEqual([
    [0, 1],
    [14, 5],
    [56, 5],
    [70, 20],
    [363, 20],
    [364, 80],
  ])
})
