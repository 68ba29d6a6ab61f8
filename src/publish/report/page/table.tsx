/** A table of the page: the rows of one query, with a caption, real headers, and the SQL to copy. */
import type { ComponentChildren, JSX } from 'preact'
import type { Formats } from '../formats.js'
import { type Query, sqlOf } from '../queries/query.js'

export interface Column<Row> {
  readonly head: ComponentChildren
  readonly cell: (row: Row) => ComponentChildren
  /** Aligned to the left. All other cells hold numbers, which are aligned to the right. */
  readonly isText?: boolean
  /** Shown together with the queries. */
  readonly isTechnical?: boolean
  /** Sorts the rows when the script of the page offers it; without it, the column cannot be sorted. */
  readonly sortBy?: (row: Row) => number | string | null
  /** Set if the rows are in the order of this column. */
  readonly sorted?: 'ascending' | 'descending'
}

export interface TableProps<Row> {
  readonly query: Query
  readonly rows: readonly Row[]
  readonly columns: readonly Column<Row>[]
  /** Read out before the table, and not visible. A table right after its heading needs no caption. */
  readonly caption?: string
  /** The text in place of a table without rows. */
  readonly empty?: string
  readonly class?: string
  /** On a phone, each cell begins with the head of its column. */
  readonly isLabelled?: boolean
  readonly formats: Formats
  /** Of a table that is not in the order of urgency: how soon somebody should look at a row, 0 first. */
  readonly rank?: (row: Row) => number
}

/** So that a page of thousands of surveys or accounts stays below 3 MB. */
const ROWS_MAX = 300

/** The rows that a list shows, and the line that says how many there are. */
export const bounded = <Row,>(
  rows: readonly Row[],
  { count }: Formats,
  rank?: (row: Row) => number,
): { readonly shown: readonly Row[]; readonly leftOut: JSX.Element | null } => {
  if (rows.length <= ROWS_MAX) return { shown: rows, leftOut: null }
  const first = rank === undefined ? rows : rows.toSorted((a, b) => rank(a) - rank(b))
  const chosen = new Set(first.slice(0, ROWS_MAX))
  const which = rank === undefined ? 'The first ' : 'The most urgent '
  return {
    shown: rows.filter((row) => chosen.has(row)),
    leftOut: (
      <p class="rule">
        {`${which}${count(ROWS_MAX)} of ${count(rows.length)}. “Show the queries”, at the end of the page, has the query of all.`}
      </p>
    ),
  }
}

export const QueryTable = <Row extends object>(props: TableProps<Row>): JSX.Element => {
  const { query, columns, caption, empty, class: className, isLabelled, formats, rank } = props
  const { shown: rows, leftOut } = bounded(props.rows, formats, rank)
  if (rows.length === 0 && empty !== undefined) return <p class="empty">{empty}</p>
  return (
    <>
      <table class={className} data-query={query.name}>
        {caption !== undefined && <caption>{caption}</caption>}
        <thead>
          <tr>
            {columns.map(({ sortBy, sorted, head, ...column }) => (
              <th
                class={classOf(column)}
                aria-sort={sorted}
                data-order={sortBy === undefined ? undefined : orderOf(rows, sortBy)}
              >
                {head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr>
              {columns.map(({ cell, head, ...column }, index) =>
                index === 0 ? (
                  <th>{cell(row)}</th>
                ) : (
                  <td class={classOf(column)} data-head={isLabelled ? head : undefined}>
                    {cell(row)}
                  </td>
                ),
              )}
            </tr>
          ))}
        </tbody>
      </table>
      {leftOut}
    </>
  )
}

const classOf = ({
  isText,
  isTechnical,
}: Pick<Column<never>, 'isText' | 'isTechnical'>): string | undefined =>
  isTechnical === true ? 'tech' : isText === true ? 't' : undefined

/** The indexes of the rows in ascending order, unknown values last. So the script needs no sorting rules of a language. */
const orderOf = <Row,>(rows: readonly Row[], sortBy: (row: Row) => number | string | null): string =>
  rows
    .map((row, index) => ({ index: index, value: sortBy(row) }))
    .toSorted((a, b) => compare(a.value, b.value) || a.index - b.index)
    .map(({ index }) => index)
    .join(' ')

const compare = (a: number | string | null, b: number | string | null): number => {
  if (a === null || b === null) return Number(a === null) - Number(b === null)
  if (typeof a === 'number' && typeof b === 'number') return a - b
  return String(a).localeCompare(String(b), 'en')
}

/** The SQL of a query, hidden until the reader wants to see the queries. */
export const SqlOf = ({ query, title }: { readonly query: Query; readonly title?: string }) => (
  <div class="sql">
    {title !== undefined && <h3>{title}</h3>}
    <pre id={`sql-${query.name}`}>{sqlOf(query)}</pre>
  </div>
)
