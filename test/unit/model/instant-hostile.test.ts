/** Instants are read as by a slow reference reader, for any text. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { parseInstant } from '../../../src/model/instant.js'
import { anyText } from '../../support/hostile/any-text.js'
import { anyTime, slowInstant } from '../../support/hostile/odd-times.js'
import { cases } from '../../support/suite/cases.js'

const text = fc.oneof(
  { weight: 9, arbitrary: anyTime },
  anyText({ maxLength: 40 }),
  anyTime.chain((time) =>
    fc.nat({ max: time.length }).map((cut) => `${time.slice(0, cut)}${time.slice(cut + 1)}`),
  ),
  fc.tuple(anyTime, anyTime).map((times) => times.join('')),
)

test('any text is read as by the slow reference reader, to the microsecond', () => {
  let read = 0
  fc.assert(
    fc.property(text, (one) => {
      const instant = parseInstant(one)
      expect(instant).toBe(slowInstant(one))
      if (instant !== null) read += 1
    }),
    cases(300),
  )
  expect(read).toBeGreaterThan(50)
})
