/** `fieldwork-sync verify` proves by a sample that the published rows are the service's rows, and checks the published state by itself. */
import { systemClock } from '../../base/clock.js'
import type { Command } from '../context.js'
import { usageError } from '../flags.js'
import { accountsOption, settingsOptions, text } from '../options.js'

const flags = {
  sample: text(
    'Compare this many surveys of each account (default: 20, or as many as --max-requests allows)',
  ),
  seed: text(
    'Choose the same surveys as the run that printed this seed, until the next sync (default: a new one)',
  ),
  local: {
    type: 'boolean',
    describe: 'Check only the published tables and files; makes no request to the API',
  },
  ...accountsOption,
  'max-requests': text('Make at most this many requests'),
  ...settingsOptions,
} as const

export const verifyCommand: Command<typeof flags> = {
  name: 'verify',
  describe:
    'Compare a sample of surveys with the API, field by field, and check the published tables and files',
  flags,
  run: async (context, given) => {
    const startedMs = systemClock.monotonicMs()
    const isLocal = given.local === true
    const unused = SAMPLE_FLAGS.find((name) => given[name] !== undefined)
    if (isLocal && unused !== undefined)
      throw usageError(`verify --local makes no request: leave out --${unused}`, 'verify')
    const sample = given.sample === undefined ? null : sampleSizeOf(given.sample)
    const { env, signal } = context
    const { loadSettings } = await import('../../settings/load-settings.js')
    const settings = await loadSettings({ env, signal, flags: given, requireAccounts: !isLocal })
    const { verify } = await import('./run.js')
    await verify(context, { settings, isLocal, sample, seed: given.seed ?? null, startedMs })
  },
}

const SAMPLE_FLAGS = ['sample', 'seed', 'accounts', 'max-requests'] as const
const SAMPLE_MAX = 1_000_000

const sampleSizeOf = (text: string): number => {
  const size = /^\d+$/.test(text) ? Number(text) : 0
  if (size < 1 || size > SAMPLE_MAX)
    throw usageError(`--sample ${text} is not a whole number from 1 to ${SAMPLE_MAX}`, 'verify')
  return size
}
