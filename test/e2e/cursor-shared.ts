/** What both test files of cursor use. */
import { type Arrival, type ScriptedApi, scriptedSurveys } from '../support/api/scripted-api.js'
import { openTrial, type Trial } from '../support/command/trial.js'

export const START = '2026-03-01T00:00:00Z'
export const after = (seconds: number): Date => new Date(Date.parse(START) + seconds * 1000)

/** Six drafts on three pages, newest first: 6 5, 4 3, 2 1. Drafts are read again only when the listing shows a change. */
export const startSixDrafts = async (context: Parameters<typeof openTrial>[0]) => {
  const trial = await openTrial(context, scriptedSurveys(6, { status: 'draft' }, 0))
  trial.api.pageSize = 2
  return trial
}

/** Sets the clock to `at` and modifies the survey at that time. */
export const edit = (api: ScriptedApi, id: number, title: string, at: Date): void => {
  api.now = at
  const found = api.surveys.find(({ survey }) => survey.id === id)
  Object.assign(found?.survey ?? {}, { title, updated_at: at.toISOString() })
}

export const isPage = ({ path, query: search }: Arrival, page: number): boolean =>
  path === '/surveys' && search.get('page') === String(page)

export const titles = async (rows: Trial['rows']): Promise<unknown[]> =>
  (await rows('SELECT title FROM surveys ORDER BY id')).map(({ title }) => title)

/** An overlap of five minutes would hide the loss of a wrong cursor. */
export const WITHOUT_OVERLAP = { discover: { overlap: '0s' } }
