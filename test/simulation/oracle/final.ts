/** After the last clean start: the warehouse is the server's truth, and history is what was told. */
import { SAMPLE_SOURCE, SURVEY } from '../../support/api/api-document.js'
import { PROGRESS_COLUMNS, rowsOfSurvey, warehouseRowsIn } from '../../support/oracle/truth.js'
import type { JsonObject, Told, World } from '../world.js'
import type { EndOf } from './end.js'
import {
  type Broken,
  columnsSql,
  type Open,
  one,
  progressText,
  sourceText,
  surveyText,
  textOf,
} from './row-text.js'

/** After the last clean start: the warehouse is the server's truth, and history is what was told. */
export const checkFinal = async (
  { world, account, ended }: Pick<EndOf, 'world' | 'account' | 'ended'>,
  reader: Open | null,
): Promise<Broken[]> => {
  if (ended.exitCode !== 0)
    return [
      `a clean start ended with exit ${ended.exitCode}: ${ended.problem ?? ended.report?.accounts[0]?.reason}`,
    ]
  if (reader === null) return ['a clean start ended with exit 0, and there is no published file']
  const stored = await warehouseRowsIn(reader)
  const truth = new Map(
    (await world.surveys()).map((survey) => [
      `${account}/${survey.id}`,
      { id: Number(survey.id), rows: rowsOfSurvey(survey), idle: IDLE.has(String(survey.status)) },
    ]),
  )
  const found: Broken[] = []
  for (const [key, { id, rows, idle }] of truth) {
    const mine = stored.get(key)
    if (mine === undefined) found.push(`oracle: survey ${id} is not in the warehouse`)
    else if (one(mine.survey) !== one(rows.survey))
      found.push(`oracle: the row of survey ${id} is ${one(mine.survey)}, not ${one(rows.survey)}`)
    else if (!idle || !wasLiedAbout(world, id)) found.push(...differencesOf(id, mine, rows, idle))
  }
  for (const key of stored.keys())
    if (key.startsWith(`${account}/`) && !truth.has(key))
      found.push(`oracle: survey ${key} has gone, and is not marked as missing`)
  return [...found, ...(await untrueHistory(world, reader))]
}

const IDLE: ReadonlySet<string> = new Set(['draft', 'user_demo'])

const differencesOf = (
  id: number,
  mine: ReturnType<typeof rowsOfSurvey>,
  truth: ReturnType<typeof rowsOfSurvey>,
  idle: boolean,
): Broken[] =>
  (['sources', 'progress', 'sourceProgress'] as const)
    .filter((part) => !idle && one(mine[part]) !== one(truth[part]))
    .map((part) => `oracle: ${part} of survey ${id}: ${one(mine[part])}, not ${one(truth[part])}`)

const wasLiedAbout = (world: World, id: number): boolean =>
  world.told.some(({ isLie, path }) => isLie && path.includes(`/surveys/${id}/`))

/** Every version in history is one that the API told, no earlier than it says. */
const untrueHistory = async (world: World, reader: Open): Promise<Broken[]> => {
  const found: Broken[] = []
  for (const { table, key, fields, at, told } of HISTORIES) {
    const earliest = new Map<string, number>()
    for (const answer of world.told) {
      for (const text of told(answer))
        earliest.set(text, Math.min(earliest.get(text) ?? answer.dateMs, answer.dateMs))
    }
    const rows = await reader.query(
      `SELECT ${columnsSql(fields)}, epoch_us("${at}") // 1000 AS from_ms, ${key} AS history_key FROM main.${table}`,
    )
    for (const row of rows) {
      const since = earliest.get(`${row.history_key} ${textOf(row, fields)}`)
      if (since === undefined)
        found.push(`history: ${table} has a version of ${row.history_key} that the API never told`)
      else if (since > Number(row.from_ms))
        found.push(`history: ${table} has a version of ${row.history_key} dated before it was told`)
    }
  }
  return found
}

const surveyIdIn = (path: string): string => /\/surveys\/(\d+)\//.exec(path)?.[1] ?? ''

const HISTORIES = [
  {
    table: 'surveys_history',
    key: 'id::VARCHAR',
    fields: SURVEY,
    at: 'valid_from',
    told: ({ path, body }: Told) =>
      path.endsWith('/surveys')
        ? (body.surveys as readonly JsonObject[]).map((row) => `${row.id} ${surveyText(row)}`)
        : [],
  },
  {
    table: 'sample_sources_history',
    key: `survey_id || '/' || id`,
    fields: SAMPLE_SOURCE,
    at: 'valid_from',
    told: ({ path, body }: Told) =>
      path.endsWith('/sample_sources')
        ? (body.sample_sources as readonly JsonObject[]).map(
            (row) => `${surveyIdIn(path)}/${row.id} ${sourceText(row)}`,
          )
        : [],
  },
  {
    table: 'survey_progress_history',
    key: 'survey_id::VARCHAR',
    fields: PROGRESS_COLUMNS,
    at: 'observed_at',
    told: ({ path, query, body }: Told) =>
      path.endsWith('/fieldwork_progress') && !query.includes('sample_source_id')
        ? [`${surveyIdIn(path)} ${progressText(body.fieldwork_progress as JsonObject)}`]
        : [],
  },
  {
    table: 'sample_source_progress_history',
    key: `survey_id || '/' || sample_source_id`,
    fields: PROGRESS_COLUMNS,
    at: 'observed_at',
    told: ({ path, query, body }: Told) => {
      const source = /sample_source_id=(\d+)/.exec(query)?.[1]
      return source === undefined
        ? []
        : [`${surveyIdIn(path)}/${source} ${progressText(body.fieldwork_progress as JsonObject)}`]
    },
  },
]
