/**
 * A large warehouse, made by SQL in the real schema: surveys of two years, closed long ago, each with two sources, their history,
 * and eight observations of progress. None of them is due. And the answers of an API in which some of them have changed.
 */
import { systemClock } from '../../../build/base/clock.js'
import { INTERVIEW_STATUSES } from '../../../build/model/fields.js'
import { ALL_TABLES } from '../../../build/model/sync-tables.js'
import { openWarehouse } from '../../../build/warehouse/lifecycle/open.js'

export const ACCOUNT = 'default'
const SOURCES = 2
const OBSERVATIONS = 8
/** Two years, up to 70 days ago. */
const CREATED = 'now() - INTERVAL 760 DAY + to_seconds((id * 59616000) // surveys)'

export const buildWarehouse = async (directory, surveys, log) => {
  const database = await openWarehouse({ directory, clock: systemClock, log, command: 'bench:nights' })
  await database.exclusively(async (sql) => {
    await sql.run('SET preserve_insertion_order = true')
    await sql.run(`CREATE TEMP VIEW base AS SELECT id, created_at, created_at + to_days(30) AS updated_at,
        now() - to_hours(24 + (id % 400)) AS read_at
      FROM (SELECT id, ${CREATED.replace('surveys', String(surveys))} AS created_at FROM range(1, ${surveys} + 1) r(id))`)
    await sql.run(`CREATE TEMP VIEW survey AS SELECT '${ACCOUNT}' AS account, id,
        'Survey ' || id || ' of brand ' || (id * 7919) % 1000 AS title, created_at, updated_at,
        ${hashid('id')} AS hashid, CASE WHEN id % 3 > 0 THEN 'P-' || id % 977 END AS project_id, 'complete' AS status,
        1 AS owner_organization_id, 'single_page' AS transition_style, 10 + id % 40 AS respondent_questions_count,
        12 + id % 50 AS respondent_iterations_count, read_at FROM base`)
    await sql.run(`CREATE TEMP VIEW source AS SELECT '${ACCOUNT}' AS account, id AS survey_id, id * 10 + n AS id,
        'panel' AS provider, 100 + id % 900 AS sample_size, ['FR', 'DE', 'ES', 'IT'][id % 4 + 1] AS country_code,
        'Source ' || id || ', everyone between 18 and 65' AS description, 'S' || n AS name, ${hashid('id * 10 + n')} AS hashid,
        id % 2 = 0 AS panelist_id_required, created_at, created_at AS updated_at, read_at
      FROM base, range(1, ${SOURCES} + 1) s(n)`)
    await sql.run(`CREATE TEMP MACRO counted(id, observation, salt) AS
      observation * ((id * 2654435761 + salt * 97561) % 1000 // 8)`)
    for (const [name, from, filled] of tables()) {
      const table = ALL_TABLES.find((one) => one.schema === 'main' && one.name === name)
      const columns = table.columns.map((column) => filled(column.name))
      const names = table.columns.map((column) => `"${column.name}"`).join(', ')
      await sql.run(`INSERT INTO main.${name} (${names}) SELECT ${columns.join(', ')} FROM ${from}`)
    }
    await sql.run(`INSERT INTO _sync.cursors (account, updated_since, full_listed_at, moved_at, full_listing_due)
      VALUES ('${ACCOUNT}', now() - to_hours(24), now() - to_hours(24), now() - to_hours(24), false)`)
    await sql.run('CHECKPOINT')
  })
  await database.close()
}

/** The tables in the order of the ids, as nights have filled them, with the expression of each column. */
function tables() {
  const observed = 'range(1, 9) o(observation)'
  const same = (given) => (name) => given[name] ?? (name === '_extra' ? 'NULL' : `"${name}"`)
  const current = { _first_seen_at: 'created_at', _missing_since: 'NULL' }
  const progress = (given) => (name) => given[name] ?? indicator(name)
  const version = {
    valid_from: 'created_at + to_days(v * 10)',
    valid_to: 'CASE WHEN v < 2 THEN created_at + to_days(v * 10 + 10) END',
  }
  const seen = { account: 'account', ...current, _observed_at: 'updated_at' }
  return [
    ['surveys', 'survey', same({ ...current, _synced_at: 'updated_at' })],
    ['sample_sources', 'source', same({ ...current, _synced_at: 'created_at' })],
    [
      'survey_progress',
      `(SELECT *, ${OBSERVATIONS} AS observation FROM survey)`,
      progress({ ...seen, survey_id: 'id' }),
    ],
    [
      'sample_source_progress',
      `(SELECT *, ${OBSERVATIONS} AS observation FROM source)`,
      progress({ ...seen, survey_id: 'survey_id', sample_source_id: 'id' }),
    ],
    ['surveys_history', '(FROM survey, range(3) h(v)) ORDER BY v, id', same(version)],
    ['sample_sources_history', '(SELECT *, 2 AS v FROM source)', same(version)],
    [
      'survey_progress_history',
      `survey, ${observed} ORDER BY observation, id`,
      progress({ account: 'account', survey_id: 'id', observed_at: OBSERVED_AT }),
    ],
    [
      'sample_source_progress_history',
      `source, ${observed} ORDER BY observation, id`,
      progress({
        account: 'account',
        survey_id: 'survey_id',
        sample_source_id: 'id',
        observed_at: OBSERVED_AT,
      }),
    ],
    [
      'freshness',
      'survey',
      (name) =>
        ({ account: 'account', survey_id: 'id', last_error: 'NULL' })[name] ??
        (name.includes('days') ? 'NULL' : 'read_at'),
    ],
  ]
}

const OBSERVED_AT = 'created_at + to_days(observation * 3)'

function indicator(name) {
  if (name === '_extra') return 'NULL'
  const salt = [...name].reduce((sum, character) => sum + (character.codePointAt(0) ?? 0), 0)
  const count = `counted(id, observation, ${salt})`
  return name.endsWith('_rate') || name.endsWith('_percentage') ? `${count} / 1000.0` : count
}

function hashid(id) {
  return `to_base((${id} * 2654435761) % 4294967296, 36)`
}

/** The API of a night: these surveys are in fieldwork again, and each has new interviews. */
export const answerOf = (path, query, changed) => {
  if (path.endsWith('/surveys')) {
    const page = Number(query.get('page') ?? 1)
    return {
      surveys: changed.slice((page - 1) * 50, page * 50).map(survey),
      pagination: pagination(page, changed.length),
    }
  }
  const id = Number(/surveys\/(\d+)\//.exec(path)?.[1])
  if (path.endsWith('/sample_sources'))
    return {
      sample_sources: Array.from({ length: SOURCES }, (_, at) => source(id * 10 + at + 1)),
      pagination: pagination(1, SOURCES),
    }
  return { fieldwork_progress: progress(id, Number(query.get('sample_source_id') ?? id)) }
}

function pagination(page, count) {
  const pages = Math.max(1, Math.ceil(count / 50))
  return {
    current_page: page,
    next_page: page < pages ? page + 1 : null,
    prev_page: page > 1 ? page - 1 : null,
    total_pages: pages,
    total_count: count,
  }
}

const now = () => new Date().toISOString()

function survey(id) {
  return {
    id,
    title: `Survey ${id}, second wave`,
    created_at: '2024-01-01T00:00:00Z',
    updated_at: now(),
    hashid: `s${id}`,
    project_id: null,
    status: 'fieldwork',
    owner_organization_id: 1,
    transition_style: 'single_page',
    respondent_questions_count: 10,
    respondent_iterations_count: 12,
  }
}

function source(id) {
  return {
    id,
    provider: 'panel',
    sample_size: 500,
    country_code: 'FR',
    name: `S${id % 10}`,
    description: `Source ${id}, second wave`,
    hashid: `s${id}`,
    panelist_id_required: false,
    created_at: '2024-01-01T00:00:00Z',
    updated_at: '2026-01-01T00:00:00Z',
  }
}

function progress(surveyId, id) {
  const count = (salt) => (id * 31 + surveyId * 7 + salt * 131) % 1_000
  const statuses = INTERVIEW_STATUSES.map((status, at) => [
    status,
    { individuals: count(at), percentage: count(at) / 10 },
  ])
  return {
    sample_size: 1_000,
    interviews_count: count(0),
    interview_count_by_status: Object.fromEntries(statuses),
    completion_rate: count(0) / 1_000,
    questionnaire_incidence_rate: 0.5,
    target_incidence_rate: 0.6,
    incidence_rate: 0.6,
    drop_out_rate: 0.1,
    length_of_interview: 300 + (id % 300),
  }
}
