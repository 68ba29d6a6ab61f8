import { describe, expect, test } from 'vitest'
import { INTERVIEW_STATUSES } from '../../../src/reference-server/resources.js'
import { IGNORED } from '../../../src/reference-server/world/interviews.js'
import { Organization } from '../../../src/reference-server/world/organization.js'
import { type Api, micros, START_AT, startApi } from './support/api.js'

const START = micros(START_AT)
const SURVEYS = 20

interface Interview {
  readonly start: number
  readonly seconds: number
  /** How long it is pending_analysis before it has its status. */
  readonly analysisSeconds: number
  readonly status: string
}

/** The interviews of a survey, by source, as a plain list, read directly from the world of the same seed. */
const interviewsOf = (surveyId: number): Map<number, Interview[]> => {
  const organization = new Organization({ seed: 42, account: 0, surveys: SURVEYS, startAt: START })
  const field = organization.field(organization.findSurvey(START + 30 * 86_400e6, surveyId)!)
  return new Map(
    field.map((source) => {
      const { starts, durations, analysisMinutes, statuses } = source.interviews()
      const plain = Array.from(starts, (start, place) => ({
        start,
        seconds: durations[place]!,
        analysisSeconds: analysisMinutes[place]! * 60,
        status: statuses[place] === IGNORED ? 'ignored' : INTERVIEW_STATUSES[statuses[place]!]!,
      }))
      return [source.id, plain] as const
    }),
  )
}

/** API document, "Fieldwork progress", a second time and as simple as possible. */
const expectedProgress = (interviews: readonly Interview[], sampleSize: number, at: number) => {
  const shown = interviews
    .filter(({ start, status }) => start <= at && status !== 'ignored')
    .map((interview) => {
      const end = interview.start + interview.seconds * 1e6
      if (end > at) return { ...interview, status: 'incomplete' }
      return end + interview.analysisSeconds * 1e6 > at
        ? { ...interview, status: 'pending_analysis' }
        : interview
    })
  const count = (status: string) => shown.filter((interview) => interview.status === status).length
  const rate = (part: number, whole: number) => (whole === 0 ? null : part / whole)
  const seconds = shown
    .filter(({ status }) => status === 'complete')
    .map((interview) => interview.seconds)
    .sort((one, other) => one - other)
  const middle = seconds.length / 2
  const median =
    seconds.length % 2 === 1
      ? seconds[Math.floor(middle)]!
      : Math.round((seconds[middle - 1]! + seconds[middle]!) / 2)
  const complete = count('complete')
  const target = rate(complete, complete + count('screen_out'))
  return {
    sample_size: sampleSize,
    interviews_count: complete,
    interview_count_by_status: Object.fromEntries(
      INTERVIEW_STATUSES.map((status) => [
        status,
        {
          individuals: count(status),
          percentage: shown.length === 0 ? 0 : (100 * count(status)) / shown.length,
        },
      ]),
    ),
    completion_rate: rate(complete, sampleSize),
    questionnaire_incidence_rate: rate(
      complete,
      complete + count('screen_out') + count('quota_full') + count('incomplete'),
    ),
    target_incidence_rate: target,
    incidence_rate: target,
    drop_out_rate: rate(count('incomplete'), shown.length),
    length_of_interview: seconds.length === 0 ? null : median,
  }
}

/** A survey with interviews in several sources. */
const busySurvey = async (api: Api) => {
  const surveys = (await api.readTruth()).accounts[0]!.surveys
  return surveys.find(
    ({ sample_sources, fieldwork_progress }) =>
      sample_sources.length >= 3 && fieldwork_progress.interviews_count > 200,
  )!
}

describe('API document, "View the fieldwork progress of a survey"', () => {
  test('every indicator follows its formula, for surveys and for single sources, at several times', async () => {
    await using api = await startApi({ surveys: SURVEYS })
    for (const days of [0, 1, 9]) {
      await api.moveTime({ set: new Date(START / 1000 + days * 86_400_000 + 1234).toISOString() })
      const { now, accounts } = await api.readTruth()
      for (const survey of accounts[0]!.surveys) {
        const bySource = interviewsOf(survey.id)
        const present = survey.sample_sources.flatMap(({ id }) => bySource.get(id) ?? [])
        const sampleSize = survey.sample_sources.reduce((sum, source) => sum + source.sample_size, 0)
        const expected = expectedProgress(present, sampleSize, micros(now))
        expect(survey.fieldwork_progress).toEqual(expected)
        expect(await api.readProgress(survey.id)).toEqual(expected)
        for (const source of survey.sample_sources) {
          const alone = expectedProgress(bySource.get(source.id) ?? [], source.sample_size, micros(now))
          expect(survey.sample_source_progress[String(source.id)]).toEqual(alone)
          expect(await api.readProgress(survey.id, `?sample_source_id=${source.id}`)).toEqual(alone)
        }
      }
    }
  })

  test('the world has "Ignored" interviews, and no answer shows them', async () => {
    await using api = await startApi({ surveys: SURVEYS })
    const survey = await busySurvey(api)
    const all = [...interviewsOf(survey.id).values()].flat().filter(({ start }) => start <= START)
    const ignored = all.filter(({ status }) => status === 'ignored').length
    expect(ignored).toBeGreaterThan(0)
    const counts = Object.values(survey.fieldwork_progress.interview_count_by_status)
    const total = counts.reduce((sum, { individuals }) => sum + individuals, 0)
    expect(total).toBe(all.length - ignored)
    expect(counts.reduce((sum, { percentage }) => sum + percentage, 0)).toBeCloseTo(100, 6)
  })

  test('an interview is incomplete until it ends, then has its final status', async () => {
    await using api = await startApi({ surveys: SURVEYS })
    const survey = await busySurvey(api)
    const interviews = [...interviewsOf(survey.id).values()].flat()
    const chosen = interviews.find(
      ({ status, analysisSeconds, start }) => status === 'complete' && analysisSeconds === 0 && start < START,
    )!
    const end = chosen.start + chosen.seconds * 1e6
    const at = async (time: number) => {
      await api.moveTime({ set: new Date(time / 1000).toISOString() })
      return (await api.readProgress(survey.id)).interviews_count
    }
    const completesAt = (time: number) =>
      interviews.filter(
        ({ status, start, seconds, analysisSeconds }) =>
          status === 'complete' && start + (seconds + analysisSeconds) * 1e6 <= time,
      ).length
    expect(await at(end - 1_000_000)).toBe(completesAt(end - 1_000_000))
    expect(await at(end)).toBe(completesAt(end))
    expect(completesAt(end)).toBeGreaterThan(completesAt(end - 1_000_000))
  })

  test('the bounds do not change sample_size', async () => {
    await using api = await startApi({ surveys: SURVEYS })
    const { id, fieldwork_progress } = await busySurvey(api)
    const before = await api.readProgress(id, '?started_before=1999-01-01T00:00:00Z')
    expect(before).toMatchObject({ sample_size: fieldwork_progress.sample_size, interviews_count: 0 })
  })

  test('a sample source that does not exist yet is 404', async () => {
    await using api = await startApi({ surveys: 200 })
    const { surveys } = await api.readSurveys()
    const known = new Set(surveys.map(({ id }) => id))
    const late = (await api.readChanges(START_AT, '2026-04-01T00:00:00Z')).find(
      ({ what, survey_id }) => what === 'source_added' && known.has(survey_id),
    )!
    const latePath = `/surveys/${late.survey_id}/fieldwork_progress?sample_source_id=${late.sample_source_id}`
    expect((await api.ask(latePath)).status).toBe(404)
    await api.moveTime({ set: '2026-04-01T00:00:00Z' })
    expect((await api.ask(latePath)).status).toBe(200)
  })
})
