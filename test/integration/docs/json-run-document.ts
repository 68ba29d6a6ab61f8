/** The report of a run, which `sync` and `replay` print. Fields of the run record have the meaning that their declaration gives. */
import { z } from 'zod'
import { snakeCase } from '../../../src/base/snake-case.js'
import { PUBLISH_FORMATS } from '../../../src/model/publish-formats.js'
import { REQUEST_KINDS, REQUEST_REASONS } from '../../../src/model/request-usage.js'
import type { RunCommand } from '../../../src/model/run.js'
import { RUN_FIELDS } from '../../../src/model/run-record.js'
import { DRIFT_KINDS } from '../../../src/model/survey-source.js'
import { driftEvents, requests } from '../../../src/model/sync-tables.js'
import {
  columnOf,
  count,
  declared,
  EXIT_CODE,
  exitCode,
  flag,
  list,
  listOf,
  meaningOf,
  moment,
  number,
  object,
  orNull,
  text,
} from './json-fields.js'

const rowCounts = (table: string) =>
  object(`Rows of \`${table}\``, {
    added: count('Rows that are new'),
    changed: count('Rows that differ from the stored ones'),
    unchanged: count('Rows that equal the stored ones'),
  })

export const requestUsage = listOf(
  'Where the requests went, and which were saved; one entry a kind and reason',
  {
    kind: z.enum(REQUEST_KINDS).describe('What was requested'),
    reason: z.enum(REQUEST_REASONS).describe(meaningOf(columnOf(requests, 'reason'))),
    requests: count('Requests sent, retries included'),
    saved: count('Requests that were not made because their answer was known or not due'),
  },
)

export const failingSurvey = z.strictObject({
  survey_id: z.int().describe('ID of the survey'),
  title: orNull(text('Title of the survey; null where no listing has shown it yet')),
  attempts: count('Runs in a row that tried it and failed'),
  error: text('Why it failed last, one line'),
})

const drift = z.strictObject({
  resource: text(columnOf(driftEvents, 'resource').comment),
  kind: z.enum(DRIFT_KINDS).describe(meaningOf(columnOf(driftEvents, 'kind'))),
  path: text(columnOf(driftEvents, 'path').comment),
  value: orNull(text(columnOf(driftEvents, 'value').comment)),
  occurrences: count('How often it was met so far, in this run and earlier ones'),
  first_seen_at: moment(columnOf(driftEvents, 'first_seen_at').comment),
  is_new: flag('Whether no earlier run has met it'),
})

const rejection = z.strictObject({
  endpoint: text('What was requested: surveys, sample_sources or fieldwork_progress'),
  problem: text('What could not be typed: field and reason'),
  rows: count('Rows that were rejected for this reason'),
})

/** Where JSON says something else than the column of the same name, or says it in another way. */
const OWN_MEANINGS: Readonly<Record<string, string>> = {
  runId: 'Identifier of the run; all accounts of one command have the same',
  endedAt: 'End, clock of the machine that ran it',
  driftEvents: 'Differences from the API document met; `drift` names the first of them',
  rejectedRows: 'Rows that went to quarantine; `rejections` gives the reasons',
}

/** The fields of the run record that a report has under the same name. */
const recordShape = (command: RunCommand): Record<string, z.ZodType> => {
  const { version, rowsReplayed, rowsByTable, ...fields } = RUN_FIELDS
  return {
    ...Object.fromEntries(
      Object.entries(fields).map(([name, field]) => [snakeCase(name), declared(field, OWN_MEANINGS[name])]),
    ),
    command: z.literal(command).describe('Which command it was'),
    status: z
      .enum(['complete', 'partial', 'failed'])
      .describe('How it ended: complete is exit 0, partial is exit 3, failed is any other'),
    exit_code: exitCode(RUN_FIELDS.exitCode.comment),
    has_failures: z.boolean().describe('Whether something failed; a budget or a signal is no failure'),
  }
}

const accountReport = (command: RunCommand) =>
  z.strictObject({
    ...recordShape(command),
    pace_interval_ms: orNull(
      number(
        'Time between requests at the end, milliseconds, after the API refused bursts; null if requests went in bursts',
      ),
    ),
    request_usage: requestUsage,
    failing: count('Surveys of left_over that could not be read'),
    failing_surveys: list(failingSurvey, 'The first of these, those that failed most often first'),
    drift: list(drift, 'The first of the differences from the API document'),
    rejections: list(
      rejection,
      'Why rows were rejected, the most frequent reasons first; not all where there are many',
    ),
    rows_by_table: object(
      'Rows written, by table; `survey_progress_by_day` only where the settings ask for days, `survey_progress_reconstructed` only if such rows were read',
      {
        surveys: rowCounts('surveys'),
        sample_sources: rowCounts('sample_sources'),
        survey_progress: rowCounts('survey_progress'),
        sample_source_progress: rowCounts('sample_source_progress'),
        survey_progress_by_day: rowCounts('survey_progress_by_day').optional(),
        survey_progress_reconstructed: rowCounts('survey_progress_reconstructed').optional(),
      },
    ),
    replayed:
      command === 'sync'
        ? z.null().describe('Always null: only a replay has it')
        : object('Rows of the quarantine by what became of them', {
            merged: count('Rows that were merged'),
            queued: count('Rows whose survey the next sync reads again'),
            outdated: count('Rows not written: the survey was read again since, or is gone'),
            waiting: count('Rows that still cannot be typed'),
          }),
  })

const plan = object('The plan; null without the setting `plan`', {
  file: text('Path of the file'),
  stored: count('Lines in the table plan'),
  unknown: count('Of these, those about what the API does not show'),
  is_kept: flag('Whether they are of an earlier run, because no line of the file can be read'),
  rejected_lines: count('Lines that cannot be read'),
  problems: list(
    text('Line and reason, or why no line can be read'),
    'The first of these lines, or why no line can be read',
  ),
})

export const runDocument = (command: RunCommand) =>
  z.strictObject({
    exit_code: exitCode(`${EXIT_CODE}; the worst of all accounts`),
    status: z.enum(['complete', 'partial', 'failed']).describe('How the run ended as a whole'),
    accounts: list(
      accountReport(command),
      command === 'sync'
        ? 'What was done for each account'
        : 'What was done for each account with rows in quarantine',
    ),
    published: listOf('What was published', {
      format: z.enum(PUBLISH_FORMATS).describe('What was published'),
      path: text('Path of what readers open'),
      bytes: count('Size of it, bytes'),
    }),
    publish_error: orNull(text('Why nothing, or not everything, was published; null when all was')),
    ...(command === 'sync' ? { plan: orNull(plan) } : {}),
  })
