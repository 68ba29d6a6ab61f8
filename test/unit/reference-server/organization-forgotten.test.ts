import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { parseIsoTime } from '../../../src/reference-server/time.js'
import { Organization } from '../../../src/reference-server/world/organization.js'
import { START_AT } from './support/api.js'

const START = parseIsoTime(START_AT)!
const DAY = 86_400e6

describe('a forgotten survey', () => {
  test('moves the older ones up: every page is the page of the list without it', () => {
    const world = new Organization({ seed: 42, account: 0, surveys: 30, startAt: START })
    const all = world.listSurveys(START, {}, 0, 100).rows.map(({ id }) => id)
    const place = fc.integer({ min: 0, max: 31 })
    fc.assert(
      fc.property(fc.array(place), place, place, (places, first, count) => {
        for (const one of places) world.forgetSurvey(all[one] ?? 0)
        const left = all.filter((_, index) => !places.includes(index))
        const { rows, total } = world.listSurveys(START, {}, first, count)
        expect([rows.map(({ id }) => id), total]).toEqual([left.slice(first, first + count), left.length])
        world.rememberSurveys()
      }),
      { numRuns: 30 },
    )
  })

  test('may be forgotten before it is created', () => {
    const world = new Organization({ seed: 42, account: 0, surveys: 30, startAt: START })
    const later = START + 200 * DAY
    const { id } = world.listSurveys(later, {}, 0, 1).rows[0]!
    expect(world.findSurvey(START, id)).toBeNull()
    expect([world.createsSurvey(id, START), world.createsSurvey(id, later)]).toEqual([false, true])
    expect([world.createsSurvey(12, later), world.createsSurvey(2 ** 53 - 1, later)]).toEqual([false, false])
    world.forgetSurvey(id)
    expect(world.listSurveys(START, {}, 0, 1).total).toBe(30)
    expect(world.findSurvey(later, id)).toBeNull()
  })
})
