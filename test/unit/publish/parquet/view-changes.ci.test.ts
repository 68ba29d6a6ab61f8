/** Which partitions of views a publish evaluates: every row equals that of an evaluation over the whole history. */
import { readlink, rm, symlink } from 'node:fs/promises'
import { shuffler } from 'd3-array'
import { expect, test } from 'vitest'
import type { Instant } from '../../../../src/model/instant.js'
import { VIEW_NAMES, type ViewName } from '../../../../src/model/publish-formats.js'
import { ALL_TABLES, tableName } from '../../../../src/model/sync-tables.js'
import { createLacks } from '../../../../src/publish/file-system-lacks.js'
import { writeManifest } from '../../../../src/publish/parquet/manifest.js'
import { isPartitioned, publishedViews } from '../../../../src/publish/parquet/tables.js'
import { accountWarehouse } from '../../../../src/warehouse/account-warehouse.js'
import { storeForecasts } from '../../../../src/warehouse/history/forecasts.js'
import { storeTimeZone } from '../../../../src/warehouse/history/time-zone.js'
import { storePlan } from '../../../../src/warehouse/plan.js'
import { NEVER } from '../../../support/storage/bucket.js'
import { howMany, some } from '../../../support/suite/cases.js'
import { type Chance, chance } from '../../../support/suite/chance.js'
import { instantOf, minute } from '../../../support/time/instants.js'
import {
  currentOf,
  filesOf,
  manifestOf,
  publishParquet,
  tablesThatDiffer,
  writtenAnew,
} from '../../../support/warehouse/parquet.js'
import {
  bundle,
  daysRead,
  list,
  planLine,
  progress,
  rejection,
  source,
  survey,
} from '../../../support/warehouse/rows.js'
import { type TestWarehouse, testWarehouse } from '../../../support/warehouse/warehouse.js'

const DAY_MINUTES = 24 * 60
const HOUR = 3_600_000_000n
/** Nights are a week apart, so that new surveys are of three months. */
const nightAt = (night: number): Instant => minute(7 * night * DAY_MINUTES)
const msOf = (instant: Instant): number => Number(instant / 1_000n)
const BY_MONTH = publishedViews(VIEW_NAMES).filter(isPartitioned)
const NAMES = BY_MONTH.map(({ view }) => view.name)

const publish = (warehouse: TestWarehouse, views: readonly ViewName[]) =>
  publishParquet(warehouse, createLacks(warehouse.log), NEVER, views)

const STATUSES = ['draft', 'fieldwork', 'fieldwork', 'fieldwork', 'data_processing', 'complete'] as const
const CREATED = ['2025-11-03', '2025-12-24', '2026-01-31', '2026-02-01']

/** The first ten surveys are there from the first night on, and each later night has a new one. At times one moves to another month. */
const surveyOf = (id: number, lots: Chance) => {
  const created = `${lots.below(12) === 0 ? lots.oneOf(CREATED) : CREATED[id % CREATED.length]}T10:00:00Z`
  return survey(id, {
    created_at: id > 10 ? nightAt(id - 10) - HOUR : instantOf(created),
    status: lots.oneOf(STATUSES),
    title: lots.oneOf(['One', 'Another']),
    project_id: lots.oneOf([null, 'P1']),
  })
}

/** The readings of a few surveys. Surveys from 90 on are in no list, so their month is not known. */
const readNight = async (
  { database }: TestWarehouse,
  name: string,
  night: number,
  hour: number,
  lots: Chance,
) => {
  const account = accountWarehouse(database, name)
  const at = nightAt(night) + BigInt(hour) * HOUR
  const ids = Array.from({ length: 10 + night }, (_, id) => id + 1)
  const isFull = night === 0 || lots.below(4) === 0
  const isListed = (id: number) => night === 0 || id === ids.length || lots.below(9) < (isFull ? 8 : 2)
  const listed = ids.filter(isListed).map((id) => surveyOf(id, lots))
  await list(account, listed, at, isFull ? 'full' : 'incremental')
  const read = [...ids, 90].filter((id) => id === ids.length || lots.below(5) === 0)
  await account.commitBundles(
    read.map((id) => bundleOf(id, night, at, lots)),
    'run-1',
  )
}

const bundleOf = (id: number, night: number, at: Instant, lots: Chance) => {
  const sources = [1, 2, 3]
    .filter((place) => place === 1 || lots.below(4) > 0)
    .map((place) => source(id * 10 + place, { created_at: at - HOUR, sample_size: lots.below(50) }))
  const complete = Math.max(0, 3 * night + lots.below(9) - 4)
  const whole = progress(complete, lots.below(9) === 0 ? { interviews_count: null } : {})
  const day = new Date(msOf(at)).toISOString().slice(0, 10)
  const days = daysRead([day], [null, id * 10 + 1], progress(lots.below(4)), at)
  const rejections = lots.below(12) === 0 ? [rejection({ endpoint: 'fieldwork_progress', surveyId: id })] : []
  return bundle(id, at, sources, lots.below(15) === 0 ? null : whole, {
    ...(lots.below(4) === 0 ? { days } : {}),
    rejections,
  })
}

/** Lines about a project, a survey, and sources by their names, so about surveys of several months. */
const planOf = (lots: Chance) =>
  [{ project_id: 'P1' }, { survey_id: 3 }, { source: 'S*1' }, { project_id: 'P1', source: 'S*2' }].map(
    (where, index) =>
      planLine({ ...where, line: index + 2, cpi: 1 + lots.below(9), currency: 'EUR', incidence: 0.5 }),
  )

const EVENTS = ['none', 'killed', 'compaction', 'views', 'plan', 'time zone', 'removed account'] as const

/** Changes what surveys share, and returns the views to publish. */
const happen = async (
  warehouse: TestWarehouse,
  event: (typeof EVENTS)[number],
  night: number,
  names: readonly ViewName[],
  lots: Chance,
) => {
  const { database, account } = warehouse
  const at = nightAt(night)
  if (event === 'removed account')
    for (const table of ALL_TABLES.filter(({ columns }) => columns.some(({ name }) => name === 'account')))
      await warehouse.run(`DELETE FROM ${tableName(table)} WHERE account = 'bolt'`)
  if (event === 'plan') await storePlan(database, planOf(lots))
  if (event === 'compaction') await account.compactProgress(at + 24n * HOUR, { runId: 'run-1', at })
  if (event === 'time zone')
    await storeTimeZone(database, lots.oneOf(['Asia/Tokyo', 'America/St_Johns']), msOf(at))
  return event === 'views' ? names.filter(() => lots.below(2) === 0) : names
}

/** As after a kill before the pointer moves: a new version is complete, but readers have the one before. */
const publishInVain = async (warehouse: TestWarehouse, views: readonly ViewName[]): Promise<void> => {
  const current = currentOf(warehouse)
  const target = await readlink(current)
  await publish(warehouse, views)
  await rm(current)
  await symlink(target, current)
}

test('every published row is that of an evaluation over the whole history, whatever happens between two', async () => {
  for (let world = 0; world < howMany(1, 5); world += 1) {
    const lots = chance()
    const warehouse = await testWarehouse()
    await warehouse.account.startRun({
      runId: 'run-1',
      command: 'sync',
      version: '1.2.3',
      startedAt: minute(0),
    })
    await storeTimeZone(warehouse.database, 'UTC', msOf(minute(0)))
    const firstEvent = lots.below(EVENTS.length)
    const names = [...new Set(['source_overview' as const, ...some(shuffler(lots.fraction)([...NAMES]), 5)])]
    for (let night = 0; night < howMany(3, 10); night += 1) {
      const event = (night === 0 ? undefined : EVENTS[(night + firstEvent) % EVENTS.length]) ?? 'none'
      await readNight(warehouse, 'acme', night, 2, lots)
      await readNight(warehouse, lots.oneOf(['acme', 'bolt']), night, 3, lots)
      const views = await happen(warehouse, event, night, names, lots)
      await storeForecasts(warehouse.database)
      if (event === 'killed') {
        await publishInVain(warehouse, views)
        await readNight(warehouse, 'acme', night, 4, lots)
      }
      await publish(warehouse, views)
      const where = `night ${night}, ${event}; ${lots.replay}`
      expect(await tablesThatDiffer(warehouse, currentOf(warehouse), views), where).toEqual([])
    }
  }
})

/** The months are those of surveys, so each view has the same. */
const ONE_VIEW = ['progress_daily'] as const

const published = async (): Promise<TestWarehouse> => {
  const warehouse = await testWarehouse()
  const { account } = warehouse
  const of = (month: string) => ({ created_at: instantOf(`2026-0${month}-05T00:00:00Z`) })
  await list(account, [survey(1, of('1')), survey(2, of('2')), survey(3, of('1'))], minute(0), 'full')
  for (const night of [1, 2]) await read(warehouse, night, [1, 2])
  await publish(warehouse, ONE_VIEW)
  return warehouse
}

const read = ({ account }: TestWarehouse, night: number, ids: readonly number[]) =>
  account.commitBundles(
    ids.map((id) => bundle(id, minute(night * DAY_MINUTES), [source(id * 10)], progress(id * night))),
    'run-1',
  )

/** After this, an evaluation finds other rows in every file of a view. */
const forgetDigests = async (warehouse: TestWarehouse): Promise<void> => {
  const manifest = await manifestOf(currentOf(warehouse))
  for (const view of manifest.tables.filter(({ is_view }) => is_view === true))
    for (const file of view.files) file.digest = '0:0'
  await writeManifest(currentOf(warehouse), manifest)
}

const monthsWritten = async (warehouse: TestWarehouse, change: () => Promise<unknown>) => {
  await forgetDigests(warehouse)
  const before = await filesOf(currentOf(warehouse))
  await change()
  await publish(warehouse, ONE_VIEW)
  const written = writtenAnew(before, await filesOf(currentOf(warehouse)))
  return written.flatMap((path) => /^progress_daily\/.*created_month=([^/]+)/.exec(path)?.[1] ?? [])
}

const expectEqual = async (warehouse: TestWarehouse): Promise<void> =>
  expect(await tablesThatDiffer(warehouse, currentOf(warehouse), ONE_VIEW)).toEqual([])

test('a view is evaluated only for the months of surveys that changed', async () => {
  const warehouse = await published()
  expect(await monthsWritten(warehouse, () => read(warehouse, 3, [2]))).toEqual(['2026-02'])
  expect(await monthsWritten(warehouse, () => read(warehouse, 4, [3]))).toEqual(['2026-01'])
  expect(await monthsWritten(warehouse, async () => undefined)).toEqual([])
  // Whether its first gain counts from 0 follows from the first listing, which is of surveys of other months.
  const added = async () => {
    const at = minute(5 * DAY_MINUTES)
    await list(warehouse.account, [survey(4, { created_at: at - HOUR })], at)
    await read(warehouse, 5, [4])
  }
  expect(await monthsWritten(warehouse, added)).toEqual(['2026-03'])
  await expectEqual(warehouse)
})

test('it is evaluated for all months after a change of what all surveys share', async () => {
  const warehouse = await published()
  const all = ['2026-01', '2026-02']
  const zone = () => storeTimeZone(warehouse.database, 'Asia/Tokyo', msOf(minute(0)))
  expect(await monthsWritten(warehouse, zone)).toEqual(all)
  // The survey that was listed first has another version.
  const relisted = survey(1, { created_at: instantOf('2026-01-05T00:00:00Z'), title: 'new' })
  const relist = async () => {
    await list(warehouse.account, [relisted], minute(5 * DAY_MINUTES))
    await read(warehouse, 5, [1])
  }
  expect(await monthsWritten(warehouse, relist)).toEqual(all)
  const upgrade = async () => {
    const manifest = await manifestOf(currentOf(warehouse))
    await writeManifest(currentOf(warehouse), { ...manifest, program: '0.0.1' })
  }
  expect(await monthsWritten(warehouse, upgrade)).toEqual(all)
  await expectEqual(warehouse)
})
