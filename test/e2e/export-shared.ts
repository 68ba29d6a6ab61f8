/** What both test files of export use. */
import { expect } from 'vitest'
import { scriptedSurvey } from '../support/api/scripted-api.js'
import { openTrial, type Trial } from '../support/command/trial.js'

export const MAIN_TABLES = `SELECT table_name AS name FROM duckdb_tables() WHERE database_name = current_database() AND schema_name = 'main' ORDER BY 1`

/** Values that conversion to text and back often changes. */
export const ODD = {
  title: 'one, "two"\nthree\rfour; Ünï\ttab',
  project_id: '',
  updated_at: '2026-01-01T05:30:00.000001+05:30',
  mood: { b: ['"', ','], a: null },
}

export const openPublished = async (
  context: Parameters<typeof openTrial>[0],
  formats = 'duckdb',
): Promise<Trial> => {
  const trial = await openTrial(context, [
    scriptedSurvey(1, ODD),
    scriptedSurvey(2, { project_id: null }, 1),
    scriptedSurvey(3, { status: 'draft' }, 0),
  ])
  expect(await trial.runWarm(['sync', '--publish', formats])).toMatchObject({ code: 0 })
  return trial
}

export const csv = (file: string): string =>
  `read_csv('${file}', header = true, all_varchar = true, allow_quoted_nulls = false, quote = '"', escape = '"', delim = ',')`
