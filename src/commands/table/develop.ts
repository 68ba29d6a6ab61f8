/** The commands for people who work on this program, or on another client of the API. */
import { flagOf, OPTIONS } from '../../reference-server/option-texts.js'
import type { Command } from '../context.js'
import { choiceOf, type Flag } from '../flags.js'
import { ACCOUNT, command, LOGGED, option, settingsOf, text } from './shared.js'

const SHELLS = ['bash', 'zsh', 'fish'] as const

export const DEVELOP: readonly Command[] = [
  command({
    name: 'conformance',
    describe: 'Check whether a service follows the rules of the API document; sends GET requests only',
    examples: [
      ['The service of the only account of the settings', 'conformance'],
      ['Another service', 'conformance --base-url https://host/api/v1 --id 7 --token-file token'],
    ],
    flags: {
      'base-url': ACCOUNT['base-url'],
      id: ACCOUNT.id,
      token: text('Secret token; other users of this machine can see it, so prefer --token-file'),
      'token-file': ACCOUNT['token-file'],
      'rate-limit': text('Requests per window that the service allows, such as 60/60s'),
      config: text('Settings file (YAML) with the account, instead of these flags'),
      account: text('Name of the account, if the settings file has several'),
      'max-requests': text(
        'Make at most this many requests (default: 90); rules that need more are reported as not observable',
      ),
      'exceed-cap': option(
        'Also exceed the cap in one burst, by at most 5 requests, to check the answer 429',
      ),
      ...LOGGED,
    },
    run: async (context, flags) => {
      const settings = await settingsOf(context, flags, { oneAccount: true })
      await (await import('../conformance.js')).checkConformance(
        context,
        settings,
        flags['exceed-cap'] === true,
      )
    },
  }),
  command({
    name: 'reference-server',
    describe: 'Run a local server that has the same API and generates its surveys',
    examples: [
      ['1,000 surveys, always the same', 'reference-server --port 8080 --seed 5 --surveys 1000'],
      ['A clock that moves only when you say so', 'reference-server --clock frozen'],
    ],
    flags: Object.fromEntries(
      Object.entries(OPTIONS).map(([name, { describe, default: value }]): [string, Flag] => [
        flagOf(name),
        { ...text(describe), ...(value !== null && { default: value }) },
      ]),
    ),
    run: async (context, flags) => (await import('../reference-server.js')).serve(context, flags),
  }),
  command({
    name: 'completion',
    describe: `Print the script with which ${SHELLS.join(', ').replace(/, (?=\w+$)/, ' or ')} completes commands, flags, values and paths`,
    examples: [
      ['In .bashrc, for bash', 'completion bash'],
      ['For fish', 'completion fish'],
    ],
    flags: { shell: { type: 'argument', describe: `The shell: ${SHELLS.join(', ')}`, values: SHELLS } },
    run: async ({ print }, flags) => {
      const problem = `completion needs a shell, one of ${SHELLS.join(', ')}`
      const shell = choiceOf(flags.shell, SHELLS, { command: 'completion', problem })
      const { SCRIPTS } = await import('../completion.js')
      await print(SCRIPTS[shell])
    },
  }),
]
