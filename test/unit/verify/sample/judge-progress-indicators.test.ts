import { expect, test } from 'vitest'
import { byStatus } from '../../../../src/model/fields.js'
import { brokenFormulas, totalOf } from '../../../../src/verify/sample/judge-progress.js'

const counts = byStatus<number, null>(
  (status) => ({ complete: 30, incomplete: 10, screen_out: 20 })[String(status)] ?? 0,
  () => null,
)
const row = {
  ...counts,
  ...{ sample_size: 90, interviews_count: 30, drop_out_rate: 10 / 60, completion_rate: 1 / 3, _extra: null },
}

test('the total has the interviews of unknown statuses too, and is null if a count is left out', () => {
  expect(totalOf(row)).toBe(60)
  const extra = '{"interview_count_by_status":{"archived":{"individuals":5,"percentage":1}}}'
  expect(totalOf({ ...row, _extra: extra })).toBe(65)
  expect(totalOf({ ...row, _extra: '{"interview_count_by_status":{"archived":{}}}' })).toBeNull()
  expect(totalOf({ ...row, _extra: '{"mood":"good"}' })).toBe(60)
  expect(totalOf({ ...row, speeder_individuals: null })).toBeNull()
})

test('a formula counts only if the service keeps it, and rounding keeps it', () => {
  expect(brokenFormulas({ ...row, drop_out_rate: 0.5 }, row)).toEqual([
    { field: 'drop_out_rate', stored: 0.5, service: 10 / 60 },
  ])
  expect(brokenFormulas({ ...row, drop_out_rate: 0.17 }, row)).toEqual([])
  expect(brokenFormulas({ ...row, drop_out_rate: 0.5 }, { ...row, drop_out_rate: 0.4 })).toEqual([])
  expect(brokenFormulas({ ...row, drop_out_rate: null }, row)).toEqual([])
  expect(brokenFormulas({ ...row, sample_size: 0 }, row)).toEqual([])
})
