/** The output of `export` for people. */
import { counted, humanBytes, humanCount } from '../../base/human.js'
import { textTable } from '../text/text-table.js'
import type { ExportManifest } from './target.js'

export const renderExport = (out: string, { where, rows, tables }: ExportManifest): string => {
  const lines = tables.map(({ table, rows: tableRows, bytes, filtered }) => [
    table,
    humanCount(tableRows),
    humanBytes(bytes),
    ...(where === null ? [] : [filtered ? 'filtered' : 'whole']),
  ])
  return `${textTable([['table', 'rows', 'size'], ...lines])}\n\nexported ${counted(rows, 'row')} of ${counted(tables.length, 'table')} to ${out}\n`
}
