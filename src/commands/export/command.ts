/** `fieldwork-sync export` writes published tables as files into a directory. It makes no request. */
import type { Command } from '../context.js'
import { exportOptions } from '../options.js'

export const exportCommand: Command<typeof exportOptions> = {
  name: 'export',
  describe:
    'Write published tables and views as Parquet, CSV or Excel files, all of one published state; also works while a sync runs',
  flags: exportOptions,
  run: async (context, flags) => (await import('./handler.js')).handleExport(context, flags),
}
