/**
 * A small warehouse whose rows show what the settings of a session can change: texts and accounts that differ only in case, nulls
 * in columns that queries order by, counts that do not divide, and times on both sides of each limit of the queries. Between such a
 * limit and the newest reading, clocks change in New York (8 March 2026).
 */
const NEWEST = `TIMESTAMPTZ '2026-03-09 01:00:00+00'`

/** Hours between the last change of a survey and the newest reading: around each limit of a view or a query. */
const QUIET = [0.5, 23.5, 24.5, 71.5, 72.5, 155.5, 156.5, 335.5, 336.5, 1439.5, 1440.5, 2]

const surveys = `WITH quiet AS (SELECT unnest(${JSON.stringify(QUIET)}) AS hours, unnest(range(${QUIET.length})) AS k),
  accounts AS (SELECT unnest(['Acme', 'acme']) AS account),
  surveys AS (SELECT account, k, 100 + k AS id, ${NEWEST} - to_microseconds(CAST(hours * 3600000000 AS BIGINT)) AS changed_at,
    ['b', 'B', 'a', 'A', 'é', 'e'][1 + k % 6] AS title, CASE WHEN k % 3 > 0 THEN ['p', 'P'][1 + k % 2] END AS project_id,
    ['fieldwork', 'fieldwork', 'deviating_from_specs', 'Fieldwork', 'complete', 'fieldwork'][1 + k % 6] AS status,
    '{"Colour": "red"}' AS extra FROM quiet, accounts)`

const SURVEY = `'h' AS hashid, 1 AS owner_organization_id, 'slide' AS transition_style, 1 AS respondent_questions_count,
  1 AS respondent_iterations_count`
const SOURCE = `['Toluna', 'toluna'][1 + n % 2] AS provider, ['DE', 'de'][1 + n % 2] AS country_code, 'd' AS description, 'h' AS hashid,
  true AS panelist_id_required`

/** Counts of interviews at reading `i` before the last one, of which many are null. */
const DAYS = `CAST(timezone('UTC', observed_at) AS DATE) AS "day", CAST(timezone('UTC', observed_at) AS DATE) - 1 AS day_before`
const COUNTS = `CAST(1000 AS BIGINT) AS sample_size, CASE WHEN i = 5 THEN NULL ELSE 7 * (40 - i) + i * i % 5 + k END AS interviews_count,
  CASE WHEN k % 7 > 0 THEN (7 * (40 - i) + i * i % 5 + k) / 1000 END AS completion_rate, CASE WHEN k % 4 > 0 THEN 0.25 END AS target_incidence_rate,
  CASE WHEN k % 5 > 0 THEN 0.1 * (k % 3) END AS drop_out_rate, 7 * (40 - i) + k AS complete_individuals, 3 * (40 - i) AS screen_out_individuals,
  CASE WHEN i < 6 THEN 60 * (40 - i) ELSE 40 - i END AS incomplete_individuals, 12.5 AS complete_percentage,
  '{"interview_count_by_status": {"Complete": {"individuals": ' || (40 - i) || '}, "lost": {"individuals": 2, "percentage": 1.5}}}' AS _extra`

const readings = `, readings AS (SELECT *, changed_at - to_hours(24 * i) AS observed_at FROM surveys,
    (SELECT unnest(range(40)) AS i))`
const sources = `, sources AS (SELECT *, 10 * id + n AS source_id FROM readings, (SELECT unnest(range(3)) AS n))`
const old = `${NEWEST} - to_hours(2400)`

export const HOSTILE_WORLD: readonly string[] = [
  `INSERT INTO surveys BY NAME ${surveys} SELECT account, id, title, ${old} AS created_at, changed_at AS updated_at, ${SURVEY}, project_id,
    status, extra AS _extra, ${old} AS _first_seen_at, changed_at AS _synced_at, CASE WHEN k = 11 THEN changed_at END AS _missing_since FROM surveys`,
  // A title, an unknown field and a status that change only in case, and changes of status.
  `INSERT INTO surveys_history BY NAME ${surveys} SELECT account, id, unnest([upper(title), title]) AS title, ${old} AS created_at,
      unnest([${old}, changed_at]) AS updated_at, ${SURVEY}, unnest([NULL, project_id]) AS project_id,
      unnest([CASE WHEN k % 2 = 0 THEN 'pending' WHEN k % 3 = 1 THEN status ELSE upper(status) END, status]) AS status,
      unnest([lower(extra), extra]) AS _extra, unnest([${old}, changed_at]) AS valid_from,
      unnest([changed_at - CASE WHEN k % 4 = 1 THEN to_hours(1) ELSE to_hours(0) END, CASE WHEN k = 11 THEN changed_at + to_hours(1) END]) AS valid_to FROM surveys`,
  `INSERT INTO survey_progress_history BY NAME ${surveys}${readings} SELECT account, id AS survey_id, observed_at, ${DAYS}, ${COUNTS} FROM readings`,
  // A survey that was read for few nights.
  `INSERT INTO survey_progress_reconstructed BY NAME ${surveys}${readings} SELECT account, id AS survey_id, observed_at AS as_of, CAST(timezone('UTC', as_of) AS DATE) AS "day", ${COUNTS},
    changed_at AS read_at FROM readings WHERE k = 0 AND i > 3 AND i < 11`,
  `DELETE FROM survey_progress_history h USING survey_progress_reconstructed r
    WHERE h.account = r.account AND h.survey_id = r.survey_id AND h.observed_at <= r.as_of`,
  `INSERT INTO survey_progress BY NAME ${surveys}${readings} SELECT account, id AS survey_id, observed_at AS _observed_at,
    ${old} AS _first_seen_at, ${COUNTS} FROM readings WHERE i = 0`,
  `INSERT INTO sample_sources BY NAME ${surveys}${readings}${sources} SELECT account, id AS survey_id, source_id AS id, ${SOURCE}, 400 + 10 * n AS sample_size,
    ['s', 'S', 'T'][1 + n] AS name, ${old} AS created_at, changed_at AS updated_at, ${old} AS _first_seen_at, changed_at AS _synced_at FROM sources WHERE i = 0`,
  `INSERT INTO sample_sources_history BY NAME ${surveys}${readings}${sources} SELECT account, id AS survey_id, source_id AS id, ${SOURCE},
    400 + 10 * n - 1 + i AS sample_size, CASE WHEN i = 0 THEN ['s', 'S', 'T'][1 + n] ELSE ['S', 's', 't'][1 + n] END AS name, ${old} AS created_at,
    changed_at AS updated_at, CASE WHEN i = 0 THEN changed_at ELSE ${old} END AS valid_from, CASE WHEN i = 1 THEN changed_at END AS valid_to
    FROM sources WHERE i < 2`,
  `INSERT INTO sample_source_progress_history BY NAME ${surveys}${readings}${sources} SELECT account, id AS survey_id, source_id AS sample_source_id,
    observed_at, ${DAYS}, ${COUNTS} FROM sources`,
  `INSERT INTO sample_source_progress BY NAME ${surveys}${readings}${sources} SELECT account, id AS survey_id, source_id AS sample_source_id,
    observed_at AS _observed_at, ${old} AS _first_seen_at, ${COUNTS} FROM sources WHERE i = 0`,
  'UPDATE sample_source_progress SET interviews_count = interviews_count // (2 + sample_source_id % 3)',
  `INSERT INTO survey_progress_by_day BY NAME ${surveys}${readings} SELECT account, id AS survey_id, CAST(NULL AS BIGINT) AS sample_source_id,
    DATE '2026-03-08' - CAST(i AS INTEGER) AS "day", 'UTC' AS time_zone, observed_at AS started_after, observed_at AS started_before, i > 2 AS is_final,
    ${COUNTS}, ${old} AS _first_seen_at, observed_at AS _observed_at FROM readings WHERE i < 5`,
  `INSERT INTO freshness BY NAME ${surveys} SELECT account, id AS survey_id, ${NEWEST} AS listed_at,
    CASE WHEN k = 10 THEN NULL WHEN k % 4 = 3 THEN greatest(changed_at, ${NEWEST} - to_minutes(1470)) WHEN k % 4 = 2 THEN greatest(changed_at, ${NEWEST} - to_minutes(1410))
      ELSE ${NEWEST} END AS refreshed_at,
    changed_at AS sources_read_at, changed_at AS source_progress_read_at, CAST(timezone('UTC', refreshed_at) AS DATE) AS progress_day, CASE WHEN k % 3 = 1 THEN 'answered 500' END AS last_error FROM surveys`,
  // Around the day of the newest reading, and of two projects whose names differ only in case.
  `INSERT INTO plan BY NAME ${surveys} SELECT account, id AS survey_id, DATE '2026-03-09' + CAST(40 * k - 120 AS INTEGER) AS due_on,
    ['n', 'N'][1 + k % 2] AS note, 2 + k AS line FROM surveys WHERE k % 4 < 3`,
  `INSERT INTO plan BY NAME SELECT account, unnest(['p', 'P']) AS project_id, unnest([DATE '2026-03-08', DATE '2026-12-31']) AS due_on, 1 AS line
    FROM (SELECT unnest(['Acme', 'acme']) AS account)`,
  `INSERT INTO _sync.runs BY NAME ${surveys} SELECT 'r' || k AS run_id, account, '0.1.0' AS version, 'sync' AS command, changed_at AS started_at,
    CASE WHEN k <> 3 THEN changed_at + to_milliseconds(61900) END AS ended_at, CASE WHEN k % 2 = 0 THEN 'complete' ELSE 'partial' END AS status,
    CASE WHEN k % 2 = 1 THEN ['Budget', 'budget'][1 + k // 2 % 2] END AS reason, k AS requests, k AS left_over, CASE WHEN k < 11 THEN 12 - k END AS run_number FROM surveys`,
  `INSERT INTO _sync.requests BY NAME ${surveys} SELECT 'r0' AS run_id, account, ['new', 'New', 'changed'][1 + k % 3] AS reason, 'progress' AS kind,
    k AS made, 1 AS saved FROM surveys`,
  `INSERT INTO _sync.tasks BY NAME ${surveys} SELECT account, id AS survey_id, ['new', 'New'][1 + k % 2] AS reason, changed_at AS enqueued_at,
    'r0' AS enqueued_run_id, 0 AS attempts, CASE WHEN k % 2 = 0 THEN 'answered 500' END AS last_error FROM surveys`,
  `INSERT INTO _sync.drift_events BY NAME ${surveys} SELECT account, 'survey' AS resource, ['Colour', 'colour'][1 + k % 2] AS path,
    CASE WHEN k % 3 > 0 THEN ['x', 'X'][1 + k % 2] END AS value, 'field' AS kind, 1 AS occurrences, ${old} AS first_seen_at, 'r0' AS first_run_id,
    ${old} AS last_seen_at, 'r0' AS last_run_id FROM surveys`,
  `INSERT INTO _sync.rejected_rows BY NAME ${surveys} SELECT account, 'r0' AS run_id, ${NEWEST} AS rejected_at,
    ['fieldwork_progress', 'surveys', 'Surveys'][1 + k % 3] AS endpoint, id AS survey_id, ['No id', 'no id'][1 + k % 2] AS problem, '{}' AS raw
    FROM surveys WHERE k < 6`,
  `INSERT INTO _sync.schema_version BY NAME SELECT 3 AS version, ${old} AS applied_at, 'Built' AS description`,
  `INSERT INTO _sync.compactions BY NAME SELECT 'acme' AS account, ${NEWEST} - to_hours(480) AS compacted_before, 1 AS rows_removed,
    'r0' AS last_run_id, ${NEWEST} AS last_compacted_at`,
]
