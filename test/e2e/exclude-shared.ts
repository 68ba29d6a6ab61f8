/** What both test files of exclude use. */
import { NO_ACCOUNT, scriptedProgress, scriptedSurvey, TOKEN } from '../support/api/scripted-api.js'
import { night, openTrial, type Trial } from '../support/command/trial.js'

const PROJECT = `P'4 "x"; --`

/** Survey 4 is excluded from the first listing on. All have two sources and no interviews, so their requests are known. */
export const openNights = async (context: Parameters<typeof openTrial>[0]) => {
  const statuses = ['fieldwork', 'fieldwork', 'complete', 'fieldwork', 'fieldwork']
  const surveys = statuses.map((status, index) => ({
    ...scriptedSurvey(index + 1, {
      status,
      project_id: index === 3 ? PROJECT : null,
      updated_at: '2026-02-28T12:00:00Z',
    }),
    progress: scriptedProgress(0),
  }))
  const trial = await openTrial(context, surveys)
  const settings = (exclude: object) =>
    trial.settings({
      accounts: [
        {
          base_url: trial.api.baseUrl,
          id: 1,
          token: TOKEN,
          rate_limit: { requests: 1000, per: '1s' },
          exclude,
        },
      ],
    })
  return { trial, settings, first: await settings({ projects: [PROJECT] }) }
}

export const at = (one: Trial, days: number, args: readonly string[]) =>
  night(one, days, undefined, args, NO_ACCOUNT)

export const RULES = { surveys: [2, 999], status: ['complete'], projects: [PROJECT] }
