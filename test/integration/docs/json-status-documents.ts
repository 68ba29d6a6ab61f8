/** What `status` and `status --requests` print. Columns of tables have the meaning that their declaration gives. */
import { z } from 'zod'
import { CAUSES, NEXT_READINGS } from '../../../src/commands/status/explain.js'
import { TASK_REASONS } from '../../../src/model/request-usage.js'
import { cursors, driftEvents, rejectedRows, runs, tasks } from '../../../src/model/sync-tables.js'
import { freshness, surveys } from '../../../src/model/tables.js'
import { progressDaily } from '../../../src/warehouse/views/progress-daily.js'
import {
  account,
  columnOf,
  columns,
  count,
  declared,
  flag,
  list,
  listOf,
  moment,
  object,
  orNull,
  text,
} from './json-fields.js'
import { failingSurvey, requestUsage } from './json-run-document.js'

const head = {
  published: text('Path of what is published'),
  published_at: moment('When it was published, clock of the machine that did it'),
  holder: orNull(text('Who holds the warehouse: command, process, machine and time; null when nobody does')),
  last_run: orNull(
    object('The last sync that is not under way, also if it could not publish; null if it left nothing', {
      run_id: text('Identifier of the run'),
      accounts: list(text('Name of the account'), 'The accounts that it read'),
      started_at: moment('Start, clock of the machine that ran it'),
      seen_at: moment('The end, or the last sign of a run that was killed'),
      ended_at: orNull(moment('End; null if it was killed')),
      exit_code: orNull(count('Exit code of the command; null if it was killed')),
      reason: orNull(text('Why it is not complete, one line')),
      error_code: orNull(text('Stable code of the error that decided the exit code; null without one')),
      is_published: flag('Whether the published state shows this end'),
    }),
  ),
  running: orNull(
    object('The sync that is under way; null if there is none', {
      run_id: text('Identifier of the run'),
      accounts: list(text('Name of the account'), 'The accounts that it reads'),
      started_at: moment('Start, clock of the machine that runs it'),
      seen_at: moment('When it last said that it is there; in a bucket, its start'),
      ended_at: z.null().describe('Always null'),
      exit_code: z.null().describe('Always null'),
      reason: z.null().describe('Always null'),
      error_code: z.null().describe('Always null'),
      is_published: flag('Always false'),
    }),
  ),
}

export const status = z.strictObject({
  verdict: z
    .strictObject({
      state: z.enum(['ok', 'partial', 'late', 'interrupted', 'failed']).meta({
        description:
          'The worst of the accounts; late: no run was complete for `--max-age`; interrupted: the last run was killed',
      }),
      exit_code: count('What `status --check` exits with'),
      text: text('The first line of `status`'),
      next: text('What to do next'),
    })
    .meta({ description: 'How the warehouse is, in a line' }),
  ...head,
  runs: listOf(
    'The last five runs, newest first, one entry a run and account',
    columns(
      runs,
      'run_id account started_at ended_at status exit_code reason requests rate_limited surveys_refreshed left_over',
    ),
  ),
  cursors: listOf(
    'Where the next listing of each account starts',
    columns(cursors, 'account updated_since full_listed_at moved_at'),
  ),
  queue: listOf('The queue, by account and reason', {
    account,
    reason: text('Why these surveys were queued'),
    tasks: count('Queued surveys'),
    failing: count('Those of them that could not be read'),
    oldest_at: moment('When the first of them was queued, server time'),
  }),
  failing: listOf(
    'Queued surveys that could not be read: the first 20, by account, those that failed most often first',
    { account, ...failingSurvey.shape },
  ),
  freshness: listOf('How fresh the surveys of each account are', {
    account,
    surveys: count('Surveys that are known'),
    never_refreshed: count('Those whose sources and progress were never read, without excluded ones'),
    oldest_refresh_at: orNull(moment('The oldest refresh of a survey that is not excluded, server time')),
    newest_refresh_at: orNull(moment('The newest refresh of a survey, server time')),
    with_error: count('Surveys whose last reading failed, in whole or in part, without excluded ones'),
    excluded: count('Surveys that the settings exclude (`accounts[].exclude`)'),
  }),
  left_out: listOf(
    'Surveys that the list leaves out, or whose lists of sources leave out sources, although they still answer: the first 20',
    {
      account,
      survey_id: count('ID of the survey'),
      unlisted_since: orNull(
        moment('When a full listing first did not show the survey, server time; null if it is listed'),
      ),
      sources_left_out: orNull(count('Sources that its own list leaves out; null = none')),
    },
  ),
  tables: listOf('Rows of each table, without those of `_sync`', {
    table: text('Name of the table'),
    rows: count('Its rows'),
  }),
  drift: listOf(
    'Differences from the API document, the last met first',
    columns(driftEvents, 'account resource path value kind occurrences first_seen_at last_seen_at'),
  ),
  rejections: listOf('Rejected rows, by account, endpoint and reason', {
    ...columns(rejectedRows, 'account endpoint problem'),
    rows: count('Rows that were rejected for this reason'),
    replayed: count('Those of them that a replay could type'),
    first_at: moment('When the first of them was read, server time'),
    last_at: moment('When the last of them was read, server time'),
  }),
})

export const statusRequests = z.strictObject({
  runs: list(
    z.strictObject({
      ...columns(runs, 'run_id account started_at requests requests_estimated'),
      request_usage: requestUsage,
    }),
    'The last sync of each account that has ended',
  ),
})

export const statusSurvey = z.strictObject({
  ...head,
  surveys: listOf('The survey, of each account that has it', {
    account,
    survey_id: count('ID of the survey'),
    title: orNull(text('Its title; null if none of its rows could be typed')),
    status: orNull(text('Its status; null if none of its rows could be typed')),
    pending_status: orNull(text('The status of a changed row that waits for the next reading; null without')),
    missing_since: declared(columnOf(surveys, '_missing_since')),
    now: moment("The server's time, by which ages are counted"),
    why: listOf('Why its data is as old as it is; empty if it is as new as the last run', {
      cause: z.enum(CAUSES).describe('Stable name of the cause'),
      text: text('The cause in words'),
    }),
    ...columns(freshness, 'listed_at refreshed_at'),
    progress_since: orNull(
      moment('Since when its progress has these numbers, server time; null = never read'),
    ),
    next: object('Its next reading', {
      when: z.enum(NEXT_READINGS).describe('In the next run, later, after a change of its row, or not'),
      at: orNull(moment('When the next run is expected, or from when it is due, server time')),
      reason: orNull(z.enum(TASK_REASONS).describe('Why it is read')),
      place: orNull(count('Its place among the surveys that the next run is known to read')),
      of: orNull(count('How many these are')),
      text: text('The same in words'),
    }),
    queue: orNull(
      object('Its place in the queue; null if it does not wait', {
        ...columns(tasks, 'reason enqueued_at attempts'),
        refusals: count('Runs in a row in which the API refused it'),
        ...columns(tasks, 'refused_at'),
      }),
    ),
    ...columns(freshness, 'last_error'),
    rejections: listOf('Its rejected rows, by reason', {
      ...columns(rejectedRows, 'endpoint problem'),
      sources: count('Sources that they belong to; 0 for the whole survey'),
      days: count('Days that were requested; 0 for all interviews'),
      rows: count('Rows that were rejected for this reason'),
      replayed: count('Those of them that a replay could type'),
      last_at: moment('When the last of them was read, server time'),
    }),
    sources: object('Its sample sources', {
      count: count('Sources that the API shows'),
      listed_at: declared(columnOf(freshness, 'sources_read_at')),
      progress_read_at: declared(columnOf(freshness, 'source_progress_read_at')),
    }),
    days: listOf('The last seven days of `progress_daily` that are known', {
      ...columns(progressDaily, 'day interviews_count gained completion_rate'),
    }),
  }),
})
