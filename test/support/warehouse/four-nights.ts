/**
 * A world of the reference server that was read on four nights, with the server's truth of each night. Tests derive
 * from it the expected results of queries on the published file.
 */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeAll, expect } from 'vitest'
import type { ReferenceServer } from '../../../src/reference-server/server.js'
import { startWorld } from '../api/reference-api.js'
import { publishedFile, syncWarm, withSettings } from '../command/sync.js'
import { atEndOfFile, temporaryDirectory } from '../files/temporary.js'
import { openWorld, type SurveyRows, truthRows } from '../oracle/truth.js'
import { ALL_CASES } from '../suite/cases.js'
import { openReader, type Reader } from './duckdb.js'

/** Days after the first of March 2026 on which the world is read. */
export const NIGHTS = [0, 1, 2, 9] as const
const LAST_NIGHT = 9
/** The time at which a night's sync reads. */
export const nightAt = (day: number) => `2026-03-${String(1 + day).padStart(2, '0')}T02:00:00Z`
export const dateOf = (day: number) => nightAt(day).slice(0, 10)

interface Night {
  readonly day: number
  readonly surveys: ReadonlyMap<number, SurveyRows>
}

interface Nights {
  readonly server: ReferenceServer
  readonly nights: readonly Night[]
  readonly warehouse: string
  readonly reader: Reader
  /** A survey in the field on every night. On the last night neither its sources nor its progress can be read. */
  readonly failing: number
  /** One of `inField`. On the last night only the list of its sources cannot be read. */
  readonly unlisted: number
  /** The surveys in the field on every night, without `failing`. */
  readonly inField: readonly number[]
}

/** Reads the nights before the tests of the file, and cleans up after them. */
export const fourNights = (): (() => Nights) => {
  let nights: Nights | null = null
  beforeAll(async () => {
    nights = await readFourNights()
  })
  return () => {
    if (nights === null) throw new Error('the nights are read before the tests')
    return nights
  }
}

const readFourNights = async (): Promise<Nights> => {
  const server = await startWorld({ seed: 1435, surveys: 12, startAt: nightAt(0) })
  atEndOfFile(() => server.close())
  const world = openWorld(server)
  const warehouse = await temporaryDirectory(atEndOfFile)
  const [account] = server.accounts
  const plan = join(await temporaryDirectory(atEndOfFile), 'plan.csv')
  await writeFile(
    plan,
    planOf([...(await truthRows(server)).values()].map(({ survey }) => Number(survey.id))),
  )
  const args = await withSettings(
    {
      plan,
      accounts: [{ ...account, base_url: server.baseUrl, rate_limit: { requests: 10_000, per: '1s' } }],
      refresh: { daily_windows: { days: 2 } },
    },
    atEndOfFile,
  )
  const nights: Night[] = []
  let always: readonly number[] = []
  for (const [place, day] of NIGHTS.entries()) {
    if (place > 0) await world.advance(`P${day - (NIGHTS[place - 1] ?? 0)}D`)
    const truth = [...(await truthRows(server)).values()]
    const surveys = new Map(truth.map((rows) => [Number(rows.survey.id), rows]))
    nights.push({ day, surveys })
    const inField = [...surveys.keys()].filter((id) => surveys.get(id)?.survey.status === 'fieldwork')
    always = place === 0 ? inField : always.filter((id) => inField.includes(id))
    if (day === LAST_NIGHT) await world.fail(refusedOf(always), 422)
    // Only the full suite reads the last Parquet version.
    const formats = ALL_CASES && day === LAST_NIGHT ? 'duckdb,parquet' : 'duckdb'
    const { code } = await syncWarm({ warehouse, env: {}, args: [...args, '--publish', formats] })
    expect(code).toBe(day === LAST_NIGHT ? 3 : 0)
  }
  const reader = await openReader(publishedFile(warehouse))
  atEndOfFile(() => reader[Symbol.dispose]())
  const [failing = 0, unlisted = 0] = always.toReversed()
  return { server, nights, warehouse, reader, failing, unlisted, inField: always.slice(0, -1) }
}

/** What was sold for each survey but the last: less than what comes in, so that nothing alarms. The first has another price. */
const planOf = (ids: readonly number[]): string =>
  [
    'survey_id,source,incidence,loi_minutes,cpi,currency',
    ...ids.slice(0, -1).map((id) => `${id},,1%,60,3.80,EUR`),
    `${ids[0]},*,,,4.50,EUR`,
  ].join('\n')

/** The paths that are refused on the last night, for surveys that were in the field on every night. */
const refusedOf = (always: readonly number[]): readonly string[] => {
  const [failing, unlisted] = always.toReversed()
  return [`${failing}/sample_sources`, `${failing}/fieldwork_progress`, `${unlisted}/sample_sources`].map(
    (path) => `/api/v1/surveys/${path}`,
  )
}
