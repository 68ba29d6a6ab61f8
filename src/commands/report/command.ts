/** `fieldwork-sync report` writes the published state as one HTML page for people. It makes no request. */
import { resolve } from 'node:path'
import type { Command } from '../context.js'
import { usageError } from '../flags.js'
import { settingsOptions, text } from '../options.js'

const flags = {
  out: text('File to write (required); an earlier report is replaced, any other file is not'),
  ...settingsOptions,
} as const

export const reportCommand: Command<typeof flags> = {
  name: 'report',
  describe:
    'Write one HTML page about the published surveys: what needs action, pace, forecasts, changes; makes no request to the API',
  flags,
  run: async (context, given) => {
    if (given.out === undefined || given.out === '') throw usageError('report needs --out FILE', 'report')
    const { env, signal } = context
    const { loadSettings } = await import('../../settings/load-settings.js')
    const settings = await loadSettings({ env, signal, flags: given, requireAccounts: false })
    const { report } = await import('./run.js')
    await report(context, settings, resolve(given.out))
  },
}
