/** What `status` and `status --requests` print. Columns of tables have the meaning that their declaration gives. */
import { z } from 'zod'
import { cursors, driftEvents, rejectedRows, runs } from '../../../src/model/sync-tables.js'
import { account, columns, count, list, listOf, moment, orNull, text } from './json-fields.js'
import { failingSurvey, requestUsage, withFormerName } from './json-run-document.js'

export const status = z.strictObject({
  verdict: z
    .strictObject({
      state: z
        .enum(['ok', 'partial', 'late', 'failed'])
        .meta({ description: 'The worst of the accounts; late: no run was complete for `--max-age`' }),
      exit_code: count('What `status --check` exits with'),
      text: text('The first line of `status`'),
    })
    .meta({ description: 'How the warehouse is, in a line' }),
  published: text('Path of what is published'),
  published_at: moment('When it was published, clock of the machine that did it'),
  holder: orNull(text('Who holds the warehouse: command, process, machine and time; null when nobody does')),
  runs: listOf(
    'The last five runs, newest first, one entry a run and account',
    columns(
      runs,
      'run_id account started_at ended_at status exit_code reason requests refusals surveys_refreshed left_over',
    ),
  ),
  cursors: listOf(
    'Where the next listing of each account starts',
    columns(cursors, 'account updated_since full_listed_at'),
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
    never_refreshed: count('Those whose sources and progress were never read'),
    oldest_refresh_at: orNull(moment('The oldest refresh of a survey, server time')),
    newest_refresh_at: orNull(moment('The newest refresh of a survey, server time')),
    with_error: count('Surveys whose last reading failed, in whole or in part'),
  }),
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
    withFormerName(
      z.strictObject({
        ...columns(runs, 'run_id account started_at requests requests_estimated'),
        request_usage: requestUsage,
      }),
    ),
    'The last sync of each account that has ended',
  ),
})
