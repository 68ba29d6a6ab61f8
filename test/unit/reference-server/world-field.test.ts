import { describe, expect, test } from 'vitest'
import { Organization } from '../../../src/reference-server/world/organization.js'
import { COUNTRIES } from '../../../src/reference-server/world/vocabulary.js'
import { type Api, micros, START_AT, startApi } from './support/api.js'

const START = micros(START_AT)
const HOUR = 3_600e6
const utc = (at: number): string => new Date(at / 1000).toISOString()

interface Field {
  readonly id: number
  readonly sourceId: number
  readonly opens: number
  readonly closes: number
}

type Progress = Awaited<ReturnType<Api['readProgress']>>

const individuals = ({ interview_count_by_status }: Progress): Record<string, number> =>
  Object.fromEntries(
    Object.entries(interview_count_by_status).map(([status, entry]) => [status, entry.individuals]),
  )

const totalOf = (progress: Progress): number =>
  Object.values(individuals(progress)).reduce((sum, count) => sum + count, 0)

/** How many interviews of a survey or source began from `from` up to `to`, both included. */
const startedWithin = async (api: Api, id: number, from: number, to: number, query = ''): Promise<number> => {
  const bounds = `started_after=${encodeURIComponent(utc(from))}&started_before=${encodeURIComponent(utc(to))}`
  return totalOf(await api.readProgress(id, `?${bounds}${query}`))
}

/** The status changes of surveys that exist at the start, by survey, in the order of time. */
const statusesBySurvey = async (api: Api, from: string, to: string) => {
  const bySurvey = new Map<number, { at: number; status: string | undefined }[]>()
  for (const { survey_id, at, what, status } of await api.readChanges(from, to)) {
    if (what !== 'status' && what !== 'created') continue
    bySurvey.set(survey_id, [...(bySurvey.get(survey_id) ?? []), { at: micros(at), status }])
  }
  return [...bySurvey].map(([id, changes]) => ({ id, changes }))
}

describe('diurnal arrival of interviews', () => {
  test('in a whole world, hardly any interview begins at night by the local clock, most in the evening, fewer of them at weekends', () => {
    const organization = new Organization({ seed: 42, account: 0, surveys: 150, startAt: START })
    const byHour = { week: new Float64Array(24), weekend: new Float64Array(24) }
    for (let index = 0; index < 150; index++) {
      for (const source of organization.field(index)) {
        const offset = COUNTRIES.find(({ code }) => code === source.country.code)!.utcOffsetMinutes * 60e6
        for (const start of source.interviews().starts) {
          const local = new Date((start + offset) / 1000)
          const hours = [0, 6].includes(local.getUTCDay()) ? byHour.weekend : byHour.week
          hours[local.getUTCHours()]! += 1
        }
      }
    }
    const part = (hours: Float64Array, from: number, to: number) =>
      hours.slice(from, to).reduce((sum, count) => sum + count, 0) /
      hours.reduce((sum, count) => sum + count, 0)
    expect(part(byHour.week, 1, 6)).toBeLessThan(0.03)
    expect(part(byHour.week, 18, 22)).toBeGreaterThan(0.3)
    expect(part(byHour.weekend, 18, 22)).toBeLessThan(0.8 * part(byHour.week, 18, 22))
    expect(part(byHour.weekend, 9, 12)).toBeGreaterThan(1.2 * part(byHour.week, 9, 12))
    expect([...byHour.week, ...byHour.weekend].every((count) => count > 0)).toBe(true)
  })
})

describe('when surveys take interviews', () => {
  test('some surveys have interviews while they are pending (a soft launch)', async () => {
    await using api = await startApi({ surveys: 200, pageSize: 1000 })
    const launches = (await statusesBySurvey(api, '2026-01-01T00:00:00Z', '2026-04-01T00:00:00Z')).flatMap(
      ({ id, changes }) => {
        const place = changes.findIndex(({ status }) => status === 'pending')
        const fieldwork = changes[place + 1]
        return place === -1 || fieldwork === undefined ? [] : [{ id, opens: fieldwork.at }]
      },
    )
    expect(launches.length).toBeGreaterThan(5)
    let soft = 0
    for (const { id, opens } of launches) {
      await api.moveTime({ set: utc(opens - 1e3) })
      const survey = (await api.readSurveys('?status=pending')).surveys.find((one) => one.id === id)
      expect(survey).toBeDefined()
      if (totalOf(await api.readProgress(id)) > 0) soft += 1
    }
    expect(soft).toBeGreaterThan(1)
    expect(soft).toBeLessThan(launches.length / 2)
  })

  test('no interview begins while a survey is deviating_from_specs, or before or after its fieldwork', async () => {
    await using api = await startApi({ surveys: 30, pageSize: 1000 })
    await api.moveTime({ set: '2026-06-01T00:00:00Z' })
    const lives = await statusesBySurvey(api, '2025-01-01T00:00:00Z', '2026-06-01T00:00:00Z')
    let pauses = 0
    let inField = 0
    for (const { id, changes } of lives) {
      for (const [place, { at, status }] of changes.entries()) {
        const until = changes[place + 1]?.at ?? micros('2026-06-01T00:00:00Z')
        const held = await startedWithin(api, id, Math.ceil(at / 1e6) * 1e6, until - 1e3)
        if (status === 'fieldwork') inField += held
        else if (status !== 'pending') expect(held).toBe(0)
        if (status === 'deviating_from_specs') pauses += 1
      }
    }
    expect(pauses).toBeGreaterThan(3)
    expect(inField).toBeGreaterThan(1000)
  })
})

describe('API document, "Interview status": the statuses of interviews', () => {
  test('fewer interviews are pending_analysis when a survey is complete than during its fieldwork', async () => {
    await using api = await startApi({ surveys: 100, pageSize: 1000 })
    const ends = (await statusesBySurvey(api, START_AT, '2026-05-01T00:00:00Z')).flatMap(
      ({ id, changes }) => {
        const place = changes.findIndex(({ status }) => status === 'data_processing')
        const complete = changes[place + 1]
        return place === -1 || complete === undefined
          ? []
          : [{ id, closes: changes[place]!.at, completes: complete.at }]
      },
    )
    let [before, after, completed] = [0, 0, 0]
    for (const { id, closes, completes } of ends) {
      const at = async (time: number) => {
        await api.moveTime({ set: utc(time) })
        return individuals(await api.readProgress(id))
      }
      const [closing, complete] = [await at(closes), await at(completes + 1e3)]
      before += closing.pending_analysis!
      after += complete.pending_analysis!
      completed += complete.complete! - closing.complete!
    }
    expect(before).toBeGreaterThan(10)
    expect(after).toBeLessThan(before)
    expect(completed).toBeGreaterThan(0)
  })
})

describe('quotas filling', () => {
  interface Step {
    readonly target: number
    readonly counts: Record<string, number>
    readonly total: number
  }

  /** A source that is not removed, for each survey whose fieldwork begins within three months; and when it begins. */
  const fieldsOf = async (api: Api) => {
    const until = '2026-06-01T00:00:00Z'
    const changes = await api.readChanges(START_AT, until)
    const removed = new Set(
      changes.flatMap(({ what, sample_source_id }) => (what === 'source_removed' ? sample_source_id : [])),
    )
    const fields = []
    for (const { id, changes } of await statusesBySurvey(api, START_AT, until)) {
      const opens = changes.find(({ status }) => status === 'fieldwork')?.at
      const closes = changes.find(({ status }) => status === 'data_processing')?.at
      if (opens === undefined || closes === undefined || closes - opens > 40 * 24 * HOUR) continue
      await api.moveTime({ set: utc(opens) })
      const { sample_sources } = await api.readSources(id)
      const source = sample_sources.find(({ id, sample_size }) => sample_size >= 100 && !removed.has(id))
      if (source !== undefined) fields.push({ id, sourceId: source.id, opens, closes })
    }
    return fields
  }

  /** Pairs of a source's progress: during fieldwork and twelve hours later, with the same target. */
  const follow = async (api: Api, { id, sourceId, opens, closes }: Field): Promise<[Step, Step][]> => {
    const steps: Step[] = []
    for (let at = opens; at <= closes; at += 12 * HOUR) {
      await api.moveTime({ set: utc(at) })
      const progress = await api.readProgress(id, `?sample_source_id=${sourceId}`)
      steps.push({ target: progress.sample_size, counts: individuals(progress), total: totalOf(progress) })
    }
    return steps.flatMap((step, place): [Step, Step][] => {
      const next = steps[place + 1]
      return next === undefined || next.target !== step.target ? [] : [[step, next]]
    })
  }

  test('more interviews are quota_full as the target comes near; after it none is complete', async () => {
    await using api = await startApi({ surveys: 60, pageSize: 1000 })
    const pairs: [Step, Step][] = []
    for (const field of await fieldsOf(api)) pairs.push(...(await follow(api, field)))
    const shareWhere = (isIn: (fill: number) => boolean) => {
      const chosen = pairs.filter(([, { target, counts }]) => isIn(counts.complete! / Math.max(1, target)))
      const sum = (value: (step: Step) => number) =>
        chosen.reduce((total, [step, next]) => total + value(next) - value(step), 0)
      return sum(({ counts }) => counts.quota_full!) / sum(({ total }) => total)
    }
    const near = shareWhere((fill) => fill >= 0.5 && fill < 1)
    expect(near).toBeGreaterThan(2 * shareWhere((fill) => fill < 0.5))
    expect(shareWhere((fill) => fill >= 1)).toBeGreaterThan(2 * near)
    const full = pairs.filter(([{ counts, target }]) => counts.complete! >= target)
    expect(full.length).toBeGreaterThan(3)
    for (const [step, next] of full) expect(next.counts.complete).toBe(step.counts.complete)
    for (const [{ counts, target }, next] of pairs) {
      expect(next.counts.complete).toBeLessThanOrEqual(Math.max(target, counts.complete!))
      if (next.counts.complete! < target) expect(next.counts.above_target).toBe(counts.above_target)
    }
    expect(pairs.some(([step, next]) => next.counts.above_target! > step.counts.above_target!)).toBe(true)
  })
})
