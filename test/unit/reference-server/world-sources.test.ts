import { describe, expect, test } from 'vitest'
import { type Api, micros, START_AT, startApi } from './support/api.js'

const UNTIL = '2026-06-01T00:00:00Z'
const JUST_BEFORE_MS = -1
const JUST_AFTER_MS = 1

type Change = Awaited<ReturnType<Api['readChanges']>>[number]

/** One survey as the API shows it. */
const readSurvey = async (api: Api, id: number) => ({
  survey: (await api.readSurveys()).surveys.find((one) => one.id === id)!,
  sources: (await api.readSources(id)).sample_sources,
  progress: await api.readProgress(id),
})

const around = async (api: Api, { at, survey_id }: Change) => {
  const read = async (shiftMs: number) => {
    await api.moveTime({ set: new Date(Date.parse(at) + shiftMs).toISOString() })
    return await readSurvey(api, survey_id)
  }
  return { before: await read(JUST_BEFORE_MS), after: await read(JUST_AFTER_MS) }
}

/** Changes of that kind whose survey has no other change within two milliseconds. */
const loneChanges = (changes: readonly Change[], what: Change['what']): Change[] =>
  changes.filter(
    (change) =>
      change.what === what &&
      changes.every(
        (other) =>
          other === change ||
          other.survey_id !== change.survey_id ||
          Math.abs(micros(other.at) - micros(change.at)) > 2_000,
      ),
  )

const totalOf = ({ interview_count_by_status }: { interview_count_by_status: object }): number =>
  Object.values(interview_count_by_status).reduce((sum, { individuals }) => sum + individuals, 0)

test('sources that are added late come during fieldwork, and none of their interviews began before', async () => {
  await using api = await startApi({ surveys: 30, pageSize: 1000 })
  let late = 0
  for (const change of loneChanges(await api.readChanges('2026-02-01T00:00:00Z', UNTIL), 'source_added')) {
    const { before, after } = await around(api, change)
    expect(after.sources.length).toBe(before.sources.length + 1)
    expect(after.survey).toEqual(before.survey)
    if (before.survey.status !== 'fieldwork') continue
    late += 1
    await api.moveTime({ set: UNTIL })
    const query = `?sample_source_id=${change.sample_source_id}&started_before=${encodeURIComponent(change.at)}`
    const answer = await api.ask(`/surveys/${change.survey_id}/fieldwork_progress${query}`)
    if (answer.status === 200) expect(totalOf(await api.readProgress(change.survey_id, query))).toBe(0)
  }
  expect(late).toBeGreaterThan(2)
})

describe('sources that are removed', () => {
  test('a removed source is not listed, its id is 404, and its interviews and target no longer count', async () => {
    await using api = await startApi({ surveys: 60, pageSize: 1000 })
    const removals = loneChanges(await api.readChanges('2025-12-01T00:00:00Z', UNTIL), 'source_removed')
    let withInterviews = 0
    for (const change of removals) {
      const id = change.sample_source_id!
      await api.moveTime({ set: new Date(Date.parse(change.at) + JUST_BEFORE_MS).toISOString() })
      const own = await api.readProgress(change.survey_id, `?sample_source_id=${id}`)
      const { before, after } = await around(api, change)
      expect(after.sources).toEqual(before.sources.filter((source) => source.id !== id))
      expect(after.sources.length).toBe(before.sources.length - 1)
      expect(after.progress.sample_size).toBe(before.progress.sample_size - own.sample_size)
      expect(totalOf(after.progress)).toBeLessThanOrEqual(totalOf(before.progress) - totalOf(own) + 1)
      expect(after.survey).toEqual(before.survey)
      const path = `/surveys/${change.survey_id}/fieldwork_progress?sample_source_id=${id}`
      expect((await api.ask(path)).status).toBe(404)
      if (totalOf(own) > 0) withInterviews += 1
    }
    expect(withInterviews).toBeGreaterThan(1)
  })

  test('a survey may lose its last source', async () => {
    await using api = await startApi({ surveys: 300, pageSize: 1000 })
    const removals = (await api.readChanges('2025-06-01T00:00:00Z', START_AT)).filter(
      ({ what }) => what === 'source_removed',
    )
    const left = await Promise.all(removals.map(({ survey_id }) => api.readSources(survey_id)))
    const bare = removals.find((_, place) => left[place]!.pagination.total_count === 0)!
    const progress = await api.readProgress(bare.survey_id)
    expect(progress.sample_size).toBe(0)
    expect(totalOf(progress)).toBe(0)
  })
})

describe('sources of quiet surveys', () => {
  test('a source is added, changed or removed in an open survey, or at the same moment as its quiet survey changes', async () => {
    await using api = await startApi({ surveys: 150 })
    const changes = await api.readChanges('2020-01-01T00:00:00Z', '2028-01-01T00:00:00Z')
    const status = new Map<number, string>()
    const ownMoments = new Set(
      changes.flatMap(({ survey_id, at, what }) => (what.startsWith('source') ? [] : `${survey_id} ${at}`)),
    )
    const seen = { open: 0, withSurvey: 0 }
    for (const change of changes) {
      const { survey_id, at, what } = change
      if (what === 'created' || what === 'status') status.set(survey_id, change.status!)
      if (!what.startsWith('source')) continue
      if (ownMoments.has(`${survey_id} ${at}`)) seen.withSurvey += 1
      else {
        expect(['draft', 'complete', 'user_demo']).not.toContain(status.get(survey_id))
        seen.open += 1
      }
    }
    expect(seen.open).toBeGreaterThan(100)
    expect(seen.withSurvey).toBeGreaterThan(100)
  })

  test('the sources and progress of drafts, demos and complete surveys change only together with the survey', async () => {
    await using api = await startApi({ surveys: 30, pageSize: 1000 })
    const quiet = ['draft', 'complete', 'user_demo']
    const read = async () =>
      new Map((await api.readTruth()).accounts[0]!.surveys.map((survey) => [survey.id, survey]))
    let before = await read()
    let compared = 0
    for (let day = 0; day < 6; day++) {
      await api.moveTime({ advance: 'P2DT5H' })
      const after = await read()
      for (const [id, survey] of before) {
        if (!quiet.includes(survey.status) || after.get(id)!.updated_at !== survey.updated_at) continue
        expect(after.get(id)).toEqual(survey)
        compared += 1
      }
      before = after
    }
    expect(compared).toBeGreaterThan(100)
  })
})

test('targets that are adjusted during fieldwork go up and down, never below 0, and move only the updated_at of the source', async () => {
  await using api = await startApi({ surveys: 25, pageSize: 1000 })
  const steps: number[] = []
  for (const change of loneChanges(await api.readChanges('2025-12-01T00:00:00Z', UNTIL), 'source_changed')) {
    const { before, after } = await around(api, change)
    if (before.survey.status !== 'fieldwork') continue
    const find = ({ sources }: typeof before) => sources.find(({ id }) => id === change.sample_source_id)!
    const [earlier, later] = [find(before), find(after)]
    expect(micros(later.updated_at)).toBe(micros(change.at))
    expect(after.survey).toEqual(before.survey)
    expect(after.sources.filter(({ id }) => id !== later.id)).toEqual(
      before.sources.filter(({ id }) => id !== later.id),
    )
    expect(later.sample_size).toBeGreaterThanOrEqual(0)
    expect(after.progress.sample_size - before.progress.sample_size).toBe(
      later.sample_size - earlier.sample_size,
    )
    steps.push(later.sample_size - earlier.sample_size)
  }
  expect(steps.filter((step) => step > 0).length).toBeGreaterThan(1)
  expect(steps.filter((step) => step < 0).length).toBeGreaterThan(1)
})

test('surveys of 50 sources are rare, have 50 or a few more, come in pages of fifty, and no two have the same id', async () => {
  await using api = await startApi({ surveys: 1000, pageSize: 50 })
  const added = (await api.readChanges('2023-01-01T00:00:00Z', UNTIL)).filter(
    ({ what }) => what === 'source_added',
  )
  const sourceIds = added.map(({ sample_source_id }) => sample_source_id!)
  expect(new Set(sourceIds).size).toBe(sourceIds.length)
  expect(Math.min(...sourceIds)).toBeLessThan(2 ** 31)
  expect(Math.max(...sourceIds)).toBeGreaterThan(2 ** 31)
  const counts = new Map<number, number>()
  for (const { survey_id } of added) counts.set(survey_id, (counts.get(survey_id) ?? 0) + 1)
  const large = [...counts].filter(([, count]) => count > 10)
  expect(large.length).toBeGreaterThan(2)
  expect(large.length).toBeLessThan(40)
  expect(Math.min(...large.map(([, count]) => count))).toBeGreaterThanOrEqual(50)
  expect(Math.max(...large.map(([, count]) => count))).toBeLessThanOrEqual(64)
  const lists = await Promise.all(
    large.filter(([id]) => id < 2 ** 31).map(async ([id]) => ({ id, list: await api.readSources(id) })),
  )
  const { id, list: first } = lists.find(({ list }) => list.pagination.total_pages === 2)!
  const second = await api.readSources(id, '?page=2')
  expect(first.sample_sources.length).toBe(50)
  expect(first.pagination).toMatchObject({ next_page: 2, prev_page: null })
  expect(second.pagination).toMatchObject({ next_page: null, prev_page: 1 })
  const ids = [...first.sample_sources, ...second.sample_sources].map((source) => source.id)
  expect(new Set(ids).size).toBe(first.pagination.total_count)
  expect(ids.length).toBe(first.pagination.total_count)
})
