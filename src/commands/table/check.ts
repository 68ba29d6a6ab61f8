/** The commands that prove settings, API and tables. */
import { systemClock } from '../../base/clock.js'
import type { Command } from '../context.js'
import { usageError } from '../flags.js'
import { ACCOUNTS, command, option, SETTINGS, settingsOf, text } from './shared.js'

export const CHECK: readonly Command[] = [
  command({
    name: 'check',
    describe:
      'Check the settings, the warehouse, and the address, id and token of each account with one request',
    examples: [
      ['Would a sync work?', 'check'],
      ['Only the API of one account', 'check --accounts acme'],
    ],
    flags: { ...ACCOUNTS, ...SETTINGS },
    run: async (context, flags) => (await import('../check.js')).check(context, flags),
  }),
  command({
    name: 'verify',
    describe:
      'Compare a sample of surveys with the API, field by field, and check the published tables and files',
    examples: [
      ['Compare 20 surveys of each account with the API', 'verify'],
      ['Only the files, without a request', 'verify --local'],
    ],
    flags: {
      sample: text(
        'Compare this many surveys of each account (default: 20, or as many as --max-requests allows)',
      ),
      seed: text(
        'Choose the same surveys as the run that printed this seed, until the next sync (default: a new one)',
      ),
      local: option('Check only the published tables and files; makes no request to the API'),
      ...ACCOUNTS,
      'max-requests': text('Make at most this many requests'),
      ...SETTINGS,
    },
    run: async (context, flags) => {
      const startedMs = systemClock.monotonicMs()
      const isLocal = flags.local === true
      const unused = (['sample', 'seed', 'accounts', 'max-requests'] as const).find(
        (name) => flags[name] !== undefined,
      )
      if (isLocal && unused !== undefined)
        throw usageError(`verify --local makes no request: leave out --${unused}`, 'verify')
      const sample = flags.sample === undefined ? null : sampleSizeOf(flags.sample)
      const settings = await settingsOf(context, flags, { requireAccounts: !isLocal })
      const { verify } = await import('../verify.js')
      await verify(context, { settings, isLocal, sample, seed: flags.seed, startedMs })
    },
  }),
]

const SAMPLE_MAX = 1_000_000

const sampleSizeOf = (size: string): number => {
  const count = /^\d+$/.test(size) ? Number(size) : 0
  if (count < 1 || count > SAMPLE_MAX)
    throw usageError(`--sample ${size} is not a whole number from 1 to ${SAMPLE_MAX}`, 'verify')
  return count
}
