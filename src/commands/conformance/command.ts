/** `fieldwork-sync conformance` checks a service against the rules of the API document. It sends GET requests only. */
import type { Command } from '../context.js'
import { accountOptions, settingsOptions, text } from '../options.js'

const flags = {
  'base-url': accountOptions['base-url'],
  id: accountOptions.id,
  token: text('Secret token; other users of this machine can see it, so prefer --token-file'),
  'token-file': accountOptions['token-file'],
  'rate-limit': text('Requests per window that the service allows, such as 60/60s'),
  config: text('Settings file (YAML) with the account, instead of these flags'),
  account: text('Name of the account, if the settings file has several'),
  'max-requests': text(
    'Make at most this many requests (default: 90); rules that need more are reported as not observable',
  ),
  'exceed-cap': {
    type: 'boolean',
    describe: 'Also exceed the cap in one burst, by at most 5 requests, to check the answer 429',
  },
  'log-level': settingsOptions['log-level'],
  json: settingsOptions.json,
} as const

export const conformanceCommand: Command<typeof flags> = {
  name: 'conformance',
  describe: 'Check whether a service follows the rules of the API document; sends GET requests only',
  flags,
  run: async (context, given) => {
    const { env, signal } = context
    const { loadSettings } = await import('../../settings/load-settings.js')
    const settings = await loadSettings({ env, signal, flags: given, oneAccount: true })
    const { checkConformance } = await import('./run.js')
    await checkConformance(context, settings, given['exceed-cap'] ?? false)
  },
}
