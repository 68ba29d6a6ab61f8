/** The question: SQL, or a named query. `--survey` and `--days` are values of `$survey`, `$account` and `$days`, never part of the SQL. */
import { ExpectedError } from '../../base/errors.js'
import { nearest } from '../../base/suggest.js'
import { ALL_TABLES, tableName } from '../../model/sync-tables.js'
import type { NamedParameters, Sql } from '../../warehouse/connection/database.js'
import { ALL_VIEWS } from '../../warehouse/views/all.js'
import { type surveyNameOf, usageError } from '../flags.js'
import { NAMED_QUERIES, type NamedQuery } from './named.js'
import { columnsOf, readStatement, refused, type Statement } from './statement.js'

interface Question {
  readonly text: string
  /** Null for SQL of the user. */
  readonly named: NamedQuery | null
}

/** A word is a name, anything else is SQL. Throws `query_refused` for an unknown name. */
export const questionOf = (input: string): Question => {
  if (!/^\s*[\w.-]+\s*$/.test(input)) return { text: input, named: null }
  const word = input.trim()
  const named = NAMED_QUERIES.find(({ name }) => name === word)
  if (named !== undefined) return { text: named.sql, named }
  if ([...ALL_TABLES, ...ALL_VIEWS].some((table) => tableName(table) === word))
    throw refused(`there is no query ${word}. To read the table or view, write "FROM ${word}"`)
  const names = NAMED_QUERIES.map(({ name }) => name)
  const alike = new Set([nearest(word, names) ?? [], names.filter((name) => name.includes(word))].flat())
  const meant = alike.size === 0 ? '.' : `: did you mean ${[...alike].slice(0, 3).join(' or ')}?`
  throw refused(`there is no query ${word}${meant} fieldwork-sync query --list shows all`)
}

/** Throws an error `usage` for wrong days. */
export const parametersOf = (
  survey: ReturnType<typeof surveyNameOf> | null,
  days: string | undefined,
): NamedParameters => {
  if (days !== undefined && !/^[1-9]\d{0,4}$/.test(days))
    throw usageError(`--days ${days} is not a whole number from 1 to 99999`, 'query')
  return {
    ...(survey !== null && { survey: survey.surveyId }),
    ...(survey?.account !== undefined && { account: survey.account }),
    ...(days !== undefined && { days: Number(days) }),
  }
}

const FLAG_OF: Readonly<Record<string, string>> = { survey: '--survey', account: '--survey', days: '--days' }

/** Throws `query_refused` if it is not one SELECT, if DuckDB refuses it, or if a flag does not fit it. */
export const prepare = async (
  sql: Sql,
  { text: input, named }: Question,
  fromFlags: NamedParameters,
): Promise<Statement> => {
  const { text, parameters: used } = await readStatement(sql, input)
  const values = named === null ? fromFlags : { days: 1, ...fromFlags }
  const unknown = [...used].find((name) => !(name in values))
  if (unknown !== undefined)
    throw refused(
      unknown in FLAG_OF
        ? `the query uses $${unknown}: give it by ${FLAG_OF[unknown]}${unknown === 'account' ? ' acme/4711' : ''}`
        : `the query uses $${unknown}. Only $survey, $account and $days can be given, by --survey and --days`,
    )
  const parameters = only(values, (name) => used.has(name))
  const columns = await columnsOf(sql, text, parameters).catch((error: unknown) => {
    if (named === null || !(error instanceof ExpectedError) || error.code !== 'query_refused') throw error
    throw refused(
      `${named.name} needs a newer published state: run fieldwork-sync sync first (${error.message})`,
    )
  })
  const rest = Object.keys(fromFlags).filter((name) => !used.has(name))
  if (rest.length === 0) return { text, columns, parameters }
  const conditions = rest.map((name) => {
    const column =
      named && CONDITIONS[name]?.find(([needs]) => columns.some((column) => column.name === needs))
    if (column) return column[1]
    throw refused(
      `${named === null ? `the SQL does not use $${name}` : `${named.name} has no ${name === 'days' ? 'days' : 'surveys'}`}: leave out ${FLAG_OF[name]}`,
    )
  })
  return {
    // A join with the newest reading would change the order of the rows.
    text: `SELECT q.* EXCLUDE (place_of_row) FROM (SELECT *, row_number() OVER () AS place_of_row FROM (\n${text}\n)) AS q
      WHERE ${conditions.join(' AND ')} ORDER BY q.place_of_row`,
    columns,
    parameters: only(values, (name) => used.has(name) || rest.includes(name)),
  }
}

const only = (values: NamedParameters, isWanted: (name: string) => boolean): NamedParameters =>
  Object.fromEntries(Object.entries(values).filter(([name]) => isWanted(name)))

/** The last days of fieldwork, and the last hours, end at the newest reading of the account. */
const NEWEST_DAY = '(SELECT max(f.progress_day) FROM main.freshness f WHERE f.account = q.account)'
const NEWEST = `(SELECT max(greatest(f.listed_at, f.refreshed_at)) FROM main.freshness f WHERE f.account = q.account)`

/** The condition by which a value narrows a named query, and the column that the condition needs in the result. */
const CONDITIONS: Readonly<Record<string, readonly (readonly [column: string, condition: string])[]>> = {
  survey: [['survey_id', 'q.survey_id = $survey']],
  account: [['account', 'q.account = $account']],
  days: [
    ['day', `q.day > ${NEWEST_DAY} - CAST($days AS INTEGER)`],
    ['observed_at', `epoch_us(q.observed_at) > epoch_us(${NEWEST}) - $days * 24 * 3600000000`],
  ],
}
