/** The wiring of `export`: finds what is published, and opens it as one state. */
import { realpath } from 'node:fs/promises'
import { systemClock } from '../../base/clock.js'
import type { Settings } from '../../settings/settings.js'
import { requirePublished } from '../wiring/warehouse-status.js'
import { type Export, exportTables } from './export-tables.js'

export interface ExportRequest extends Pick<Export, 'out' | 'format' | 'tables' | 'condition' | 'signal'> {
  readonly settings: Settings
}

/** Throws where nothing is published, and what `exportTables` throws. */
export const exportPublished = async ({ settings, ...request }: ExportRequest) => {
  const { path, open, isDirectory } = await requirePublished(settings)
  // The link is followed once: the version that it leads to now is the one that is read.
  const source = await realpath(path)
  return exportTables({
    ...request,
    source,
    open: (options) => open(source, options),
    sourceDirectories: isDirectory ? [source] : [],
    clock: systemClock,
  })
}
