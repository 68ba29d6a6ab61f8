/** Stored times ahead of now count as missing. */
import { expect, test } from 'vitest'
import { instantFromMs } from '../../../src/model/instant.js'
import { ageMs, believed } from '../../../src/rules/believed.js'

const now = instantFromMs(1_000)

test('a time up to now is believed, and a time ahead of now is not', () => {
  expect(believed(now, now)).toBe(now)
  expect(believed(now - 1n, now)).toBe(now - 1n)
  expect(believed(now + 1n, now)).toBeNull()
  expect(believed(null, now)).toBeNull()
})

test('the age of a time that is missing or ahead of now is infinite', () => {
  expect(ageMs(instantFromMs(400), now)).toBe(600)
  expect(ageMs(null, now)).toBe(Number.POSITIVE_INFINITY)
  expect(ageMs(now + 1n, now)).toBe(Number.POSITIVE_INFINITY)
})
