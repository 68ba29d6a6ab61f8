/** Rules between the tables that a run commits together: progress, freshness, the queue, and the records of the runs. */
import { named, type Rule } from './rows.js'

/** A missing row breaks no rule if the survey has rows of the endpoint in quarantine. */
const QUARANTINED = (endpoint: string) =>
  `SELECT account, survey_id FROM _sync.rejected_rows WHERE endpoint = '${endpoint}' AND survey_id IS NOT NULL`

const QUEUED = 'SELECT account, survey_id FROM _sync.tasks'
const ofSurvey = (other: string, one = 's', id = 'survey_id') =>
  `${other}.account = ${one}.account AND ${other}.survey_id = ${one}.${id}`

export const BOOKKEEPING_RULES: readonly Rule[] = [
  // What was read.
  {
    rule: 'surveys_were_listed',
    where: 'freshness',
    says: 'surveys that no listing has shown',
    sql: `SELECT ${named(['account', 'id'], 's')} FROM main.surveys s ANTI JOIN main.freshness f ON ${ofSurvey('f', 's', 'id')} AND f.listed_at IS NOT NULL`,
  },
  {
    rule: 'progress_was_read',
    where: 'survey_progress',
    says: 'progress of surveys that were never read',
    sql: `SELECT ${named(['account', 'survey_id'], 's')} FROM main.survey_progress s
      ANTI JOIN main.freshness f ON ${ofSurvey('f')} AND f.refreshed_at IS NOT NULL`,
  },
  {
    rule: 'read_surveys_have_progress',
    where: 'survey_progress',
    says: 'surveys that were read have no progress, and none is in quarantine',
    sql: `SELECT ${named(['account', 'id'], 's')} FROM main.surveys s
      JOIN main.freshness f ON ${ofSurvey('f', 's', 'id')} AND f.refreshed_at IS NOT NULL
      ANTI JOIN main.survey_progress p ON ${ofSurvey('p', 's', 'id')}
      ANTI JOIN (${QUARANTINED('fieldwork_progress')}) r ON ${ofSurvey('r', 's', 'id')}
      WHERE s._missing_since IS NULL`,
  },
  {
    rule: 'read_sources_have_progress',
    where: 'sample_source_progress',
    says: 'sources whose progress was read have none, and none is in quarantine',
    sql: `SELECT ${named(['account', 'survey_id', 'id'], 's')} FROM main.sample_sources s
      JOIN main.freshness f ON ${ofSurvey('f')} AND f.source_progress_read_at IS NOT NULL
      ANTI JOIN main.sample_source_progress p ON ${ofSurvey('p')} AND p.sample_source_id = s.id
      ANTI JOIN (${QUARANTINED('fieldwork_progress')}) r ON ${ofSurvey('r')}
      ANTI JOIN (${QUEUED}) t ON ${ofSurvey('t')}
      WHERE s._missing_since IS NULL`,
  },
  {
    rule: 'sources_read_with_progress',
    where: 'freshness',
    says: 'sources were read later than the progress of their survey',
    sql: `SELECT ${named(['account', 'survey_id'])} FROM main.freshness
      WHERE source_progress_read_at > coalesce(refreshed_at, make_timestamptz(0))`,
  },
  // What is missing.
  ...['sample_sources', 'survey_progress', 'sample_source_progress'].map((table) => ({
    rule: 'missing_surveys_have_no_rows',
    where: table,
    says: 'rows of a missing survey are not marked as missing',
    sql: `SELECT ${named(['account', 'survey_id'], 's')} FROM main.${table} s
      JOIN main.surveys p ON p.account = s.account AND p.id = s.survey_id
      WHERE p._missing_since IS NOT NULL AND s._missing_since IS NULL`,
  })),
  {
    rule: 'missing_sources_have_no_progress',
    where: 'sample_source_progress',
    says: 'progress of a missing source is not marked as missing',
    sql: `SELECT ${named(['account', 'survey_id', 'sample_source_id'], 's')} FROM main.sample_source_progress s
      JOIN main.sample_sources p ON ${ofSurvey('p')} AND p.id = s.sample_source_id
      WHERE p._missing_since IS NOT NULL AND s._missing_since IS NULL`,
  },
  // The queue.
  {
    rule: 'pending_surveys_are_queued',
    where: '_sync.pending_surveys',
    says: 'changed rows wait for a task that does not exist',
    sql: `SELECT ${named(['account', 'id'], 's')} FROM _sync.pending_surveys s ANTI JOIN (${QUEUED}) t ON ${ofSurvey('t', 's', 'id')}`,
  },
  {
    rule: 'pending_surveys_are_stored',
    where: '_sync.pending_surveys',
    says: 'changed rows of surveys that are not stored',
    sql: `SELECT ${named(['account', 'id'], 's')} FROM _sync.pending_surveys s ANTI JOIN main.surveys p ON p.account = s.account AND p.id = s.id`,
  },
  {
    rule: 'queued_surveys_are_stored',
    where: '_sync.tasks',
    says: 'queued surveys that are not stored',
    sql: `SELECT ${named(['account', 'survey_id'], 's')} FROM _sync.tasks s ANTI JOIN main.surveys p ON p.account = s.account AND p.id = s.survey_id`,
  },
  {
    rule: 'listed_ids_belong_to_a_listing',
    where: '_sync.listed_ids',
    says: 'surveys of a listing that is not under way',
    sql: `SELECT ${named(['account', 'survey_id'], 's')} FROM _sync.listed_ids s ANTI JOIN _sync.listings l ON l.account = s.account AND l.kind = s.kind`,
  },
  // Runs.
  {
    rule: 'runs_have_ended',
    where: '_sync.runs',
    says: 'runs without an end',
    sql: `SELECT ${named(['run_id', 'account', 'status'])} FROM _sync.runs WHERE status = 'running' OR (status <> 'killed' AND ended_at IS NULL)`,
  },
  {
    rule: 'runs_are_numbered',
    where: '_sync.runs',
    says: 'runs without a number, or with the number of another run',
    sql: `SELECT 'run_id=' || min(run_id) || ' run_number=' || coalesce(CAST(run_number AS VARCHAR), 'null') AS example FROM _sync.runs
      GROUP BY run_number HAVING run_number IS NULL OR count(DISTINCT run_id) > 1`,
  },
  {
    rule: 'exit_code_follows_status',
    where: '_sync.runs',
    says: 'runs whose exit code contradicts their status',
    sql: `SELECT ${named(['run_id', 'account', 'status', 'exit_code'])} FROM _sync.runs
      WHERE (status = 'complete') <> (coalesce(exit_code, -1) = 0) OR (status = 'partial' AND exit_code <> 3)`,
  },
  {
    rule: 'requests_are_counted',
    where: '_sync.requests',
    says: 'runs made more requests than are counted by reason',
    sql: `SELECT 'run_id=' || r.run_id || ' account=' || r.account AS example
      FROM _sync.runs r JOIN _sync.requests q ON q.run_id = r.run_id AND q.account = r.account
      GROUP BY r.run_id, r.account, r.requests HAVING sum(q.made) < r.requests`,
  },
  // Days.
  {
    rule: 'days_end_after_they_begin',
    where: 'survey_progress_by_day',
    says: 'days end before they begin',
    sql: `SELECT ${named(['account', 'survey_id', 'day'])} FROM main.survey_progress_by_day WHERE started_before <= started_after`,
  },
  {
    rule: 'reconstructed_rows_are_before_observed_ones',
    where: 'survey_progress_reconstructed',
    says: 'rows are not earlier than the first reading of their survey',
    sql: `SELECT ${named(['account', 'survey_id', 'as_of'])} FROM main.survey_progress_reconstructed r
      JOIN main.survey_progress p USING (account, survey_id) WHERE r.as_of >= p._first_seen_at OR r.as_of >= r.read_at`,
  },
]
