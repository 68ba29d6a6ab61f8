/** What `export` says at its end, for people. */
import { counted, humanBytes, humanCount } from '../../base/human.js'
import { textTable } from '../text/text-table.js'

interface ExportView {
  readonly where: string | null
  readonly rows: number
  readonly tables: readonly {
    readonly table: string
    readonly rows: number
    readonly bytes: number
    readonly filtered: boolean
  }[]
}

export const renderExport = (out: string, { where, rows, tables }: ExportView): string => {
  const lines = tables.map(({ table, rows: of, bytes, filtered }) => [
    table,
    humanCount(of),
    humanBytes(bytes),
    ...(where === null ? [] : [filtered ? 'filtered' : 'whole']),
  ])
  return `${textTable([['table', 'rows', 'size'], ...lines])}\n\nexported ${counted(rows, 'row')} of ${counted(tables.length, 'table')} to ${out}\n`
}
