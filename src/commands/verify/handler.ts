/** Reads the flags and settings of `verify`, makes both halves of the proof, and prints them. */
import { randomBytes } from 'node:crypto'
import { systemClock } from '../../base/clock.js'
import { createRedactor } from '../../base/secret.js'
import { loadSettings } from '../../settings/load-settings.js'
import { secretsOf } from '../../settings/settings.js'
import type { CliContext } from '../context.js'
import type { FlagsOf } from '../flags.js'
import type { verifyOptions } from '../options.js'
import { jsonOf } from '../text/json.js'
import { usageError } from '../usage.js'
import { logProxies } from '../wiring/log-proxies.js'
import { openTelemetry } from '../wiring/logging.js'
import { requireShardLayout } from '../wiring/shard-layout.js'
import { verifyToJson } from './json.js'
import { renderVerify } from './text.js'

type VerifyFlags = FlagsOf<typeof verifyOptions>

export const handleVerify = async (context: CliContext, flags: VerifyFlags): Promise<void> => {
  const startedMs = systemClock.monotonicMs()
  const isLocal = flags.local === true
  const unused = SAMPLE_FLAGS.find((name) => flags[name] !== undefined)
  if (isLocal && unused !== undefined)
    throw usageError(`verify --local makes no request: leave out --${unused}`, 'verify')
  const sample = flags.sample === undefined ? null : sampleSizeOf(flags.sample)
  const settings = await loadSettings({
    env: context.env,
    signal: context.signal,
    flags,
    requireAccounts: !isLocal,
  })
  await requireShardLayout(settings)
  const { log } = await openTelemetry(settings, context)
  if (!isLocal) logProxies(settings.accounts, log)
  const { verifyAll } = await import('./run.js')
  const report = await verifyAll({
    settings,
    log,
    signal: context.signal,
    isLocal,
    sample,
    seed: flags.seed ?? randomBytes(SEED_BYTES).toString('hex'),
  })
  const elapsedMs = systemClock.monotonicMs() - startedMs
  const text = settings.json ? `${jsonOf(verifyToJson(report))}\n` : renderVerify(report, elapsedMs)
  // Values of the API are quoted, and any of them may contain a token.
  context.exit(report.exitCode)
  await context.print(createRedactor(secretsOf(settings))(text))
}

const SAMPLE_FLAGS = ['sample', 'seed', 'accounts', 'max-requests'] as const
const SEED_BYTES = 4
const SAMPLE_MAX = 1_000_000

const sampleSizeOf = (text: string): number => {
  const size = /^\d+$/.test(text) ? Number(text) : 0
  if (size < 1 || size > SAMPLE_MAX)
    throw usageError(`--sample ${text} is not a whole number from 1 to ${SAMPLE_MAX}`, 'verify')
  return size
}
