/** Reads the flags and settings of `export`, writes the files, and prints what was written. */
import { resolve } from 'node:path'
import { loadSettings } from '../../settings/load-settings.js'
import type { CliContext } from '../context.js'
import type { FlagsOf } from '../flags.js'
import { EXPORT_FORMATS, type exportOptions } from '../options.js'
import { jsonOf } from '../text/json.js'
import { choiceOf, usageError } from '../usage.js'
import { renderExport } from './text.js'

export const handleExport = async (
  context: CliContext,
  flags: FlagsOf<typeof exportOptions>,
): Promise<void> => {
  const problem = `export needs --format ${EXPORT_FORMATS.join(' or --format ')}`
  const format = choiceOf(flags.format, EXPORT_FORMATS, { command: 'export', problem })
  if (flags.out === undefined || flags.out === '') throw usageError('export needs --out DIR', 'export')
  const out = resolve(flags.out)
  const bom = flags.bom === true
  if (bom && format !== 'csv') throw usageError('--bom is only for --format csv', 'export')
  const settings = await loadSettings({
    env: context.env,
    signal: context.signal,
    flags,
    requireAccounts: false,
  })
  const { exportPublished } = await import('./run.js')
  const manifest = await exportPublished({
    settings,
    out,
    format,
    bom,
    tables: flags.tables === undefined ? null : namesIn(flags.tables),
    condition: flags.where ?? null,
    signal: context.signal,
  })
  await context.print(settings.json ? `${jsonOf({ out, ...manifest })}\n` : renderExport(out, manifest))
}

const namesIn = (text: string): readonly string[] =>
  text
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '')
