/** A month of nights with one run of the command each, in a warehouse that stays, and the measurements of each night. */
import { join } from 'node:path'
import { newRunId } from '../../../src/commands/context.js'
import { syncAccounts } from '../../../src/commands/sync.js'
import type { CreateTransport } from '../../../src/http/transport.js'
import type { RunReport } from '../../../src/model/run.js'
import { MICROS_PER_DAY } from '../../../src/reference-server/time.js'
import { loadSettings } from '../../../src/settings/load-settings.js'
import type { Settings } from '../../../src/settings/settings.js'
import { SILENT, UNOBSERVED } from '../../support/log/test-log.js'
import { mostInAny } from '../../support/oracle/rate.js'
import { Generation, generations, UNDISTURBED } from '../generation.js'
import type { TakenOver } from '../operations.js'
import { createRandom } from '../random.js'
import { answersAt, type Bounds, boundsOf, type NightAnswers } from './answers.js'
import { type Arrivals, createApi } from './api.js'
import { type Behind, createComparison } from './behind.js'
import { MonthOrganization, type WORLDS } from './organization.js'

export interface Night {
  readonly active: number
  readonly bounds: Bounds
  /**
   * The requests of this run, had it known which sources had changed of the surveys that it looked at: all that were made, but those that
   * found the progress of a source unchanged, and those that got an answer for the second time in this night. What is left is the floor of
   * the promises, with the same rules of when to look: unlike the least, it includes every look at a survey, a list of sources or the list
   * of surveys that finds nothing.
   */
  readonly inOrder: number
  readonly behind: Behind
  readonly report: RunReport
  /** From the first request to the last, milliseconds. */
  readonly tookMs: number
  /** The most requests in any 60 s. */
  readonly mostInAWindow: number
  readonly repeated: Arrivals['repeated']
}

const DAY_MS = 86_400_000
/** Several surveys are committed together, as on a slow disk. */
const COMMIT_MS = 1_000

export const simulate = async (
  taken: TakenOver,
  directory: string,
  count: number,
  seed: number,
  world: keyof typeof WORLDS,
): Promise<Night[]> => {
  const { time } = taken
  Math.random = createRandom(seed).unit
  const start = Date.now() * 1_000
  const organization = new MonthOrganization(seed, start, world)
  const openApi = createApi(organization)
  const settings = await settingsOf(directory)
  const nights: Night[] = []
  const compare = createComparison()
  let before: NightAnswers | null = null
  for (let night = 0; night < count; night += 1) {
    const begin = time.nowMs
    const cpuBefore = process.cpuUsage()
    const at = start + night * MICROS_PER_DAY
    const { createTransport, arrivals } = openApi(at)
    const report = await sync(taken, settings, createTransport)
    const now = answersAt(organization, at, before)
    const { repeated, again } = arrivals
    nights.push({
      active: organization.surveyIndexes(at).filter((place) => organization.isActive(at, place)).length,
      bounds: boundsOf(organization, now, before),
      inOrder: report.requests - repeated.progressBySource - again.progress - again.sources,
      behind: await compare(
        [...now.surveys.values()].map(({ facts }) => facts),
        join(directory, 'fieldwork.duckdb'),
      ),
      report,
      tookMs: (arrivals.atMs.at(-1) ?? 0) - (arrivals.atMs[0] ?? 0),
      mostInAWindow: mostInAny(arrivals.atMs, 60_000),
      repeated,
    })
    const cpu = process.cpuUsage(cpuBefore)
    const seconds = ((cpu.user + cpu.system) / 1e6).toFixed(1)
    process.stderr.write(`night ${night + 1}: ${report.requests} requests, ${seconds} s of CPU\n`)
    before = now
    time.nowMs += DAY_MS - (time.nowMs - begin)
  }
  return nights
}

/** The default settings, independent of the environment. */
const settingsOf = (directory: string): Promise<Settings> =>
  loadSettings({
    env: {
      FIELDWORK_SYNC_BASE_URL: 'http://127.0.0.1:1/api/v1',
      FIELDWORK_SYNC_API_ID: '1',
      FIELDWORK_SYNC_API_TOKEN: 'token-of-the-month',
      FIELDWORK_SYNC_WAREHOUSE: directory,
    },
    flags: {},
    signal: new AbortController().signal,
  })

/** A whole run of the command on virtual time. Rejects when it is not complete. */
const sync = async (
  { time, databases }: TakenOver,
  settings: Settings,
  createTransport: CreateTransport,
): Promise<RunReport> => {
  const generation = new Generation({ ...UNDISTURBED, commitMs: COMMIT_MS })
  const work = generations.run(generation, () =>
    syncAccounts({
      settings,
      createTransport,
      runId: newRunId(time.nowMs),
      log: SILENT,
      observer: UNOBSERVED,
      signal: new AbortController().signal,
      onSource: () => undefined,
    }),
  )
  const { accounts, publishError } = await time.drive(work).catch(async (error: unknown) => {
    // The process cannot end when a database is closed in the middle of a statement.
    await time.idle()
    throw error
  })
  await databases.settled()
  generation.dead = true
  time.sweep()
  const [report] = accounts
  if (report?.status !== 'complete' || publishError !== null)
    throw new Error(`the run is not complete: ${report?.reason ?? publishError}`)
  return report
}
