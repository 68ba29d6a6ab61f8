/** The wiring of `export`: finds the published state and exports it. */
import { realpath } from 'node:fs/promises'
import { systemClock } from '../../base/clock.js'
import type { Settings } from '../../settings/settings.js'
import { unreadable } from '../../warehouse/connection/duckdb-error.js'
import { findState } from '../wiring/published.js'
import { requirePublished } from '../wiring/warehouse-status.js'
import { type Export, exportTables } from './export-tables.js'

export interface ExportRequest
  extends Pick<Export, 'out' | 'format' | 'bom' | 'tables' | 'condition' | 'signal'> {
  readonly settings: Settings
}

/** Throws `nothing_published`, and the errors of `exportTables`. */
export const exportPublished = async ({ settings, ...request }: ExportRequest) => {
  const { file, open, isDirectory } = await requirePublished(
    settings,
    await findState(settings, request.signal),
  )
  // We follow the link once, so all tables are read from the same version.
  const source = await realpath(file).catch((error: unknown) => {
    throw unreadable(file, error)
  })
  return exportTables({
    ...request,
    source,
    open: (options) => open(source, options),
    sourceDirectories: isDirectory ? [source] : [],
    clock: systemClock,
  })
}
