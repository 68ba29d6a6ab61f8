/** The JSON documents that commands print. `npm run reference` makes JSON Schemas and tables of fields of them. */
import { z } from 'zod'
import { EXPORT_FORMATS } from '../../../src/commands/table/read.js'
import { REQUEST_KINDS, REQUEST_REASONS } from '../../../src/model/request-usage.js'
import { RUN_COMMANDS } from '../../../src/model/run-record.js'
import { COMPARED_TABLES, VERDICTS } from '../../../src/verify/sample/verdict.js'
import {
  account,
  count,
  EXIT_CODE,
  exitCode,
  flag,
  type JsonSchema,
  list,
  listOf,
  moment,
  number,
  object,
  orNull,
  text,
  withoutDialect,
} from './json-fields.js'
import { runDocument } from './json-run-document.js'
import { status, statusRequests, statusSurvey } from './json-status-documents.js'

export interface JsonDocument {
  readonly name: string
  readonly title: string
  readonly schema: z.ZodType
}

const requestsByKind = z.strictObject(
  Object.fromEntries(
    REQUEST_KINDS.map((kind) => [kind, count(`Requests: ${kind.replaceAll('_', ' ')}`).optional()]),
  ),
)

const plan = z.strictObject({
  max_requests: orNull(count('--max-requests; null where it is not given')),
  max_duration_seconds: orNull(number('--max-duration; null where it is not given')),
  accounts: listOf('The plan of each account', {
    account,
    rate: object('The cap', {
      requests: count('Requests in any window'),
      per_seconds: number('Length of the window'),
    }),
    expected_at: orNull(
      moment("When the next run is expected, by the server's clock; null before the first complete listing"),
    ),
    listing: z.enum(['full', 'incremental']).describe('Kind of its listing'),
    requests: orNull(count('Requests estimated in all; null before the first complete listing')),
    seconds_at_cap: orNull(number('How long these take at the cap; null before the first complete listing')),
    entries: listOf('Requests by reason', {
      reason: z.enum(REQUEST_REASONS).describe('Why the surveys are read'),
      surveys: count('Surveys; of a full listing, rows that it is expected to show'),
      requests: requestsByKind.describe('Requests by kind; kinds without requests are left out'),
    }),
    excluded: orNull(
      object('Surveys that are due and excluded by the settings; null before the first complete listing', {
        surveys: count('How many'),
        requests: requestsByKind.describe('Requests that reading them is expected to take, by kind'),
      }),
    ),
    fits: orNull(
      object('What fits into the limits of the command; null before the first complete listing', {
        surveys: count('Surveys known to be due that fit'),
        requests: count('Requests that these and the listing take'),
        waiting: count('Surveys that wait for the run after it'),
        oldest_since: orNull(moment('Since when the oldest of these waits; null where none waits')),
      }),
    ),
  }),
})

const checks = listOf('The checks, in the order in which they were made', {
  what: text('What was checked: settings, warehouse, or the shared cap or API of an account'),
  ok: flag('Whether a sync would work, as far as this goes'),
  detail: text('What was found, or what is wrong and what to do'),
})

const check = z.strictObject({
  exit_code: exitCode(`${EXIT_CODE}: that of the first check that failed`),
  checks,
})

const init = z.strictObject({
  exit_code: exitCode(`${EXIT_CODE}: that of the first check that failed`),
  settings_file: text('Absolute path of the settings file'),
  token_file: text('Absolute path of the token file'),
  token_file_created: flag('Whether the token file was created'),
  checks: orNull(checks.describe('The checks, as in `check --json`; null with --no-check')),
  next: text('The command line to type next'),
})

const exported = z.strictObject({
  out: text('Absolute path of the directory'),
  fieldwork_sync_export: z.literal(1).describe('Version of this description'),
  program: text('Version of fieldwork-sync'),
  exported_at: moment('When it was written, clock of the machine that ran it'),
  source: text('Path of the published state that was read'),
  run_id: orNull(text('The last run in it')),
  format: z.enum(EXPORT_FORMATS).describe('Format of the files'),
  bom: flag('Whether CSV files are for spreadsheet programs'),
  rows: count('Rows of all files'),
  tables: listOf('The exported tables and views', {
    table: text('Name of the table or view'),
    file: text('Name of the file; several tables can share a workbook'),
    rows: count('Its rows'),
    bytes: count('Size of the file, bytes'),
    sha256: text('SHA-256 of the file, hexadecimal'),
    cut_texts: count('Texts that were cut, because a cell of a workbook could not hold them'),
  }),
})

const report = z.strictObject({
  out: text('Absolute path of the file'),
  source: text('Path or address of the published state that it shows'),
  bytes: count('Size of the file, bytes'),
  in_field: count('Surveys in the field'),
  sections: count('Surveys with a section of their own'),
})

const verdicts = Object.fromEntries(
  (
    [
      ['equal', 'Rows that are equal'],
      ['moved', 'Rows that have changed since they were read'],
      ['waiting', 'Rows that are known to lag: pending, never read, or in quarantine'],
      ['unclear', 'Rows about which the API does not say enough'],
      ['wrong', 'Rows whose difference nothing explains'],
    ] as const
  ).map(([verdict, meaning]) => [verdict, count(meaning)]),
)

const cell = (meaning: string) =>
  z
    .union([
      z.string().describe('Text, or a time'),
      z.number().describe('A number'),
      z.boolean().describe('A yes or no'),
      z.null().describe('Nothing'),
    ])
    .describe(meaning)

const verify = z.strictObject({
  exit_code: exitCode(EXIT_CODE),
  local: object('The half without requests', {
    checks: count('Rules, files and partitions that were checked'),
    states: list(z.string(), 'Paths of the published states that were checked'),
    problems: listOf('What is wrong in the published state', {
      rule: text('Stable name of the rule'),
      state: text('Path of the published state'),
      where: text('Table or view; files for files'),
      says: text('What is wrong'),
      count: count('Rows or files that break the rule'),
      example: text('One of them'),
      advice: text('What to do'),
    }),
    notes: list(z.string(), 'What was left out, and why'),
  }),
  sample: orNull(
    object('The comparison with the API; null with --local', {
      seed: text('With this --seed the same surveys are chosen'),
      accounts: listOf('The sample of each account; empty if the published state cannot be read', {
        account,
        surveys: count('Surveys that could be chosen: the API shows them, and they were read at least once'),
        chosen: count('Surveys that were chosen'),
        compared: count('Surveys of these that were compared completely'),
        chance_to_find_one_percent: number(
          'Chance that such a sample finds a wrong survey if one in a hundred is wrong, 0 to 1',
        ),
        requests: count('Requests sent, retries included'),
        stopped: orNull(text('Why it ended before the last chosen survey; null if it did not')),
        unread: listOf('Chosen surveys that could not be compared', {
          survey_id: z.int().describe('ID of the survey'),
          problem: text('Why the API refused it'),
        }),
        dropped_fields: listOf('Fields that the API gives in no answer of the sample any more', {
          resource: z.enum(['survey', 'sample_source', 'fieldwork_progress']).describe('The resource'),
          field: text('The field'),
          rows: count('Rows of the sample that still have a value of before'),
        }),
        tables: listOf('Rows by table', {
          table: z.enum(COMPARED_TABLES).describe('The table'),
          rows: count('Rows that were compared'),
          fields: count('Fields of these'),
          ...verdicts,
        }),
        findings: listOf('Every row that is not equal', {
          table: z.enum(COMPARED_TABLES).describe('The table'),
          survey_id: z.int().describe('ID of the survey'),
          sample_source_id: orNull(z.int().describe('ID of the sample source; null for the survey itself')),
          verdict: z.enum(VERDICTS).describe('What the comparison has shown'),
          why: text('Why, one sentence'),
          differences: listOf('The fields that show it', {
            field: text('The column'),
            stored: cell('In the warehouse; null also if there is no row'),
            service: cell('What the service says; with a contradiction, what the stored counts give'),
          }),
        }),
      }),
    }),
  ),
})

const relation = z.strictObject({
  schema: z
    .enum(['main', '_sync'])
    .describe('`main` is what analysts read, `_sync` the bookkeeping of the job'),
  name: text('Name of the table or view'),
  kind: z.enum(['table', 'view']).describe('Whether it is a table or a view'),
  comment: text('What a row is'),
  key: list(z.string(), 'Columns that identify a row'),
  references: listOf('Rows of other tables that each row belongs to', {
    columns: list(z.string(), 'Columns of this relation'),
    table: text('The other table'),
    to: list(z.string(), 'Its columns, in the same order'),
  }),
  columns: listOf('The columns, in order', {
    name: text('Name of the column'),
    type: text('Its type in DuckDB'),
    nullable: flag('Whether it may be null'),
    comment: text('What it means'),
    values: orNull(list(z.string(), 'Values that are expected; others are stored as well. Null: any value')),
  }),
})

const schema = z.strictObject({
  schema_version: count('Version of the tables'),
  relations: list(relation, 'Tables and views'),
})

const rule = {
  id: text('Stable name of the rule'),
  section: text('Section of the API document'),
  text: text('The rule in one line'),
}

const conformance = z.strictObject({
  exit_code: exitCode(EXIT_CODE),
  base_url: text('Address of the service'),
  totals: object('Rules by verdict', {
    pass: count('Rules that the service keeps'),
    fail: count('Rules that it breaks'),
    not_observable: count('Rules that could not be observed'),
  }),
  rules: list(
    z.union([
      z.strictObject({
        ...rule,
        verdict: z.literal('pass').describe('What was found'),
        note: text('With pass, in some rules: what else was observed').optional(),
      }),
      z.strictObject({
        ...rule,
        verdict: z.literal('fail').describe('What was found'),
        asked: text('With fail: the request'),
        expected: text('With fail: what the rule demands'),
        got: text('With fail: the answer'),
      }),
      z.strictObject({
        ...rule,
        verdict: z.literal('not_observable').describe('What was found'),
        reason: text('With not_observable: why'),
      }),
    ]),
    'The rules, in the order of the report',
  ),
  observations: listOf('What the service does where the API document is silent', {
    topic: text('What was observed'),
    section: text('Section of the API document that is silent about it'),
    told: text('What the service does'),
  }),
  requests: count('Requests sent'),
  rate_limited: count('Answers 429 below the cap'),
  elapsed_ms: count('How long it took, milliseconds'),
  ended_early: orNull(text('Why the run ended early; null if it did not')),
})

const failure = z.strictObject({
  error: object('Why the command has no result', {
    code: z
      .string()
      .regex(/^[a-z][a-z_]+$/)
      .describe('Stable name of the error'),
    message: text('What happened, where, and what to do now; may have several lines'),
    exit_code: exitCode(EXIT_CODE),
  }),
})

const webhook = z.strictObject({
  command: z.enum(RUN_COMMANDS).describe('Which command it was'),
  version: text('Version of fieldwork-sync'),
  host: text('Name of the machine or pod that ran it'),
  exit_code: exitCode(EXIT_CODE),
  status: z.enum(['complete', 'partial', 'failed']).describe('How it ended'),
  report: orNull(
    z
      .record(z.string(), z.unknown())
      .describe('What `sync --json` or `replay --json` prints; null if an error ended the command'),
  ),
  error: orNull(failure.shape.error),
  started_at: moment('Start, clock of the machine that ran it'),
  ended_at: moment('End, clock of the machine that ran it'),
})

const queryList = z.strictObject({
  queries: listOf('The queries that have a name', {
    name: text('What query takes'),
    describe: text('What it answers'),
    sql: text('Its SQL, as query NAME --sql prints it'),
  }),
})

export const JSON_DOCUMENTS: readonly JsonDocument[] = [
  { name: 'init', title: 'init --json', schema: init },
  { name: 'sync', title: 'sync --json', schema: runDocument('sync') },
  { name: 'replay', title: 'replay --json', schema: runDocument('replay') },
  { name: 'plan', title: 'plan --json', schema: plan },
  { name: 'check', title: 'check --json', schema: check },
  { name: 'status', title: 'status --json', schema: status },
  { name: 'status-survey', title: 'status --survey --json', schema: statusSurvey },
  { name: 'status-requests', title: 'status --requests --json', schema: statusRequests },
  { name: 'verify', title: 'verify --json', schema: verify },
  { name: 'export', title: 'export --json, and export.json but for out', schema: exported },
  { name: 'query-list', title: 'query --list --json', schema: queryList },
  { name: 'report', title: 'report --json', schema: report },
  { name: 'schema', title: 'schema --json', schema },
  { name: 'conformance', title: 'conformance --json', schema: conformance },
  { name: 'webhook', title: 'what notify.webhook gets', schema: webhook },
  { name: 'error', title: 'Any command with --json that fails', schema: failure },
]

export const jsonSchemaOf = ({ title, schema: of }: JsonDocument): JsonSchema => ({
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  title: `fieldwork-sync: ${title}`,
  ...withoutDialect(of),
})
