/** What is stored after nights in which sources moved, also by numbers that cancel out in their survey. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { MemorySurvey } from '../../support/api/memory-source.js'
import { cases } from '../../support/suite/cases.js'
import { minute } from '../../support/time/instants.js'
import { readAndCommit } from '../../support/warehouse/read-bundle.js'
import { source } from '../../support/warehouse/rows.js'
import { counted, differing, move, summed, world } from '../../support/warehouse/summed-survey.js'
import { sharedWarehouse } from '../../support/warehouse/warehouse.js'

const emptyWarehouse = sharedWarehouse()
const DAY = 24 * 60

test('opposite moves of two sources are found after a week in an active survey, and in an inactive one with its next change', async () => {
  for (const isNightly of [true, false]) {
    const warehouse = await emptyWarehouse()
    const { api, survey } = world()
    await readAndCommit(warehouse, api, { isNightly })
    move(survey, { 11: { complete: 1 }, 13: { complete: -1 } })
    api.now = minute(6 * DAY)
    await readAndCommit(warehouse, api, { isNightly })
    expect(await differing(warehouse, api)).toEqual([11, 13])
    api.now = minute(7 * DAY)
    if (!isNightly) move(survey, { 12: { complete: 1 } })
    await readAndCommit(warehouse, api, { isNightly })
    expect(await differing(warehouse, api)).toEqual([])
  }
})

/** What its list and its progress show. */
const shown = ({ sources, progress }: MemorySurvey): string =>
  JSON.stringify([sources, progress], (_, cell) => (typeof cell === 'bigint' ? String(cell) : cell))

const moves = fc.record({
  complete: fc.dictionary(fc.constantFrom('11', '12', '13', '14'), fc.integer({ min: -2, max: 2 })),
  added: fc.boolean(),
  removed: fc.boolean(),
  renamed: fc.boolean(),
})

test('after any night a source is wrong only if neither the list nor the progress of its survey has changed since', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(moves, { minLength: 1, maxLength: 5 }), async (nights) => {
      const warehouse = await emptyWarehouse()
      const { api, survey } = world()
      await readAndCommit(warehouse, api)
      for (const [night, { complete, added, removed, renamed }] of nights.entries()) {
        const before = shown(survey)
        if (renamed) survey.sources = survey.sources.map((one) => ({ ...one, name: `night ${night}` }))
        if (added) {
          survey.sources.push(source(20 + night))
          survey.sourceProgress[20 + night] = counted({ complete: night })
        }
        if (removed) delete survey.sourceProgress[survey.sources.splice(1, 1)[0]?.id ?? 0]
        const known = Object.entries(complete).filter(
          ([id]) => survey.sourceProgress[Number(id)] !== undefined,
        )
        move(survey, Object.fromEntries(known.map(([id, moved]) => [id, { complete: moved }])))
        summed(survey)
        api.now = minute((night + 1) * DAY)
        await readAndCommit(warehouse, api)
        const isSame = shown(survey) === before
        if (!isSame) expect(await differing(warehouse, api)).toEqual([])
      }
      api.now = minute(14 * DAY)
      await readAndCommit(warehouse, api)
      expect(await differing(warehouse, api)).toEqual([])
    }),
    cases(3),
  )
})
