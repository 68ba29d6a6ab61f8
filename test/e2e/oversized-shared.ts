/** What `oversized.ci.test.ts` and its full companion share. */
import { scriptedSurvey, scriptedSurveys } from '../support/api/scripted-api.js'
import { openTrial, type Trial } from '../support/command/trial.js'

export const LARGE = 99

/** Twelve surveys with two sources each, and the newest, which has `sources`. */
export const openLarge = (context: Parameters<typeof openTrial>[0], sources: number) =>
  openTrial(context, [...scriptedSurveys(12), scriptedSurvey(LARGE, {}, sources)])

export const isOf = (id: number, { path }: { readonly path: string }) => path.startsWith(`/surveys/${id}/`)

export const requestsFor = (id: number, { api }: Trial) =>
  api.arrivals.filter((arrival) => isOf(id, arrival)).map(({ path, query }) => `${path}?${query}`)

/** What is published of the survey: 0 of everything, until all of it is there. */
export const partsOf = async (id: number, { rows }: Trial) =>
  (
    await rows(`SELECT (SELECT count(*) FROM sample_sources WHERE survey_id = ${id}) AS sources,
      (SELECT count(*) FROM survey_progress WHERE survey_id = ${id}) AS progress,
      (SELECT count(*) FROM sample_source_progress WHERE survey_id = ${id}) AS of_sources`)
  )[0]

export const wordsOf = async ({ runWarm }: Trial, ...args: readonly string[]): Promise<string> =>
  (await runWarm(args)).stdout.replaceAll(/\s+/g, ' ')
