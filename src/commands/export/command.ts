/** `fieldwork-sync export` writes published tables as files into a directory. It makes no request. */
import { resolve } from 'node:path'
import type { Command } from '../context.js'
import { choiceOf, usageError } from '../flags.js'
import { settingsOptions, text } from '../options.js'

export const EXPORT_FORMATS = ['parquet', 'csv', 'xlsx'] as const

const flags = {
  format: {
    ...text('Format of the files: parquet, csv or xlsx, for Excel and LibreOffice (required)'),
    values: EXPORT_FORMATS,
  },
  out: text(
    'Directory to write (required); an earlier export there is replaced, other files are never deleted',
  ),
  tables: {
    ...text(
      'Tables and views to export, such as surveys,survey_overview,_sync.runs (default: all tables except those of _sync)',
    ),
    values: async () => {
      const { ALL_TABLES, tableName } = await import('../../model/sync-tables.js')
      const { ALL_VIEWS } = await import('../../warehouse/views/all.js')
      return [...ALL_TABLES, ...ALL_VIEWS].map(tableName)
    },
    isList: true,
  },
  bom: {
    type: 'boolean',
    describe:
      'For CSV that people open in Excel: begin with a byte order mark, and put an apostrophe before formulas and error values',
  },
  where: text(
    'Export only matching rows, such as "account = \'acme\'"; a table without these columns is exported whole',
  ),
  ...settingsOptions,
} as const

export const exportCommand: Command<typeof flags> = {
  name: 'export',
  describe:
    'Write published tables and views as Parquet, CSV or Excel files, all of one published state; also works while a sync runs',
  flags,
  run: async (context, given) => {
    const problem = `export needs --format ${EXPORT_FORMATS.join(' or --format ')}`
    const format = choiceOf(given.format, EXPORT_FORMATS, { command: 'export', problem })
    if (given.out === undefined || given.out === '') throw usageError('export needs --out DIR', 'export')
    const bom = given.bom === true
    if (bom && format !== 'csv') throw usageError('--bom is only for --format csv', 'export')
    const { env, signal } = context
    const { loadSettings } = await import('../../settings/load-settings.js')
    const settings = await loadSettings({ env, signal, flags: given, requireAccounts: false })
    const { exportPublished } = await import('./run.js')
    await exportPublished(context, settings, {
      out: resolve(given.out),
      format,
      bom,
      tables: given.tables === undefined ? null : namesIn(given.tables),
      condition: given.where ?? null,
    })
  },
}

const namesIn = (text: string): readonly string[] =>
  text
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '')
