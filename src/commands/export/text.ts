/** The output of `export` for people. */
import { counted, humanBytes, humanCount } from '../../base/human.js'
import { textTable } from '../text/text-table.js'
import type { ExportManifest } from './target.js'

export const renderExport = (out: string, { format, where, rows, tables }: ExportManifest): string => {
  const isWorkbook = format === 'xlsx'
  const lines = tables.map(({ table, file, rows: tableRows, bytes, filtered }) => [
    table,
    ...(isWorkbook ? [file] : []),
    humanCount(tableRows),
    humanBytes(bytes),
    ...(where === null ? [] : [filtered ? 'filtered' : 'whole']),
  ])
  const header = ['table', ...(isWorkbook ? ['file'] : []), 'rows', isWorkbook ? 'file size' : 'size']
  const table = textTable([header, ...lines], '', isWorkbook ? 2 : 1)
  return `${table}\n\nexported ${counted(rows, 'row')} of ${counted(tables.length, 'table')} to ${out}\n${cutTexts(tables)}`
}

const cutTexts = (tables: ExportManifest['tables']): string => {
  const cut = tables.filter(({ cut_texts }) => cut_texts > 0)
  if (cut.length === 0) return ''
  const places = cut.map(({ table, cut_texts }) => `${table}: ${humanCount(cut_texts)}`).join(', ')
  return `texts cut at 32,767 characters, the most of a cell: ${places}. Parquet and CSV hold them whole\n`
}
