/** What the interviews of the sources of a survey are worth, those with most rejected ones first. */
import type { z } from 'zod'
import { type Formats, UNKNOWN } from '../formats.js'
import { survey } from '../queries/survey.js'
import { type Column, QueryTable } from './table.js'
import { SourceName } from './words.js'

type Row = z.output<typeof survey.quality.row>

interface QualityColumn extends Column<Row> {
  /** Null if it is not known. A column without a value is left out. */
  readonly value: (row: Row) => number | null
}

export const SourceQuality = ({
  rows,
  formats,
}: {
  readonly rows: readonly Row[]
  readonly formats: Formats
}) => {
  const columns = columnsOf(formats).filter(({ value }) => rows.some((row) => value(row) !== null))
  if (columns.length === 0) return null
  return (
    <>
      <h3>Quality of the sources</h3>
      <QueryTable
        formats={formats}
        class="quality"
        isLabelled
        query={survey.quality}
        rows={rows}
        columns={[{ head: 'Source', cell: ({ name }) => <SourceName name={name} /> }, ...columns]}
      />
    </>
  )
}

const columnsOf = ({ count, rate, minutes, money }: Formats): readonly QualityColumn[] => [
  {
    head: 'Rejected',
    value: (row) => row.rejected_rate,
    cell: (row) => rate(row.rejected_rate),
    sorted: 'descending',
  },
  { head: 'Undecided', value: (row) => row.undecided, cell: (row) => count(row.undecided) },
  { head: 'Quota full', value: (row) => row.quota_full_rate, cell: (row) => rate(row.quota_full_rate) },
  { head: 'Minutes', value: (row) => row.loi_minutes, cell: (row) => minutes(row.loi_minutes) },
  {
    head: 'Cost of a good one',
    value: (row) => row.cost_per_good,
    cell: (row) => (row.cost_per_good === null ? UNKNOWN : money(row.cost_per_good, row.currency)),
  },
]
