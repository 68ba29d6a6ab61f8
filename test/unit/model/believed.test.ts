/** Stored times that lie ahead of now are none. */
import { expect, test } from 'vitest'
import { ageMs, believed } from '../../../src/model/believed.js'
import { instantFromMs } from '../../../src/model/instant.js'

const now = instantFromMs(1_000)

test('a time up to now is believed, and one that lies ahead is not', () => {
  expect(believed(now, now)).toBe(now)
  expect(believed(now - 1n, now)).toBe(now - 1n)
  expect(believed(now + 1n, now)).toBeNull()
  expect(believed(null, now)).toBeNull()
})

test('its age is without end where it is missing or lies ahead', () => {
  expect(ageMs(instantFromMs(400), now)).toBe(600)
  expect(ageMs(null, now)).toBe(Number.POSITIVE_INFINITY)
  expect(ageMs(now + 1n, now)).toBe(Number.POSITIVE_INFINITY)
})
