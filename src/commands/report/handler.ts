/** Reads the flags and settings of `report`, writes the page, and prints what was written. */
import { resolve } from 'node:path'
import { loadSettings } from '../../settings/load-settings.js'
import type { CliContext } from '../context.js'
import type { FlagsOf } from '../flags.js'
import type { reportOptions } from '../options.js'
import { jsonOf } from '../text/json.js'
import { usageError } from '../usage.js'
import { renderWritten } from './text.js'

export const handleReport = async (
  context: CliContext,
  flags: FlagsOf<typeof reportOptions>,
): Promise<void> => {
  if (flags.out === undefined || flags.out === '') throw usageError('report needs --out FILE', 'report')
  const out = resolve(flags.out)
  const settings = await loadSettings({
    env: context.env,
    signal: context.signal,
    flags,
    requireAccounts: false,
  })
  const { reportPublished } = await import('./run.js')
  const written = await reportPublished({ settings, out, signal: context.signal })
  await context.print(settings.json ? `${jsonOf({ out, ...written })}\n` : renderWritten(out, written))
}
