/** The API answers 404 for single surveys while it answers the list of surveys. */
import { describe, expect, test } from 'vitest'
import { refusing } from '../support/api/scripted-api.js'
import { night, openTrial } from '../support/command/trial.js'
import { ids, missingIds, refreshed } from './refusals-shared.js'

/** Nights on which one survey is refused. */
const NIGHTS_REFUSED = 16

describe('a 404 of a listed survey', () => {
  test.concurrent('that occurs once fails the survey; the next night reads it', async (context) => {
    const trial = await openTrial(context, ids(3))
    await night(trial, 0)
    const failed = await night(
      trial,
      1,
      refusing(trial.api, 404, ({ path }) => /^\/surveys\/2\//.test(path)),
    )
    expect(failed).toMatchObject({
      code: 3,
      run: {
        reason: '1 survey failed',
        surveys_failed: 1,
        left_over: 1,
        failing: 1,
        failing_surveys: [
          {
            survey_id: 2,
            title: 'Survey 2',
            attempts: 1,
            error: expect.stringMatching(
              /^survey 2 cannot be read: .*\/surveys\/2\/sample_sources\S* \(404\)/,
            ),
          },
        ],
      },
    })
    expect(await missingIds(trial)).toEqual([])
    expect(await trial.rows('SELECT survey_id FROM freshness WHERE last_error IS NOT NULL')).toEqual([
      { survey_id: 2 },
    ])
    const status = await trial.runWarm(['status'])
    expect(status.stdout).toMatch(
      /surveys that could not be read\n.*\n +2 +Survey 2 +1\n +survey 2 cannot be read/,
    )
    expect(await night(trial, 2)).toMatchObject({
      code: 0,
      run: { listing: 'full', left_over: 0, failing: 0 },
    })
    expect(await refreshed(trial)).toContainEqual({ id: 2, on_day: '2026-03-03', fine: true })
  })

  test.concurrent('that lasts is retried less and less often, and adds no version', async (context) => {
    const trial = await openTrial(context, ids(3))
    await night(trial, 0)
    const hook = refusing(trial.api, 404, ({ path }) => /^\/surveys\/2\//.test(path))
    const daysRequested: number[] = []
    for (let day = 1; day <= NIGHTS_REFUSED; day += 1) {
      const { code, run } = await night(trial, day, hook)
      expect([code, run.left_over, run.failing]).toEqual([3, 1, 1])
      if (trial.api.arrivals.some(({ path }) => path.startsWith('/surveys/2/'))) daysRequested.push(day)
    }
    expect(daysRequested).toEqual([1, 2, 4, 8, 16])
    expect(await missingIds(trial)).toEqual([])
    expect(await trial.rows('SELECT count(*) AS n FROM surveys_history WHERE id = 2')).toEqual([{ n: 1 }])
    // A change of the survey makes the run request it again.
    const two = trial.api.surveys[1]
    if (two === undefined) throw new Error('there is a second survey')
    two.survey.title = 'Renamed'
    two.survey.updated_at = new Date(Date.UTC(2026, 2, 1 + NIGHTS_REFUSED, 12)).toISOString()
    expect(await night(trial, NIGHTS_REFUSED + 1)).toMatchObject({ code: 0, run: { left_over: 0 } })
    expect(await trial.rows('SELECT title FROM surveys WHERE id = 2')).toEqual([{ title: 'Renamed' }])
  })

  test.concurrent('marks the survey as missing when the next full listing does not show it', async (context) => {
    const trial = await openTrial(context, ids(3))
    await night(trial, 0)
    trial.api.surveys.splice(1, 1)
    // An incremental listing cannot show that an active survey has gone. Its own address answers 404.
    expect(await night(trial, 1)).toMatchObject({ code: 3, run: { listing: 'incremental' } })
    expect(await missingIds(trial)).toEqual([])
    expect(await night(trial, 2)).toMatchObject({ code: 0, run: { listing: 'full', left_over: 0 } })
    expect(await missingIds(trial)).toEqual([2])
  })
})
