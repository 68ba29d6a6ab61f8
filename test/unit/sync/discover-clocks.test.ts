/** Since when changes are listed after a night in which the clock of the service or of this machine was wrong. */
import { expect, test } from 'vitest'
import { formatInstant } from '../../../src/model/instant.js'
import { runAccount } from '../../../src/sync/run.js'
import { memorySource } from '../../support/api/memory-source.js'
import { instantOf } from '../../support/time/instants.js'
import { testClock } from '../../support/time/test-clock.js'
import { survey, withOneSource } from '../../support/warehouse/rows.js'
import { runDependencies } from '../../support/warehouse/run-dependencies.js'
import { sharedWarehouse } from '../../support/warehouse/warehouse.js'

const emptyWarehouse = sharedWarehouse()

const HOUR_MS = 3_600_000

/** By how many hours the clocks are ahead in a night. */
interface Night {
  readonly server?: number
  readonly ours?: number
}

/** The times from which each night lists changes, night by night from the second on; nights begin at 02:00. */
const listedSince = async (nights: readonly Night[]) => {
  const warehouse = await emptyWarehouse()
  const api = memorySource(withOneSource([1]))
  api.listed.push(survey(1, { status: 'draft' }))
  const clock = testClock('2026-03-01T02:00:00Z')
  const since: string[][] = []
  for (const [index, { server = 0, ours = 0 }] of nights.entries()) {
    clock.put(ours * HOUR_MS)
    api.now = instantOf('2026-03-01T02:00:00Z') + BigInt((index * 24 + server) * HOUR_MS) * 1_000n
    const asked: string[] = []
    const source: typeof api = {
      ...api,
      listSurveys: (query, context) => {
        if (query.updatedSince !== null) asked.push(formatInstant(query.updatedSince))
        return api.listSurveys(query, context)
      },
    }
    const report = await runAccount({ ...runDependencies(warehouse, source), clock, runId: `night-${index}` })
    expect(report.exitCode).toBe(0)
    since.push(asked)
    clock.put(-ours * HOUR_MS)
    clock.advance(24 * HOUR_MS)
  }
  return since.slice(1)
}

test.each<[string, readonly Night[], readonly (readonly string[])[]]>([
  ['of one night, with clocks that agree', [{}, {}], [['2026-03-01T01:55:00Z']]],
  [
    'of the night in which the server was ahead',
    [{}, { server: 3 }, {}, {}],
    [['2026-03-01T01:55:00Z'], ['2026-03-02T04:55:00Z', '2026-03-02T01:55:00Z'], ['2026-03-03T01:55:00Z']],
  ],
  [
    'of the first of two such nights',
    [{}, { server: 3 }, { server: 3 }, {}],
    [['2026-03-01T01:55:00Z'], ['2026-03-02T04:55:00Z'], ['2026-03-03T04:55:00Z', '2026-03-03T01:55:00Z']],
  ],
  [
    'of the first full listing, if the server was ahead then',
    [{ server: 3 }, {}],
    [['2026-03-01T04:55:00Z', '2026-03-01T01:55:00Z']],
  ],
  [
    'of one night, and once more, if the server was behind',
    [{}, { server: -3 }, {}],
    [['2026-03-01T01:55:00Z', '2026-02-28T22:55:00Z'], ['2026-03-01T22:55:00Z']],
  ],
  [
    'of more than one night, once, if our clock was ahead',
    [{}, { ours: 48 }, {}, {}],
    [['2026-03-01T01:55:00Z', '2026-02-27T01:55:00Z'], ['2026-03-02T01:55:00Z'], ['2026-03-03T01:55:00Z']],
  ],
  [
    'of more than one night, once, if our clock was behind',
    [{}, { ours: -48 }, {}, {}],
    [['2026-03-01T01:55:00Z'], ['2026-03-02T01:55:00Z', '2026-02-28T01:55:00Z'], ['2026-03-03T01:55:00Z']],
  ],
  [
    'of one night, if a clock was ahead by less than the overlap',
    [{}, { server: 0.08 }, {}],
    [['2026-03-01T01:55:00Z'], ['2026-03-02T01:59:48Z']],
  ],
])('a night lists the changes %s', async (_, nights, expected) => {
  expect(await listedSince(nights)).toEqual(expected)
})
