/** `fieldwork-sync init` writes a settings file, from answers on a terminal or from flags, and checks it. */
import type { Command } from '../context.js'
import { accountOptions, settingsOptions, text } from '../options.js'

/** On a terminal, the texts of the first four are also the questions. */
const flags = {
  ...accountOptions,
  warehouse: text('Where to put the warehouse: a directory, or a bucket such as s3://bucket/prefix'),
  out: { ...text('Settings file to write'), default: 'fieldwork-sync.yaml' },
  force: { type: 'boolean', describe: 'Replace the settings file if it exists' },
  'no-check': { type: 'boolean', describe: 'Only write the file, for a machine that cannot reach the API' },
  'log-level': settingsOptions['log-level'],
  json: settingsOptions.json,
} as const

export const initCommand: Command<typeof flags> = {
  name: 'init',
  describe:
    'Write a settings file and check it; on a terminal it asks for what the flags do not give, and creates the token file',
  flags,
  run: async (context, { out = flags.out.default, ...given }) => {
    const { init } = await import('./run.js')
    await init(context, { ...given, out }, flags)
  },
}
