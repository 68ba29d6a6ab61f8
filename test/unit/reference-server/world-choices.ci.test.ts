/** The options that change what a client may rely on: when sources change, what moves `updated_at`, and late corrections. */
import { describe, expect, test } from 'vitest'
import { TOUCHES, type Touch } from '../../../src/reference-server/option-texts.js'
import { INTERVIEW_STATUSES, type ProgressResource } from '../../../src/reference-server/resources.js'
import { howMany, some } from '../../support/suite/cases.js'
import { type Api, micros, START_AT, startApi } from './support/api.js'

type Survey = Awaited<ReturnType<Api['readTruth']>>['accounts'][number]['surveys'][number]

const readAll = async (api: Api) =>
  new Map((await api.readTruth()).accounts[0]!.surveys.map((survey) => [survey.id, survey]))

/** The survey's own fields without its `updated_at`. */
const ownFields = ({
  updated_at,
  sample_sources,
  fieldwork_progress,
  sample_source_progress,
  ...own
}: Survey) => own

const countsOf = ({ sample_source_progress }: Survey) =>
  Object.entries(sample_source_progress).map(([id, progress]) => [id, progress.interview_count_by_status])

const sourceIds = ({ sample_sources }: Survey) => sample_sources.map(({ id }) => id)

const differ = (one: unknown, other: unknown): boolean => JSON.stringify(one) !== JSON.stringify(other)

const advance = async (api: Api, hours: number) => {
  await api.moveTime({ advance: `PT${hours}H` })
}

/** Whether something that `touch` names moved between the two readings of a survey. */
const isTouched = (touch: Touch, now: Survey, old: Survey): boolean => {
  const byInterviews = touch === 'interviews' || touch === 'both'
  const bySources = touch === 'sources' || touch === 'both'
  return (
    (byInterviews && differ(countsOf(now), countsOf(old))) ||
    (bySources && differ(now.sample_sources, old.sample_sources))
  )
}

describe('--touch', () => {
  test.each(some(['both', ...TOUCHES] as const, 1))(
    '%s: updated_at and updated_since show exactly what it names, and nothing else differs',
    async (touch) => {
      await using plain = await startApi({ surveys: 40, pageSize: 1000 })
      await using api = await startApi({ surveys: 40, pageSize: 1000, touch })
      let since = START_AT
      let before = await readAll(api)
      let touched = 0
      for (let step = 1; step <= 3; step++) {
        await Promise.all([advance(plain, 12), advance(api, 12)])
        const [now, reference] = [await readAll(api), await readAll(plain)]
        const query = `?updated_since=${encodeURIComponent(since)}`
        const found = new Set((await api.readSurveys(query)).surveys.map(({ id }) => id))
        for (const [id, survey] of now) {
          expect({ ...survey, updated_at: '' }).toEqual({ ...reference.get(id), updated_at: '' })
          expect(found.has(id)).toBe(micros(survey.updated_at) >= micros(since))
          const old = before.get(id)
          // Interviews in a source that came or went in between do not show at both moments.
          if (old === undefined || (touch === 'interviews' && differ(sourceIds(survey), sourceIds(old))))
            continue
          const isSeen = isTouched(touch, survey, old)
          expect(found.has(id)).toBe(isSeen || differ(ownFields(survey), ownFields(old)))
          if (isSeen) touched += 1
        }
        since = new Date(Date.parse(START_AT) + step * 12 * 3_600_000 + 1).toISOString()
        before = now
      }
      expect(touched > 0).toBe(touch !== 'none')
    },
  )

  test('a touch by a source is shown to the microsecond', async () => {
    await using api = await startApi({
      surveys: 150,
      pageSize: 1000,
      touch: 'sources',
      sourceChanges: 'free',
    })
    for (const survey of (await readAll(api)).values()) {
      const moments = survey.sample_sources.map(({ updated_at }) => micros(updated_at))
      expect(micros(survey.updated_at)).toBeGreaterThanOrEqual(Math.max(0, ...moments))
    }
  })
})

describe('--source-changes free', () => {
  test('sources of drafts, demos and complete surveys change alone, while the survey stays as it is', async () => {
    await using api = await startApi({ surveys: 60, pageSize: 1000, sourceChanges: 'free' })
    const changes = await api.readChanges('2025-12-01T00:00:00Z', '2026-06-01T00:00:00Z')
    const ownMoments = new Set(
      changes.flatMap(({ survey_id, at, what }) => (what.startsWith('source') ? [] : `${survey_id} ${at}`)),
    )
    const alone = { draft: 0, complete: 0, user_demo: 0 }
    for (const { survey_id, at, what } of changes) {
      if (!what.startsWith('source_') || ownMoments.has(`${survey_id} ${at}`)) continue
      await api.moveTime({ set: at })
      const status = (await api.readSurveys()).surveys.find(({ id }) => id === survey_id)!.status
      if (status === 'draft' || status === 'complete' || status === 'user_demo') alone[status] += 1
    }
    expect(Math.min(...Object.values(alone))).toBeGreaterThan(0)
  })
})

const individuals = ({ interview_count_by_status: counts }: ProgressResource): number[] =>
  Object.values(counts).map((entry) => entry.individuals)

const sumOf = (rows: readonly (readonly number[])[]): number[] =>
  INTERVIEW_STATUSES.map((_, place) => rows.reduce((sum, row) => sum + row[place]!, 0))

describe('--late-corrections', () => {
  test('a part of the complete surveys loses one to three complete interviews, and nothing else shows it', async () => {
    const options = { surveys: howMany(100, 200), pageSize: 1000 }
    await using plain = await startApi(options)
    await using api = await startApi({ ...options, lateCorrections: '25%/60d' })
    const lostOfComplete: number[] = []
    for (const hours of [0, 24 * 30]) {
      await Promise.all([advance(plain, hours), advance(api, hours)])
      const [now, reference] = [await readAll(api), await readAll(plain)]
      for (const [id, survey] of now) {
        const other = reference.get(id)!
        const { fieldwork_progress, sample_source_progress } = survey
        const lost = other.fieldwork_progress.interviews_count - fieldwork_progress.interviews_count
        const isSame = survey.status !== 'complete' || lost === 0
        const alike = isSame ? other : { ...other, fieldwork_progress, sample_source_progress }
        expect(survey).toEqual(alike)
        expect(sumOf(Object.values(sample_source_progress).map(individuals))).toEqual(
          individuals(fieldwork_progress),
        )
        if (survey.status === 'complete' && other.fieldwork_progress.interviews_count > 0)
          lostOfComplete.push(lost)
      }
    }
    const corrected = lostOfComplete.filter((lost) => lost > 0)
    expect([Math.min(...corrected), Math.max(...corrected)]).toEqual([1, 3])
    expect(corrected.length / lostOfComplete.length).toBeGreaterThan(0.15)
    expect(corrected.length / lostOfComplete.length).toBeLessThan(0.35)
  })

  test('they come one after another, up to the longest delay after the survey was complete', async () => {
    await using api = await startApi({ surveys: 60, pageSize: 1000, lateCorrections: '100%/10d' })
    const completions = (await api.readChanges(START_AT, '2026-03-21T00:00:00Z')).filter(
      ({ status }) => status === 'complete',
    )
    const delays: number[] = []
    for (const { survey_id, at } of completions) {
      await api.moveTime({ set: at })
      let { interviews_count: before } = await api.readProgress(survey_id)
      for (let day = 1; day <= 20; day++) {
        await advance(api, 24)
        const { interviews_count: count } = await api.readProgress(survey_id)
        for (let lost = count; lost < before; lost++) delays.push(day)
        before = count
      }
    }
    expect(completions.length).toBeGreaterThan(2)
    expect(delays.length).toBeGreaterThanOrEqual(completions.length)
    expect(Math.max(...delays)).toBeLessThanOrEqual(11)
    expect(new Set(delays).size).toBeGreaterThan(1)
  })
})

describe('--bad-sources', () => {
  const rejectedOf = ({ interview_count_by_status: counts }: ProgressResource): number =>
    counts.speeder.individuals +
    counts.straightliner.individuals +
    counts.failed_quality_check.individuals +
    counts.inappropriate_language.individuals

  test('some sources have far more interviews rejected, and nothing else of the world differs', async () => {
    const options = { surveys: howMany(60, 200), pageSize: 1000 }
    await using plain = await startApi(options)
    await using api = await startApi({ ...options, badSources: 20 })
    const reference = await readAll(plain)
    const added: number[] = []
    let equal = 0
    for (const [id, { fieldwork_progress, sample_source_progress, ...survey }] of await readAll(api)) {
      const { fieldwork_progress: _, sample_source_progress: progress, ...other } = reference.get(id)!
      expect(survey).toEqual(other)
      for (const [source, now] of Object.entries(sample_source_progress)) {
        const before = progress[source]!
        const complete = before.interviews_count
        if (complete < 100) continue
        if (differ(now, before)) added.push((rejectedOf(now) - rejectedOf(before)) / complete)
        else equal += 1
      }
      expect(sumOf(Object.values(sample_source_progress).map(individuals))).toEqual(
        individuals(fieldwork_progress),
      )
    }
    expect(added.length / (added.length + equal)).toBeGreaterThan(0.1)
    expect(added.length / (added.length + equal)).toBeLessThan(0.3)
    expect(Math.min(...added)).toBeGreaterThan(0.1)
  })
})

test('plain titles change titles, and names and descriptions of sources, and nothing else', async () => {
  const plainNames = ['Main panel', 'Boost 18–24', 'Client file', 'Social media', 'Online panel', 'Import']
  const truthOf = async (titles: 'odd' | 'plain') => {
    await using api = await startApi({ surveys: 200, pageSize: 1000, titles })
    return [...(await readAll(api)).values()]
  }
  const [odd, plain, again] = [await truthOf('odd'), await truthOf('plain'), await truthOf('plain')]
  const unnamed = (surveys: readonly Survey[]) =>
    surveys.map(({ title, sample_sources, ...rest }) => ({
      ...rest,
      sample_sources: sample_sources.map(({ name, description, ...source }) => source),
    }))
  expect(unnamed(plain)).toEqual(unnamed(odd))
  expect(again).toEqual(plain)
  for (const { title, sample_sources } of plain) {
    expect(title).toMatch(/^[A-Z][a-z ]+ [A-Z]{2}, wave \d+( \(v\d\))?$/)
    for (const { name, description } of sample_sources) {
      expect(plainNames).toContain(name.replace(/ \d$/, ''))
      expect(description).toMatch(/^[A-Z][a-z0-9, +]+( \(v\d\))?$/)
    }
  }
  expect(odd.some(({ title }) => /[^\0-\u00ff]/.test(title))).toBe(true)
})
