/** A wrong statement is a bug; a statement that fails only in one file is damage there. */
import { expect, test } from 'vitest'
import { z } from 'zod'
import type { Database } from '../../../../src/warehouse/connection/database.js'
import { isOwnFault } from '../../../../src/warehouse/lifecycle/migrations.js'

const select = (sql: string) => (database: Database) =>
  database.exclusively((on) => on.rows(z.unknown(), sql))

test.each([
  ['SELECT pace_days FROM survey_pace', false],
  ['SELECT pace_d\ufffdys FROM survey_pace', true],
  ['SELECT * FROM survey_pase', true],
  ['SELEKT 1', true],
])('%s is our fault: %s', async (sql, expected) => {
  expect(await isOwnFault(select(sql))).toBe(expected)
})

test('any other error of the work is thrown', async () => {
  await expect(isOwnFault(() => Promise.reject(new Error('stopped')))).rejects.toThrow('stopped')
})
