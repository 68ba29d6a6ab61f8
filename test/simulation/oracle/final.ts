/** After the last start, without faults: the warehouse equals the server's data, and history holds only received answers. */
import { SAMPLE_SOURCE, SURVEY } from '../../support/api/api-document.js'
import { asObject, asObjects } from '../../support/api/reference-api.js'
import { columnsSql, PROGRESS_COLUMNS, rowsOfSurvey, warehouseRowsIn } from '../../support/oracle/truth.js'
import type { ReceivedAnswer, World } from '../world.js'
import type { EndCheck } from './end.js'
import {
  jsonText,
  progressText,
  type Queryable,
  sourceText,
  surveyText,
  textOf,
  type Violation,
} from './row-text.js'

export const checkFinal = async (
  { world, account, ended }: EndCheck,
  reader: Queryable | null,
): Promise<Violation[]> => {
  if (ended.exitCode !== 0)
    return [
      `a start without faults ended with exit ${ended.exitCode}: ${ended.problem ?? ended.report?.accounts[0]?.reason}`,
    ]
  if (reader === null) return ['a start without faults ended with exit 0, but there is no published file']
  const stored = await warehouseRowsIn(reader)
  const surveys = await world.surveys()
  const found: Violation[] = []
  for (const survey of surveys) {
    const { id, status } = survey
    const mine = stored.get(`${account}/${id}`)
    const truth = rowsOfSurvey(survey)
    const differences = PARTS.filter(
      (part) => mine !== undefined && jsonText(mine[part]) !== jsonText(truth[part]),
    )
    if (mine === undefined) found.push(`oracle: survey ${id} is not in the warehouse`)
    for (const part of differences)
      if (part === 'survey' || !IDLE.has(String(status)))
        found.push(
          `oracle: the stored ${part} of survey ${id} is ${jsonText(mine?.[part])}, not ${jsonText(truth[part])}`,
        )
  }
  const listed = new Set(surveys.map(({ id }) => `${account}/${id}`))
  for (const key of stored.keys())
    if (key.startsWith(`${account}/`) && !listed.has(key))
      found.push(`oracle: survey ${key} has gone, but is not marked as missing`)
  return [...found, ...(await untrueHistory(world, reader))]
}

const PARTS = ['survey', 'sources', 'progress', 'sourceProgress'] as const
const IDLE: ReadonlySet<string> = new Set(['draft', 'user_demo'])

/** Every version in history was received from the API, and not before its date. */
const untrueHistory = async (world: World, reader: Queryable): Promise<Violation[]> => {
  const earliest = new Map<string, number>()
  for (const answer of world.received)
    for (const text of versionsIn(answer))
      earliest.set(text, Math.min(earliest.get(text) ?? answer.dateMs, answer.dateMs))
  const found: Violation[] = []
  for (const [table, key, fields, at] of HISTORIES) {
    const rows = await reader.query(
      `SELECT ${columnsSql(fields)}, epoch_us("${at}") // 1000 AS from_ms, ${key} AS history_key FROM main.${table}`,
    )
    for (const row of rows) {
      const since = earliest.get(`${table} ${row.history_key} ${textOf(row, fields)}`)
      const version = `history: ${table} has a version of ${row.history_key} that`
      if (since === undefined) found.push(`${version} was never received from the API`)
      else if (since > Number(row.from_ms)) found.push(`${version} is dated before its first answer`)
    }
  }
  return found
}

/** Table, key, fields, and the time of a version. */
const HISTORIES = [
  ['surveys_history', 'id::VARCHAR', SURVEY, 'valid_from'],
  ['sample_sources_history', `survey_id || '/' || id`, SAMPLE_SOURCE, 'valid_from'],
  ['survey_progress_history', 'survey_id::VARCHAR', PROGRESS_COLUMNS, 'observed_at'],
  ['sample_source_progress_history', `survey_id || '/' || sample_source_id`, PROGRESS_COLUMNS, 'observed_at'],
] as const

/** The versions in an answer: table, key, and text of the row. */
const versionsIn = ({ path, query, body }: ReceivedAnswer): readonly string[] => {
  const [, id, part] = /\/surveys\/(\d+)\/(\w+)$/.exec(path) ?? []
  if (id === undefined)
    return asObjects(body.surveys).map((row) => `surveys_history ${row.id} ${surveyText(row)}`)
  if (part === 'sample_sources')
    return asObjects(body.sample_sources).map(
      (row) => `sample_sources_history ${id}/${row.id} ${sourceText(row)}`,
    )
  const source = /sample_source_id=(\d+)/.exec(query)?.[1]
  const series =
    source === undefined ? `survey_progress_history ${id}` : `sample_source_progress_history ${id}/${source}`
  return [`${series} ${progressText(asObject(body.fieldwork_progress))}`]
}
