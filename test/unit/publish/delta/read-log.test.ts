import { expect, test } from 'vitest'
import {
  checkpointKey,
  commitKey,
  logFilesOf,
  nextNumber,
  outdatedKeys,
} from '../../../../src/publish/delta/read-log.js'

const DAY_MS = 86_400_000
const at = (key: string, days: number | null) => ({
  key,
  bytes: 1,
  etag: '"1"',
  ageMs: days === null ? null : days * DAY_MS,
})
const commit = (number: number, days: number | null) => at(commitKey('data/t', number), days)
const checkpoint = (number: number, days: number | null) => at(checkpointKey('data/t', number), days)
const both = (number: number, days: number) => [checkpoint(number, days), commit(number, days)]

test('keys have twenty digits', () => {
  expect(commitKey('data/t', 12)).toBe('data/t/_delta_log/00000000000000000012.json')
  expect(checkpointKey('data/t', 12)).toBe('data/t/_delta_log/00000000000000000012.checkpoint.parquet')
})

test('the next number follows the highest, and other objects do not count', () => {
  expect(nextNumber(logFilesOf([]))).toBe(0)
  const others = ['_last_checkpoint', '00000000000000000099.crc'].map((name) =>
    at(`data/t/_delta_log/${name}`, 1),
  )
  expect(nextNumber(logFilesOf([commit(11, 1), commit(12, 1), ...others]))).toBe(13)
})

test.each([
  ['nothing without an old checkpoint', [commit(0, 90), commit(1, 80), checkpoint(1, 29), commit(2, 1)], []],
  [
    'what is below the newest old checkpoint',
    [commit(0, 90), ...both(1, 80), ...both(2, 40), ...both(3, 5)],
    [commit(0, 90), commit(1, 80), checkpoint(1, 80)],
  ],
  [
    'nothing above a file of unknown age',
    [commit(0, 90), commit(1, null), commit(2, 50), checkpoint(3, 40)],
    [commit(0, 90)],
  ],
  ['nothing when no age is known', [commit(0, null), checkpoint(1, null), commit(2, null)], []],
])('deletes %s', (_, objects, deleted) => {
  expect(outdatedKeys(logFilesOf(objects))).toEqual(deleted.map(({ key }) => key))
})
