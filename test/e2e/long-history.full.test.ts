/**
 * One warehouse syncs night after night from an organization that changes in every way the API document allows. At the end it
 * holds every version and observation with its time, every day, and the time at which each record went missing. DuckDB, Parquet
 * and the service agree. CHAOS_SEED replays a run.
 */
import { expect, test } from 'vitest'
import {
  type Arrival,
  type Json,
  type ScriptedApi,
  sendJson,
  startScriptedApi,
} from '../support/api/scripted-api.js'
import { publishedFile, syncWarm, withSettings } from '../support/command/sync.js'
import { temporaryDirectory } from '../support/files/temporary.js'
import { bothHistories, ExpectedHistory, progressRow, type Reading } from '../support/history/expected.js'
import {
  createOrganization,
  DAY_MS,
  isActive,
  type Organization,
  progressOfSurvey,
  scriptedOf,
  truthOf,
} from '../support/history/organization.js'
import { unsoundness } from '../support/oracle/soundness.js'
import { rowsOfSurvey, warehouseRowsIn } from '../support/oracle/truth.js'
import { chance } from '../support/suite/chance.js'
import { openReader, type Reader } from '../support/warehouse/duckdb.js'
import { tablesThatDiffer } from '../support/warehouse/parquet.js'

const NIGHTS = 200
const CHECKED_EVERY = 10
const START_MS = Date.parse('2026-09-01T02:00:00Z')
const OPEN_DAYS = 2

/** The settings change twice, and each zone changes its clocks. */
const timeZoneOf = (night: number) => (night < (NIGHTS * 2) / 3 ? 'Europe/Paris' : 'America/St_Johns')

const windowsOf = (night: number) => ({
  days: OPEN_DAYS,
  sources: night < NIGHTS / 3 || night >= (NIGHTS * 2) / 3,
})

/** A checked night reads every survey with all of its sources, so all rows are current. Other nights skip unchanged ones. */
const settingsOf = (night: number, isChecked: boolean) => ({
  publish: ['duckdb', 'parquet'],
  time_zone: timeZoneOf(night),
  refresh: {
    daily_windows: windowsOf(night),
    ...(isChecked ? { recheck_sources_after: '0s', max_age: '0s' } : {}),
  },
})

/** Returns the date of an instant in a zone. */
const dateIn = (timeZone: string) => {
  const format = new Intl.DateTimeFormat('sv-SE', { timeZone, dateStyle: 'short' })
  return (ms: number): string => format.format(ms)
}

const daysBefore = (day: string, days: number): string =>
  new Date(Date.parse(`${day}T00:00:00Z`) - days * DAY_MS).toISOString().slice(0, 10)

/** Records each answer in the expected history. Answers requests for single days itself. */
const recordAnswers = (
  { shown }: Organization,
  expected: ExpectedHistory,
  night: Reading,
): ((arrival: Arrival) => Json | undefined) => {
  const dateOf = dateIn(night.timeZone)
  return ({ path, query }) => {
    const isFirstPage = (query.get('page') ?? '1') === '1'
    const since = query.get('updated_since')
    if (path === '/surveys' && isFirstPage) {
      const rows = shown.map(({ row }) => row)
      const changed = rows.filter((row) => since === null || Date.parse(row.updated_at) >= Date.parse(since))
      expected.listing(changed, since === null, night)
    }
    const [, id, resource] = /^\/surveys\/(\d+)\/(\w+)$/.exec(path) ?? []
    const survey = shown.find(({ row }) => row.id === Number(id))
    if (survey === undefined) return undefined
    if (resource === 'sample_sources' && isFirstPage)
      expected.sourcesOf(
        survey.row.id,
        survey.sources.map(({ row }) => row),
        night,
      )
    const sourceId = query.has('sample_source_id') ? Number(query.get('sample_source_id')) : null
    const isListed = sourceId === null || survey.sources.some(({ row }) => row.id === sourceId)
    if (resource !== 'fieldwork_progress' || !isListed) return undefined
    const [after, before] = ['started_after', 'started_before'].map((name) => query.get(name))
    if (!after || !before) {
      expected.progressOf(survey.row.id, sourceId, progressOfSurvey(survey, sourceId), night)
      return undefined
    }
    const [fromMs, toMs] = [Date.parse(after), Date.parse(before)]
    const progress = progressOfSurvey(survey, sourceId, (startMs) => startMs >= fromMs && startMs <= toMs)
    expected.dayOf(survey.row.id, sourceId, dateOf(fromMs), progress, night)
    return { fieldwork_progress: progress }
  }
}

// Quick tests show the same with fewer events: the simulation, and the tests of merge and views.
test(`after ${NIGHTS} nights of random changes, the warehouse has every version, every observation and the truth`, async () => {
  const lots = chance()
  const { replay } = lots
  const organization = createOrganization(lots)
  const expected = new ExpectedHistory()
  const api = await startScriptedApi()
  const warehouse = await temporaryDirectory()
  for (let night = 0; night <= NIGHTS; night += 1) {
    const isChecked = night % CHECKED_EVERY === 0
    const listsAll = isChecked || lots.fraction() < 0.4
    const nowMs = START_MS + night * DAY_MS + lots.below(180) * 60_000
    // On the first night there is no survey.
    if (night > 0) organization.change(nowMs, { listsAll })
    await syncNight({ organization, expected, api, warehouse, lots, night, nowMs, isChecked, listsAll })
    if (!isChecked) continue
    const where = `night ${night}; ${replay}`
    expect(await unsoundness(publishedFile(warehouse)), where).toEqual([])
    using reader = await openReader(publishedFile(warehouse))
    expect(await tablesThatDiffer({ rows: reader.query, directory: warehouse }), where).toEqual([])
    const both = await bothHistories(reader, expected)
    expect(both.stored, where).toEqual(both.expected)
    expect(await warehouseRowsIn(reader), where).toEqual(truthOfAll(organization))
    expect(await openDays(reader, organization, night, nowMs), where).toEqual([])
  }
  expect(
    [...organization.eventCounts].filter(([, times]) => times < 3),
    replay,
  ).toEqual([])
})

interface NightToRead {
  readonly organization: Organization
  readonly expected: ExpectedHistory
  readonly api: ScriptedApi
  readonly warehouse: string
  readonly lots: ReturnType<typeof chance>
  readonly night: number
  readonly nowMs: number
  readonly isChecked: boolean
  readonly listsAll: boolean
}

const syncNight = async (options: NightToRead): Promise<void> => {
  const { organization, expected, api, warehouse, lots, night, nowMs, isChecked, listsAll } = options
  api.now = new Date(nowMs)
  api.pageSize = lots.oneOf([1, 2, 5, 50])
  api.surveys.splice(0, api.surveys.length, ...organization.shown.map(scriptedOf))
  const timeZone = timeZoneOf(night)
  const answerOf = recordAnswers(organization, expected, {
    at: new Date(nowMs).toISOString().replace('.000', ''),
    timeZone,
    openFrom: daysBefore(dateIn(timeZone)(nowMs), OPEN_DAYS - 1),
  })
  api.hook = (arrival, response) => {
    const body = answerOf(arrival)
    if (body === undefined) return undefined
    sendJson(api, response, 200, body)
    return true
  }
  const args = await withSettings(settingsOf(night, isChecked))
  const { code, run } = await syncWarm({
    warehouse,
    env: api.env,
    args: listsAll ? [...args, '--full'] : args,
  })
  expect({ code, ...run }, `night ${night}; ${lots.replay}`).toMatchObject({
    code: 0,
    left_over: 0,
    surveys_failed: 0,
    rejected_rows: 0,
    drift_events: 0,
    retries: 0,
  })
}

const truthOfAll = ({ shown }: Organization) =>
  new Map(
    shown
      .map(truthOf)
      .toSorted((one, other) => Number(one.id) - Number(other.id))
      .map((survey) => [`default/${survey.id}`, rowsOfSurvey(survey)] as const),
  )

/** Lists the open days of active surveys that differ from the service, counted by the date of each interview's start. */
const openDays = async (reader: Reader, { shown }: Organization, night: number, nowMs: number) => {
  const timeZone = timeZoneOf(night)
  const { sources } = windowsOf(night)
  const dateOf = dateIn(timeZone)
  const today = dateOf(nowMs)
  const wrong: string[] = []
  for (const survey of shown.filter(isActive)) {
    const rows = await reader.query(
      `SELECT * REPLACE (CAST(day AS VARCHAR) AS day) FROM survey_progress_by_day WHERE survey_id = ${survey.row.id}
        AND _missing_since IS NULL AND time_zone = '${timeZone}'`,
    )
    for (const sourceId of [null, ...(sources ? survey.sources.map(({ row }) => row.id) : [])])
      for (const day of Array.from({ length: OPEN_DAYS }, (_, days) => daysBefore(today, days))) {
        const expected = progressRow(progressOfSurvey(survey, sourceId, (startMs) => dateOf(startMs) === day))
        const row = rows.find((one) => one.day === day && one.sample_source_id === sourceId)
        const differing = Object.keys(expected).filter((name) => row?.[name] !== expected[name])
        if (differing.length > 0)
          wrong.push(`${survey.row.id}/${sourceId} on ${day}: ${differing.join(', ')}`)
      }
  }
  return wrong
}
