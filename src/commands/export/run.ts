/** The wiring of `export`: finds what is published, and opens it as one state. */
import { realpath } from 'node:fs/promises'
import { systemClock } from '../../base/clock.js'
import type { Settings } from '../../settings/settings.js'
import { openDatabase } from '../../warehouse/connection/database.js'
import { findPublished, nothingPublished } from '../wiring/warehouse-status.js'
import { type Export, exportTables } from './export-tables.js'

export interface ExportRequest extends Pick<Export, 'out' | 'format' | 'tables' | 'condition' | 'signal'> {
  readonly settings: Settings
}

/** Throws where nothing is published, and what `exportTables` throws. */
export const exportPublished = async ({ settings, ...request }: ExportRequest) => {
  const found = await findPublished(settings.warehouseDirectory, settings.publish)
  if (found === null) throw await nothingPublished(settings.warehouseDirectory, null)
  // The link is followed once: the version that it leads to now is the one that is read.
  const source = await realpath(found.path)
  const { open } = found
  return exportTables({
    ...request,
    source,
    open: (options) =>
      open === undefined ? openDatabase(source, { ...options, readOnly: true }) : open(source, options),
    sourceDirectories: open === undefined ? [] : [source],
    clock: systemClock,
  })
}
