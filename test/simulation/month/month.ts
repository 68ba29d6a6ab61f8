/** A month of nights with one run of the command each, and the measurements of each night. */
import { join } from 'node:path'
import type { RunReport } from '../../../src/model/run.js'
import { MICROS_PER_DAY } from '../../../src/reference-server/time.js'
import { loadSettings } from '../../../src/settings/load-settings.js'
import type { Settings } from '../../../src/settings/settings.js'
import { createRandom } from '../random.js'
import type { TakenOver } from '../take-over.js'
import { type Arrivals, createApi, mostInAny } from './api.js'
import { type Behind, countBehind } from './behind.js'
import { answersAt, type Bounds, boundsOf } from './bounds.js'
import { sync } from './night.js'
import { MonthOrganization } from './organization.js'

export interface Night {
  readonly surveys: number
  readonly active: number
  readonly bounds: Bounds
  readonly behind: Behind
  readonly report: RunReport
  /** From the first request to the last, milliseconds. */
  readonly tookMs: number
  /** The most requests in any 60 s. */
  readonly mostInAWindow: number
  readonly repeated: Arrivals['repeated']
}

const DAY_MS = 86_400_000

export const simulate = async (
  taken: TakenOver,
  directory: string,
  count: number,
  seed: number,
): Promise<Night[]> => {
  const { time } = taken
  Math.random = createRandom(seed).unit
  const start = Date.now() * 1_000
  const organization = new MonthOrganization(seed, start)
  const api = createApi(organization)
  const settings = await settingsOf(directory)
  const nights: Night[] = []
  let before: Parameters<typeof boundsOf>[2] = null
  for (let night = 0; night < count; night += 1) {
    const begin = time.nowMs
    const at = start + night * MICROS_PER_DAY
    const { createTransport, arrivals } = api.open(at)
    const report = await sync(taken, settings, createTransport)
    const places = organization.surveyPlaces(at)
    const now = { at, answers: answersAt(organization, at) }
    nights.push({
      surveys: places.length,
      active: places.filter((place) => organization.isActive(at, place)).length,
      bounds: boundsOf(organization, now, before),
      behind: await countBehind(organization, at, join(directory, 'fieldwork.duckdb')),
      report,
      ...spread(arrivals.atMs),
      repeated: arrivals.repeated,
    })
    process.stderr.write(`night ${night + 1}: ${report.requests} requests\n`)
    before = now
    time.skip(DAY_MS - (time.nowMs - begin))
  }
  return nights
}

const spread = (atMs: readonly number[]) => ({
  tookMs: (atMs.at(-1) ?? 0) - (atMs[0] ?? 0),
  mostInAWindow: mostInAny(60_000, atMs),
})

/** The default settings, independent of the environment. */
const settingsOf = async (directory: string): Promise<Settings> =>
  await loadSettings({
    env: {
      FIELDWORK_SYNC_BASE_URL: 'http://127.0.0.1:1/api/v1',
      FIELDWORK_SYNC_API_ID: '1',
      FIELDWORK_SYNC_API_TOKEN: 'token-of-the-month',
      FIELDWORK_SYNC_WAREHOUSE: directory,
    },
    flags: {},
    signal: new AbortController().signal,
  })
