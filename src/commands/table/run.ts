/** The commands that write: settings and warehouse. */
import { PUBLISH_FORMATS } from '../../model/publish-formats.js'
import { SETTINGS_FILE_HERE } from '../../settings/names.js'
import type { Command } from '../context.js'
import { surveyNameOf, usageError } from '../flags.js'
import {
  ACCOUNT,
  ACCOUNTS,
  command,
  LOGGED,
  NO_ACCOUNTS,
  OUT,
  option,
  SETTINGS,
  settingsOf,
  text,
} from './shared.js'

const FULL = { full: option('List all surveys, not only those modified since the last run') } as const

/** On a terminal, the texts of the first four flags are also the questions. */
const INIT = {
  ...ACCOUNT,
  warehouse: text('Where to put the warehouse: a directory, or a bucket such as s3://bucket/prefix'),
  out: { ...text('Settings file to write', OUT), default: SETTINGS_FILE_HERE },
  force: option('Replace the settings file if it exists'),
  'no-check': option('Only write the file, for a machine that cannot reach the API'),
  ...LOGGED,
} as const

export const RUN: readonly Command[] = [
  command({
    name: 'init',
    describe:
      'Write a settings file and check it; on a terminal it asks for what the flags do not give, and creates the token file',
    examples: [
      ['Ask on the terminal, and write ./fieldwork-sync.yaml', 'init'],
      ['Without questions', 'init --base-url https://host/api/v1 --id 7 --token-file token'],
    ],
    settings:
      'from these flags and your answers. Later commands read them from the file, and variables FIELDWORK_SYNC_* override it',
    flags: INIT,
    run: async (context, { out = INIT.out.default, ...flags }) =>
      (await import('../init.js')).init(context, { ...flags, out }, INIT),
  }),
  command({
    name: 'sync',
    describe:
      'Read the changes of all accounts from the API, store them in the warehouse, and publish the tables',
    examples: [
      ['Every night', 'sync'],
      ['Stop in time for the next job', 'sync --max-duration 55m'],
    ],
    flags: {
      ...ACCOUNTS,
      ...FULL,
      surveys: text('Read only these surveys, such as 4711,acme/815, with all sources; list nothing', {
        isList: true,
      }),
      'max-requests': text('Make at most this many requests; the next run reads the remaining surveys'),
      'max-duration': text('Finish within this time, such as 55m; the next run reads the remaining surveys'),
      publish: text(
        `Formats to publish: ${PUBLISH_FORMATS.join(' or ')}, or several, such as ${PUBLISH_FORMATS.join(',')}`,
        { values: PUBLISH_FORMATS, isList: true },
      ),
      ...SETTINGS,
    },
    run: async (context, { surveys, ...flags }) => {
      if (surveys !== undefined && flags.full === true)
        throw usageError('sync --surveys lists nothing: leave out --full', 'sync')
      const requested = surveys?.split(',').map((name) => surveyNameOf(name.trim(), 'sync', '--surveys'))
      const { monitoredCommand } = await import('../monitored-run.js')
      if (requested === undefined)
        return await monitoredCommand(context, 'sync', { flags }, () => import('../sync.js'))
      // A ping or metrics would report a nightly run.
      await monitoredCommand(context, 'sync --surveys', { flags, withReports: false }, async () => {
        const { render, run } = await import('../sync.js')
        return { render, run: (work) => run(work, requested) }
      })
    },
  }),
  command({
    name: 'plan',
    describe:
      'Show what the next sync would request, why, and how long that takes; makes no request to the API',
    examples: [
      ['How long would the next sync take?', 'plan'],
      ['What fits into 500 requests?', 'plan --max-requests 500'],
    ],
    flags: {
      ...ACCOUNTS,
      ...FULL,
      'max-requests': text('Show how many surveys fit into a run of this many requests'),
      'max-duration': text('Show how many surveys fit into a run of this length, such as 55m'),
      ...SETTINGS,
    },
    run: async (context, flags) => {
      const settings = await settingsOf(context, flags)
      await (await import('../plan.js')).plan(context, settings)
    },
  }),
  command({
    name: 'replay',
    describe:
      'After an upgrade, decode rejected rows again, and publish those that this version can type; makes no request to the API',
    examples: [
      ['After an upgrade', 'replay'],
      ['With the settings of another file', 'replay --config /etc/fieldwork/acme.yaml'],
    ],
    flags: SETTINGS,
    run: async (context, flags) => {
      const { monitoredCommand } = await import('../monitored-run.js')
      await monitoredCommand(context, 'replay', { flags, ...NO_ACCOUNTS }, () => import('../replay.js'))
    },
  }),
]
