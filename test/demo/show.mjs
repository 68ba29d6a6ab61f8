/** Prints queries of the demo's tables, each with its SQL and its result. They work in any DuckDB from 1.1 on. */
import { DuckDBInstance } from '@duckdb/node-api'

const QUERIES = [
  [
    'Surveys by status, with their interviews',
    `SELECT status, count(*) AS surveys,
       sum(interviews_count)::BIGINT AS complete,
       sum(sample_size)::BIGINT AS target,
       round(100 * sum(interviews_count) / nullif(sum(sample_size), 0), 1)
         AS percent
     FROM survey_overview GROUP BY status ORDER BY surveys DESC, status`,
  ],
  [
    'Status changes of the day',
    `SELECT survey_id, left(title, 28) AS title, from_status, to_status
     FROM survey_status_changes
     WHERE from_status IS NOT NULL ORDER BY observed_at, survey_id LIMIT 8`,
  ],
  [
    'Interviews yesterday and today, which the API itself does not keep',
    `SELECT survey_id, min(interviews_count) AS yesterday,
       max(interviews_count) AS today,
       max(interviews_count) - min(interviews_count) AS held
     FROM survey_progress_history GROUP BY survey_id HAVING count(*) > 1
     ORDER BY held DESC, survey_id LIMIT 8`,
  ],
  [
    'The recorded runs',
    `SELECT status, listing, requests, surveys_listed AS listed,
       surveys_refreshed AS refreshed, left_over
     FROM _sync.runs ORDER BY run_id`,
  ],
]

export const show = (published) =>
  reading(published, async (connection) => {
    for (const [title, sql] of QUERIES) {
      const result = await connection.runAndReadAll(sql)
      console.log(`\n${title}\n\n${indent(sql)}\n`)
      console.log(`${table([result.columnNames(), ...result.getRows()])}`)
    }
  })

/** Which survey needs action, and why: title and kind. */
export const reasonsOf = (published) =>
  reading(published, async (connection) =>
    (await connection.runAndReadAll('SELECT title, kind FROM needs_action')).getRowObjects(),
  )

const reading = async (published, work) => {
  const instance = await DuckDBInstance.create(published, { access_mode: 'READ_ONLY' })
  const connection = await instance.connect()
  try {
    return await work(connection)
  } finally {
    connection.closeSync()
    instance.closeSync()
  }
}

const indent = (sql) =>
  sql
    .split('\n')
    .map((line) => `    ${line.trim()}`)
    .join('\n')

const table = (rows) => {
  const cells = rows.map((row) => row.map((value) => (value === null ? '' : String(value))))
  const widths = cells[0].map((_, column) => Math.max(...cells.map((row) => row[column].length)))
  return cells
    .map((row) => `  ${row.map((cell, column) => cell.padEnd(widths[column])).join('  ')}`.trimEnd())
    .join('\n')
}
