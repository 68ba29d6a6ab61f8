/** The commands that read the published state. */
import { extname, resolve } from 'node:path'
import { REPORT_FILE } from '../../model/publish-formats.js'
import type { Command } from '../context.js'
import { choiceOf, usageError } from '../flags.js'
import { command, NO_ACCOUNTS, OUT, option, SETTINGS, settingsOf, text } from './shared.js'

export const EXPORT_FORMATS = ['parquet', 'csv', 'xlsx'] as const
const SCHEMA_FORMATS = ['sql', 'markdown', 'json', 'dbt'] as const

const QUERY_FORMATS = ['table', 'markdown', 'csv', 'json', 'parquet', 'xlsx'] as const

/** The format of a file, by the end of its name. */
const QUERY_FILES: Readonly<Record<string, (typeof QUERY_FORMATS)[number]>> = {
  '.txt': 'table',
  '.md': 'markdown',
  '.csv': 'csv',
  '.json': 'json',
  '.parquet': 'parquet',
  '.xlsx': 'xlsx',
}

/** A file whose name says another format, such as fieldwork.duckdb, is never replaced. */
const queryFormatOf = (name: string | undefined, out: string | undefined, flag: string) => {
  const problem = `--format must be one of ${QUERY_FORMATS.join(', ')}`
  const format = name === undefined ? null : choiceOf(name, QUERY_FORMATS, { command: 'query', problem })
  if (out === undefined) {
    if (format === 'parquet' || format === 'xlsx')
      throw usageError(`--format ${format} needs a file: --out rows.${format}`, 'query')
    return format ?? 'table'
  }
  const named = QUERY_FILES[extname(out).toLowerCase()]
  if (named === undefined)
    throw usageError(`--out ${out} must end in one of ${Object.keys(QUERY_FILES).join(', ')}`, 'query')
  if (format !== null && format !== named)
    throw usageError(`${flag} and --out ${out} exclude each other`, 'query')
  return named
}

const queryNames = async (): Promise<readonly string[]> =>
  (await import('../query/named.js')).NAMED_QUERIES.map(({ name }) => name)

const relationNames = async (): Promise<readonly string[]> => {
  const { ALL_TABLES, tableName } = await import('../../model/sync-tables.js')
  const { ALL_VIEWS } = await import('../../warehouse/views/all.js')
  return [...ALL_TABLES, ...ALL_VIEWS].map(tableName)
}

/** The absolute path that `--out` names. */
const outOf = (out: string | undefined, command: string, what: string): string => {
  if (out === undefined || out === '') throw usageError(`${command} needs --out ${what}`, command)
  return resolve(out)
}

export const READ: readonly Command[] = [
  command({
    name: 'status',
    describe:
      'Show whether the last night was complete, and the runs, the queue and what is wrong; or explain one survey; makes no request to the API',
    examples: [
      ['Why is this survey old?', 'status --survey 4711'],
      ['For a probe: exit 0 if a run was complete in the last 26 hours', 'status --check --max-age 26h'],
    ],
    flags: {
      survey: text(
        'Explain one survey, such as 4711 or acme/4711: why its data is so old, and when it is read next',
      ),
      requests: option('Show only the requests of the last run of each account, by reason and kind'),
      check: option('Print only the first line, and exit with the code of what it says: 0 to 7'),
      'max-age': text('Say LATE if no run was complete for this long (default: 26h)'),
      ...SETTINGS,
    },
    run: async (context, flags) => {
      const unused = (['survey', 'check', 'max-age'] as const).find((name) => flags[name] !== undefined)
      if (flags.requests === true && unused !== undefined)
        throw usageError(`status --requests shows only requests: leave out --${unused}`, 'status')
      if (flags.check === true && flags.survey !== undefined)
        throw usageError('status --check is about all surveys: leave out --survey', 'status')
      const settings = await settingsOf(context, flags, NO_ACCOUNTS)
      if (flags.requests === true)
        await (await import('../status/requests.js')).showRequests(context, settings)
      else await (await import('../status.js')).showStatus(context, settings, flags)
    },
  }),
  command({
    name: 'export',
    describe:
      'Write published tables and views as Parquet, CSV or Excel files, all of one published state; also works while a sync runs',
    examples: [
      ['A workbook for Excel', 'export --format xlsx --out workbook'],
      ['Two tables as CSV', 'export --format csv --tables surveys,freshness --out csv'],
    ],
    flags: {
      format: text('Format of the files: parquet, csv or xlsx, for Excel and LibreOffice (required)', {
        values: EXPORT_FORMATS,
      }),
      out: text(
        'Directory to write (required); an earlier export there is replaced, other files are never deleted',
        OUT,
      ),
      tables: text(
        'Tables and views to export, such as surveys,survey_overview,_sync.runs (default: all tables except those of _sync, in a workbook after surveys_today and needs_action)',
        { values: relationNames, isList: true },
      ),
      bom: option(
        'For CSV that people open in Excel: begin with a byte order mark, and put an apostrophe before formulas and error values',
      ),
      ...SETTINGS,
    },
    run: async (context, flags) => {
      const problem = `export needs --format ${EXPORT_FORMATS.join(' or --format ')}`
      const format = choiceOf(flags.format, EXPORT_FORMATS, { command: 'export', problem })
      const out = outOf(flags.out, 'export', 'DIR')
      const bom = flags.bom === true
      if (bom && format !== 'csv') throw usageError('--bom is only for --format csv', 'export')
      const settings = await settingsOf(context, flags, NO_ACCOUNTS)
      const { exportPublished } = await import('../export.js')
      const tables = flags.tables?.split(',').flatMap((name) => name.trim() || []) ?? null
      await exportPublished(context, settings, { out, format, bom, tables })
    },
  }),
  command({
    name: 'query',
    describe:
      'Run SQL, or a query that has a name, on the published tables and views, and print the rows; only reads, and makes no request to the API',
    examples: [
      ['Any question in SQL', 'query "SELECT title, status, per_day FROM surveys_today"'],
      ['A query with a name, in a file for Excel', 'query needs-action --out morning.xlsx'],
    ],
    flags: {
      query: {
        type: 'argument',
        describe: 'SQL, such as "FROM surveys_today"; or the name of a query; or - for SQL on stdin',
        values: queryNames,
      },
      list: option('Show the queries that have a name'),
      sql: option('Print the SQL instead of running it'),
      survey: text('Only this survey: its id, or acme/4711; SQL of your own uses it as $survey and $account'),
      days: text('Only the last days before the newest reading, such as 7; SQL of your own uses it as $days'),
      'max-duration': text('Stop the query after this time, such as 5m; 0 for no limit (default: 60s)'),
      format: text(`Format: ${QUERY_FORMATS.join(', ')} (default: by --out, or table)`, {
        values: QUERY_FORMATS,
      }),
      out: text(
        `File to write, which replaces an earlier one: ${Object.keys(QUERY_FILES).join(', ')}; Parquet and xlsx need it`,
        OUT,
      ),
      ...SETTINGS,
      json: option('The same as --format json'),
    },
    run: async (
      context,
      { query: input, list, sql, format: name, out, json, 'max-duration': maxDuration, ...flags },
    ) => {
      const { listOfQueries, namedQueriesAsJson, query, sqlOfQuery } = await import('../query.js')
      if (list === true) {
        const isJson = json === true || name === 'json'
        return void (await context.print(isJson ? namedQueriesAsJson() : listOfQueries()))
      }
      if (input === undefined)
        throw usageError('query needs SQL, or the name of a query: query --list shows them', 'query')
      if (sql === true) return void (await context.print(await sqlOfQuery(context, input)))
      const format = queryFormatOf(
        json === true ? 'json' : name,
        out,
        json === true ? '--json' : `--format ${name}`,
      )
      const settings = await settingsOf(context, flags, NO_ACCOUNTS)
      const { survey, days } = flags
      const file = out === undefined ? null : resolve(out)
      await query(context, settings, { input, format, out: file, survey, days, maxDuration })
    },
  }),
  command({
    name: 'report',
    describe:
      'Write one HTML page about the published surveys: what needs action, pace, forecasts, changes; makes no request to the API',
    examples: [
      ['A page to open in a browser', 'report'],
      ['Of the warehouse of a backup', 'report --warehouse /mnt/backup --out report.html'],
    ],
    flags: {
      out: text('File to write; an earlier report is replaced, any other file is not', {
        ...OUT,
        default: REPORT_FILE,
      }),
      ...SETTINGS,
    },
    run: async (context, flags) => {
      const out = outOf(flags.out ?? REPORT_FILE, 'report', 'FILE')
      const settings = await settingsOf(context, flags, NO_ACCOUNTS)
      await (await import('../report.js')).report(context, settings, out)
    },
  }),
  command({
    name: 'schema',
    describe:
      'Describe the tables and views of every warehouse as SQL, a data dictionary, JSON, or dbt sources with tests',
    examples: [
      ['Every column, to read', 'schema'],
      ['For dbt', 'schema --format dbt'],
    ],
    flags: {
      format: text(`Output format: ${SCHEMA_FORMATS.join(', ')} (default: markdown)`, {
        values: SCHEMA_FORMATS,
      }),
      json: option('The same as --format json'),
    },
    run: async (context, { format: name, json = false }) => {
      const problem = `--format must be one of ${SCHEMA_FORMATS.join(', ')}`
      const chosen = name ?? (json ? 'json' : 'markdown')
      const format = choiceOf(chosen, SCHEMA_FORMATS, { command: 'schema', problem })
      if (json && format !== 'json')
        throw usageError(`--json and --format ${format} exclude each other`, 'schema')
      const { schemaAsDbt, schemaAsJson, schemaAsMarkdown, schemaAsSql } = await import('../schema.js')
      const schemaAs = { sql: schemaAsSql, markdown: schemaAsMarkdown, json: schemaAsJson, dbt: schemaAsDbt }
      await context.print(schemaAs[format]())
    },
  }),
]
