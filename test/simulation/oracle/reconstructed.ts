/** P1 and P3: what is reconstructed is what the API said of its window, and no observed row is one of these, or ever changes. */
import type { JsonObject } from '../../support/api/reference-api.js'
import { columnsSql, PROGRESS_COLUMNS } from '../../support/oracle/truth.js'
import type { World } from '../world.js'
import { progressText, type Queryable, textOf, type Violation } from './row-text.js'

/** The observed rows of each world so far, in any of its files. */
const observedBefore = new WeakMap<World, Map<string, string>>()

export const checkReconstructed = async (world: World, reader: Queryable): Promise<Violation[]> => {
  const answers = new Map<string, Set<string>>()
  for (const { path, query, body } of world.received) {
    const survey = /\/surveys\/(\d+)\/fieldwork_progress$/.exec(path)?.[1]
    const asked = new URLSearchParams(query)
    if (survey === undefined || asked.has('sample_source_id')) continue
    const key = `${survey} ${Date.parse(asked.get('started_before') ?? '')}`
    answers.set(key, (answers.get(key) ?? new Set()).add(progressText(body.fieldwork_progress as JsonObject)))
  }
  const isAnswer = (key: string, text: string) => answers.get(key)?.has(text) === true
  const rows =
    await reader.query(`SELECT survey_id, epoch_us(as_of) // 1000 AS as_of_ms, ${columnsSql(PROGRESS_COLUMNS)},
      as_of >= (SELECT min(observed_at) FROM main.survey_progress_history h WHERE h.account = r.account AND h.survey_id = r.survey_id) AS is_late
    FROM main.survey_progress_reconstructed r`)
  const observed =
    await reader.query(`SELECT account, survey_id, epoch_us(observed_at) AS at, ${columnsSql(PROGRESS_COLUMNS)}
    FROM main.survey_progress_history`)
  const before = observedBefore.get(world) ?? new Map<string, string>()
  observedBefore.set(world, before)
  return [
    ...rows.flatMap((row): Violation[] => {
      const what = `the row of survey ${row.survey_id} that is reconstructed as of ${row.as_of_ms}`
      if (row.is_late !== false) return [`P1: ${what} is not earlier than the observed ones`]
      return isAnswer(`${row.survey_id} ${row.as_of_ms}`, textOf(row, PROGRESS_COLUMNS))
        ? []
        : [`P3: ${what} is no answer about its window`]
    }),
    ...observed.flatMap((row): Violation[] => {
      const key = `${row.account} ${row.survey_id} ${row.at}`
      const text = textOf(row, PROGRESS_COLUMNS)
      const earlier = before.get(key) ?? text
      before.set(key, text)
      if (earlier !== text) return [`P3: the observed row ${key} has changed`]
      return isAnswer(`${row.survey_id} NaN`, text)
        ? []
        : [`P3: the observed row ${key} is no answer about the whole survey`]
    }),
  ]
}
