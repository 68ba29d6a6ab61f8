/**
 * `npm run bench:report`: the report of 1,200 surveys with a year of daily history and five sources each. First a quarter of them is in
 * the field, then all of them, which is the worst case. It prints time, CPU, memory and size of the command. The argument is another
 * number of surveys.
 */
import { mkdtemp, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '../../build/base/clock.js'
import { createDuckdbPublisher } from '../../build/publish/duckdb.js'
import { openWarehouse } from '../../build/warehouse/lifecycle/open.js'
import { main, timed } from './processes.mjs'

const SURVEYS = Number(process.argv[2] ?? 1_200)
const DAYS = 365
const SOURCES = 5
const NEWEST = "TIMESTAMPTZ '2026-11-23 02:00:00+00'"
const HEAD = ['in the field', 'surveys', 'seconds', 'CPU seconds', 'memory MB', 'size MB']

const silent = () => undefined
const log = { debug: silent, info: silent, warn: console.warn, error: console.error }
const root = await mkdtemp(join(tmpdir(), 'fieldwork-sync-report-'))
try {
  console.log(HEAD.join('   '))
  for (const every of [4, 1]) await measure(every)
} finally {
  await rm(root, { recursive: true, force: true })
}

/** Every `every`th survey is in the field; the others are complete. The fastest of three reports counts. */
async function measure(every) {
  const directory = join(root, `every-${every}`)
  await fill(directory, every)
  const out = join(root, `report-${every}.html`)
  const runs = []
  for (let run = 0; run < 3; run += 1)
    runs.push(
      await timed([main, 'report', '--out', out, '--warehouse', directory], { PATH: process.env.PATH }),
    )
  const best = (name) => Math.min(...runs.map((run) => run[name]))
  const { size } = await stat(out)
  const figures = [
    best('wall').toFixed(2),
    best('cpu').toFixed(2),
    best('peak').toFixed(0),
    (size / 1e6).toFixed(2),
  ]
  const cells = [Math.floor(SURVEYS / every), SURVEYS, ...figures]
  console.log(cells.map((cell, place) => String(cell).padStart(HEAD[place].length)).join('   '))
}

async function fill(directory, every) {
  const database = await openWarehouse({ directory, clock: systemClock, log, command: 'bench:report' })
  try {
    await database.transaction(async (sql) => {
      for (const statement of statements(every)) await sql.run(statement)
    })
    await createDuckdbPublisher(database, directory, log).publish(new AbortController().signal)
  } finally {
    await database.close()
  }
}

function statements(every) {
  const progress = (
    keys,
    from,
  ) => `SELECT 'default' AS account, ${keys}, target AS sample_size, complete AS interviews_count,
      complete / target AS completion_rate, complete / (complete + screened) AS target_incidence_rate,
      complete / (complete + screened) AS incidence_rate, dropped / (complete + screened + dropped + 9) AS drop_out_rate,
      complete / (complete + screened + dropped) AS questionnaire_incidence_rate, 600 AS length_of_interview,
      complete AS complete_individuals, dropped AS incomplete_individuals, screened AS screen_out_individuals,
      complete // 20 AS quota_full_individuals, complete // 50 AS speeder_individuals, 3 AS pending_analysis_individuals, observed_at
    FROM ${from}`
  const current = (table) => `INSERT INTO ${table} BY NAME
    SELECT * EXCLUDE (observed_at), observed_at AS _observed_at, ${NEWEST} - INTERVAL ${DAYS} DAYS AS _first_seen_at
    FROM ${table}_history WHERE observed_at = ${NEWEST}`
  return [
    `CREATE TEMP TABLE worlds AS SELECT i AS id, 400 + hash(i) % 900 AS target,
      CASE WHEN i % ${every} = 0 THEN 'fieldwork' ELSE 'complete' END AS status FROM range(1, ${SURVEYS + 1}) r(i)`,
    `INSERT INTO surveys BY NAME SELECT 'default' AS account, id, 'Customer satisfaction, wave ' || id AS title,
      ${NEWEST} - INTERVAL ${DAYS} DAYS AS created_at, ${NEWEST} - INTERVAL 100 DAYS AS updated_at, 's' || id AS hashid, 'PRJ-' || id AS project_id,
      status, 1 AS owner_organization_id, 'single_page' AS transition_style, 20 AS respondent_questions_count, 30 AS respondent_iterations_count,
      ${NEWEST} - INTERVAL ${DAYS} DAYS AS _first_seen_at, ${NEWEST} - INTERVAL 100 DAYS AS _synced_at FROM worlds`,
    `INSERT INTO surveys_history BY NAME SELECT * EXCLUDE (_first_seen_at, _synced_at, _missing_since), _first_seen_at AS valid_from FROM surveys`,
    `INSERT INTO sample_sources BY NAME SELECT 'default' AS account, w.id AS survey_id, w.id * 10 + s AS id, 'panel' AS provider,
      w.target // ${SOURCES} AS sample_size, ['FR', 'DE', 'GB', 'ES', 'IT'][1 + s % 5] AS country_code, 'Panel' AS description, 'Online panel ' || s AS name,
      's' AS hashid, true AS panelist_id_required, ${NEWEST} - INTERVAL ${DAYS} DAYS AS created_at, ${NEWEST} - INTERVAL 100 DAYS AS updated_at,
      ${NEWEST} - INTERVAL ${DAYS} DAYS AS _first_seen_at, ${NEWEST} - INTERVAL 100 DAYS AS _synced_at FROM worlds w, range(${SOURCES}) r(s)`,
    `INSERT INTO sample_sources_history BY NAME SELECT * EXCLUDE (_first_seen_at, _synced_at, _missing_since), _first_seen_at AS valid_from FROM sample_sources`,
    `CREATE TEMP TABLE days AS SELECT w.id AS survey_id, w.target, ${NEWEST} - to_days(CAST(${DAYS} - 1 - d AS INTEGER)) AS observed_at,
      1 + sum(hash(w.id, d) % 3) OVER (PARTITION BY w.id ORDER BY d) AS complete,
      1 + sum(hash(w.id, d, 1) % 2) OVER (PARTITION BY w.id ORDER BY d) AS screened,
      1 + sum(hash(w.id, d, 2) % 5 // 4) OVER (PARTITION BY w.id ORDER BY d) AS dropped
    FROM worlds w, range(${DAYS}) r(d)`,
    `INSERT INTO survey_progress_history BY NAME ${progress('survey_id', 'days')}`,
    `INSERT INTO sample_source_progress_history BY NAME ${progress(
      'survey_id, survey_id * 10 + s AS sample_source_id',
      `(SELECT survey_id, s, target // ${SOURCES} AS target, observed_at,
      CAST(floor(complete / ${SOURCES} * (0.7 + s * 0.15)) AS BIGINT) + 1 AS complete, screened // ${SOURCES} + 1 AS screened, dropped // ${SOURCES} + 1 AS dropped FROM days, range(${SOURCES}) r(s))`,
    )}`,
    current('survey_progress'),
    current('sample_source_progress'),
    `INSERT INTO freshness BY NAME SELECT 'default' AS account, id AS survey_id, ${NEWEST} AS listed_at, ${NEWEST} AS refreshed_at,
      ${NEWEST} AS sources_read_at, ${NEWEST} AS sources_listed_at, ${NEWEST} AS source_progress_read_at FROM worlds`,
    `INSERT INTO _sync.runs BY NAME SELECT 'run-' || d AS run_id, 'default' AS account, '0.1.0' AS version, 'sync' AS command,
      ${NEWEST} - to_days(CAST(d AS INTEGER)) AS started_at, ${NEWEST} - to_days(CAST(d AS INTEGER)) + INTERVAL 13 MINUTES AS ended_at, 'complete' AS status,
      0 AS exit_code, 780 AS requests, 0 AS retries, 0 AS refusals, ${SURVEYS} AS surveys_refreshed, 0 AS left_over, 0 AS rejected_rows FROM range(30) r(d)`,
  ]
}
