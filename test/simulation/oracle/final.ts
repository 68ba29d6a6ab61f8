/** After the last start, without faults: the warehouse equals the server's data, and history holds only received answers. */
import { SAMPLE_SOURCE, SURVEY } from '../../support/api/api-document.js'
import type { JsonObject } from '../../support/api/reference-api.js'
import { PROGRESS_COLUMNS, rowsOfSurvey, warehouseRowsIn } from '../../support/oracle/truth.js'
import type { ReceivedAnswer, World } from '../world.js'
import type { EndCheck } from './end.js'
import {
  columnsSql,
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
  const truth = new Map(
    (await world.surveys()).map((survey) => [
      `${account}/${survey.id}`,
      { id: Number(survey.id), rows: rowsOfSurvey(survey), idle: IDLE.has(String(survey.status)) },
    ]),
  )
  const found: Violation[] = []
  for (const [key, { id, rows, idle }] of truth) {
    const mine = stored.get(key)
    if (mine === undefined) found.push(`oracle: survey ${id} is not in the warehouse`)
    else if (jsonText(mine.survey) !== jsonText(rows.survey))
      found.push(
        `oracle: the stored row of survey ${id} is ${jsonText(mine.survey)}, not ${jsonText(rows.survey)}`,
      )
    else if (!idle || !wasLiedAbout(world, id)) found.push(...differencesOf(id, mine, rows, idle))
  }
  for (const key of stored.keys())
    if (key.startsWith(`${account}/`) && !truth.has(key))
      found.push(`oracle: survey ${key} has gone, but is not marked as missing`)
  return [...found, ...(await untrueHistory(world, reader))]
}

const IDLE: ReadonlySet<string> = new Set(['draft', 'user_demo'])

const differencesOf = (
  id: number,
  mine: ReturnType<typeof rowsOfSurvey>,
  truth: ReturnType<typeof rowsOfSurvey>,
  idle: boolean,
): Violation[] =>
  (['sources', 'progress', 'sourceProgress'] as const)
    .filter((part) => !idle && jsonText(mine[part]) !== jsonText(truth[part]))
    .map(
      (part) =>
        `oracle: the stored ${part} of survey ${id} is ${jsonText(mine[part])}, not ${jsonText(truth[part])}`,
    )

const wasLiedAbout = (world: World, id: number): boolean =>
  world.received.some(({ isLie, path }) => isLie && path.includes(`/surveys/${id}/`))

/** Every version in history was received from the API, and not before its date. */
const untrueHistory = async (world: World, reader: Queryable): Promise<Violation[]> => {
  const found: Violation[] = []
  for (const { table, key, fields, at, versionsIn } of HISTORIES) {
    const earliest = new Map<string, number>()
    for (const answer of world.received) {
      for (const text of versionsIn(answer))
        earliest.set(text, Math.min(earliest.get(text) ?? answer.dateMs, answer.dateMs))
    }
    const rows = await reader.query(
      `SELECT ${columnsSql(fields)}, epoch_us("${at}") // 1000 AS from_ms, ${key} AS history_key FROM main.${table}`,
    )
    for (const row of rows) {
      const since = earliest.get(`${row.history_key} ${textOf(row, fields)}`)
      if (since === undefined)
        found.push(
          `history: ${table} has a version of ${row.history_key} that was never received from the API`,
        )
      else if (since > Number(row.from_ms))
        found.push(
          `history: ${table} has a version of ${row.history_key} that is dated before its first answer`,
        )
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
    versionsIn: ({ path, body }: ReceivedAnswer) =>
      path.endsWith('/surveys')
        ? (body.surveys as readonly JsonObject[]).map((row) => `${row.id} ${surveyText(row)}`)
        : [],
  },
  {
    table: 'sample_sources_history',
    key: `survey_id || '/' || id`,
    fields: SAMPLE_SOURCE,
    at: 'valid_from',
    versionsIn: ({ path, body }: ReceivedAnswer) =>
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
    versionsIn: ({ path, query, body }: ReceivedAnswer) =>
      path.endsWith('/fieldwork_progress') && !query.includes('sample_source_id')
        ? [`${surveyIdIn(path)} ${progressText(body.fieldwork_progress as JsonObject)}`]
        : [],
  },
  {
    table: 'sample_source_progress_history',
    key: `survey_id || '/' || sample_source_id`,
    fields: PROGRESS_COLUMNS,
    at: 'observed_at',
    versionsIn: ({ path, query, body }: ReceivedAnswer) => {
      const source = /sample_source_id=(\d+)/.exec(query)?.[1]
      return source === undefined
        ? []
        : [`${surveyIdIn(path)}/${source} ${progressText(body.fieldwork_progress as JsonObject)}`]
    },
  },
]
