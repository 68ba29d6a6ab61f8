/** The days of a bundle: which are read, which are not, and what happens to an unusable answer. */
import { expect, test } from 'vitest'
import type { DailyWindows, RefreshRules, TaskReason } from '../../../src/model/run.js'
import { memorySource, rejectedProgress } from '../../support/api/memory-source.js'
import { minute } from '../../support/time/instants.js'
import { readAndCommit } from '../../support/warehouse/read-bundle.js'
import { list, progress, RUN, source, survey } from '../../support/warehouse/rows.js'
import { queuedTasks, REFRESH_RULES } from '../../support/warehouse/run-dependencies.js'
import { sharedWarehouse } from '../../support/warehouse/warehouse.js'

const emptyWarehouse = sharedWarehouse()

const RULE: DailyWindows = { days: 2, time_zone: 'UTC', sources: true }
const WHOLE: DailyWindows = { ...RULE, sources: false }
const DAY = 24 * 60

const world = async (rule: DailyWindows | null = RULE) => {
  const warehouse = await emptyWarehouse()
  await list(warehouse.account, [survey(1)], minute(0), 'full')
  const api = memorySource({
    1: { sources: [source(11)], progress: progress(5), sourceProgress: { 11: progress(5) } },
  })
  let refresh: RefreshRules = { ...REFRESH_RULES, daily_windows: rule }
  return {
    warehouse,
    api,
    /** The survey in the API. */
    whole: api.surveys.get(1)!,
    change: (to: Partial<typeof refresh>) => {
      refresh = { ...refresh, ...to }
    },
    /** The requests for days that a night makes. */
    night: async (minutes: number, reason: TaskReason = 'active') => {
      api.now = minute(minutes)
      await readAndCommit(warehouse, api, { reason, refresh })
      return api.asked.filter((request) => request.includes(' on '))
    },
  }
}

const FIRST = ['1', '1/11'].flatMap((of) =>
  ['2026-02-28', '2026-03-01'].map((day) => `progress ${of} on ${day}`),
)

test('days of a survey and its sources are read once, and not again while nothing changes', async () => {
  const { night, api } = await world()
  expect(await night(0)).toEqual(FIRST)
  expect(await night(DAY)).toEqual([])
  expect(api.asked).toEqual(['sources 1 page 1', 'progress 1'])
})

test('days are read again when the progress differs, and after recheck_sources_after', async () => {
  const { night, change, whole } = await world()
  await night(0)
  whole.progress = progress(6)
  expect(await night(1)).toEqual(FIRST)
  expect(await night(6 * DAY)).toEqual([])
  expect(await night(7 * DAY + 1)).toEqual(
    ['', '/11'].flatMap((series) =>
      ['02-28', '03-01', '03-02', '03-03', '03-04', '03-05', '03-06', '03-07', '03-08'].map(
        (day) => `progress 1${series} on 2026-${day}`,
      ),
    ),
  )
  change({ recheck_sources_after: 0 })
  expect(await night(7 * DAY + 2)).toEqual(
    FIRST.map((request) => request.replace('02-28', '03-07').replace('03-01', '03-08')),
  )
})

test('days are read again after a night without days and in a new time zone; sources that had none get theirs alone', async () => {
  const { night, change } = await world(WHOLE)
  expect(await night(0)).toEqual(FIRST.slice(0, 2))
  change({ daily_windows: null })
  expect(await night(1)).toEqual([])
  change({ daily_windows: WHOLE })
  expect(await night(2)).toEqual(FIRST.slice(0, 2))
  change({ daily_windows: { ...WHOLE, time_zone: 'Europe/Paris' } })
  expect(await night(3)).toEqual(FIRST.slice(0, 2))
  change({ daily_windows: { ...RULE, time_zone: 'Europe/Paris' } })
  expect(await night(4)).toEqual(FIRST.slice(2))
})

test('days of a source that has gone, or of sources that are switched off, do not cause another reading', async () => {
  const { night, change, whole } = await world()
  Object.assign(whole, { sources: [source(11), source(12)] })
  Object.assign(whole.sourceProgress, { 12: progress(0) })
  expect(await night(0)).toHaveLength(3 * 2)

  // Source 12 goes. Its rows keep the old time zone for good.
  whole.sources = [source(11)]
  delete whole.sourceProgress[12]
  change({ daily_windows: { ...RULE, time_zone: 'Europe/Paris' } })
  expect(await night(1)).toEqual(FIRST)
  expect(await night(2)).toEqual([])

  change({ daily_windows: { ...WHOLE, time_zone: 'Asia/Tokyo' } })
  expect(await night(3)).toEqual(FIRST.slice(0, 2))
  expect(await night(4)).toEqual([])
})

test('a stored day that has not begun in the new time zone is read again once it begins there', async () => {
  const { night, change, warehouse } = await world({ ...WHOLE, time_zone: 'Pacific/Kiritimati' })
  await night(11 * 60)
  change({ daily_windows: { ...WHOLE, time_zone: 'Pacific/Honolulu' } })
  // It is 2 March in Kiritimati and 1 March in Honolulu.
  expect(await night(11 * 60 + 1)).toEqual(FIRST.slice(0, 2))
  expect(await night(11 * 60 + 2)).toEqual([])
  expect(await night(DAY + 11 * 60)).toEqual([
    'progress 1 on 2026-02-28',
    'progress 1 on 2026-03-01',
    'progress 1 on 2026-03-02',
  ])
  await warehouse.expectRows('SELECT DISTINCT time_zone FROM survey_progress_by_day', [['Pacific/Honolulu']])
})

test('days of sources count as behind while they are switched off, and all are read when they are switched on again', async () => {
  const { night, change, warehouse, whole } = await world()
  const known = async () =>
    (await warehouse.rows('SELECT days_read_at AS whole, source_days_read_at AS sources FROM freshness'))[0]
  await night(0)
  expect(await known()).toEqual({ whole: '2026-03-01T00:00:00Z', sources: '2026-03-01T00:00:00Z' })
  change({ daily_windows: WHOLE })
  Object.assign(whole, { progress: progress(6), sourceProgress: { 11: progress(6) } })
  expect(await night(1)).toEqual(FIRST.slice(0, 2))
  expect(await known()).toEqual({ whole: '2026-03-01T00:01:00Z', sources: null })
  // Nothing has changed since the night without them, and they are behind all the same.
  change({ daily_windows: RULE })
  expect(await night(2)).toEqual(FIRST.slice(2))
  expect(await known()).toEqual({ whole: '2026-03-01T00:01:00Z', sources: '2026-03-01T00:02:00Z' })
  await warehouse.expectRows('SELECT DISTINCT interviews_count AS held FROM survey_progress_by_day', [[6]])
  expect(await night(3)).toEqual([])
})

test('the days of a source that has gone are marked as missing even while days are switched off', async () => {
  const { night, change, warehouse, whole } = await world()
  await night(0)
  Object.assign(whole, { sources: [], sourceProgress: {} })
  change({ daily_windows: null })
  await night(1)
  await warehouse.expectRows(
    'SELECT DISTINCT sample_source_id AS id, _missing_since AS missing FROM survey_progress_by_day ORDER BY 1',
    [
      [11, '2026-03-01T00:01:00Z'],
      [null, null],
    ],
  )
})

test('a day that cannot be typed goes to quarantine, and the next night reads all days of that series again', async () => {
  const { night, api, warehouse } = await world()
  const read = api.readProgress
  api.readProgress = async (query, context) => {
    const reading = await read(query, context)
    const { sampleSourceId, window } = query
    if (sampleSourceId !== null || window?.day !== '2026-03-01') return reading
    const rejected = { ...rejectedProgress(1, null), day: window.day, raw: `{"at":${api.now}}` }
    return { ...reading, row: null, rejections: [rejected] }
  }
  await night(0)
  await warehouse.expectRows('SELECT count(*) AS rows FROM survey_progress_by_day', [[3]])
  await warehouse.expectRows('SELECT problem, day::VARCHAR AS day FROM _sync.rejected_rows', [
    ['completion_rate: not a number', '2026-03-01'],
  ])
  // The progress of the whole survey is confirmed all the same.
  await night(0.5)
  await warehouse.expectRows('SELECT confirmed_until FROM survey_progress_periods', [
    ['2026-03-01T00:00:30Z'],
  ])
  api.readProgress = read
  // The days of its source were all typed.
  expect(await night(1)).toEqual(FIRST.slice(0, 2))
  expect(await night(2)).toEqual([])
})

test('when a source goes while its days are read, the list is read again and its days are marked as missing', async () => {
  const { night, api, warehouse, whole } = await world()
  await night(0)
  whole.progress = progress(6)
  api.before = (request) => {
    if (request !== 'progress 1/11 on 2026-02-28') return
    whole.sources = []
    whole.sourceProgress = {}
  }
  await night(1)
  expect(api.asked.filter((request) => request === 'sources 1 page 1')).toHaveLength(2)
  await warehouse.expectRows(
    'SELECT sample_source_id AS id, count(*) AS rows, count(_missing_since) AS missing FROM survey_progress_by_day GROUP BY 1 ORDER BY 1',
    [
      [11, 2, 2],
      [null, 2, 0],
    ],
  )
})

test('days of a survey that has gone are marked as missing, and all are read again when it returns, final ones too', async () => {
  const { night, api, change, warehouse, whole } = await world(WHOLE)
  change({ recheck_sources_after: 0 })
  await night(0)
  await night(DAY)
  const days = async () =>
    warehouse.rows(
      'SELECT day::VARCHAR AS day, is_final, _missing_since IS NOT NULL AS missing FROM survey_progress_by_day ORDER BY day',
    )
  const known = [
    { day: '2026-02-28', is_final: true, missing: false },
    { day: '2026-03-01', is_final: false, missing: false },
    { day: '2026-03-02', is_final: false, missing: false },
  ]
  expect(await days()).toEqual(known)
  api.surveys.clear()
  await night(DAY + 1, 'missing')
  expect(await days()).toEqual(known.map((row) => ({ ...row, missing: true })))
  api.surveys.set(1, whole)
  expect(await night(DAY + 2)).toHaveLength(3)
  expect(await days()).toEqual(known)
})

test('the queue reserves requests for the days of an active survey, and for the days of a closed one that are not final', async () => {
  const { night, warehouse } = await world()
  await night(0)
  const requests = async (rule: DailyWindows | null) => {
    await warehouse.account.enqueue([{ surveyId: 1, reason: 'active' }], { runId: RUN, at: minute(1) })
    const [task] = await queuedTasks(warehouse.account, minute(2), { daily_windows: rule })
    return task?.reserve
  }
  expect(await requests(null)).toBe(3)
  expect(await requests(WHOLE)).toBe(3 + 3)
  expect(await requests(RULE)).toBe(3 + 2 * 3)
  await warehouse.run("UPDATE surveys SET status = 'complete'")
  expect(await requests(RULE)).toBe(3 + 4)
  // Days of sources that are off or gone are not read again. Final days in another time zone are.
  expect(await requests(WHOLE)).toBe(3 + 2)
  await warehouse.run(
    "UPDATE survey_progress_by_day SET _missing_since = '2026-03-01' WHERE sample_source_id IS NOT NULL",
  )
  expect(await requests(RULE)).toBe(3 + 2)
  await warehouse.run('UPDATE survey_progress_by_day SET is_final = true')
  expect(await requests(RULE)).toBe(3)
  expect(await requests({ ...RULE, time_zone: 'Europe/Paris' })).toBe(3 + 2)
})
