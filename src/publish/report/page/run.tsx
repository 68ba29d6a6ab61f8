/** The runs that read all this: outcome, requests, what waits, and problems with data. */
import type { JSX } from 'preact'
import * as run from '../queries/run.js'
import type { ReportRows } from '../read.js'
import { accountColumn } from './field.js'
import { type Column, QueryTable, SqlOf, type TableProps } from './table.js'
import type { PartProps, ReportPage } from './words.js'
import { spaced } from './words.js'

export const Runs = ({ page, page: { rows } }: PartProps): JSX.Element => (
  <section id="run" aria-labelledby="run-title">
    <h2 id="run-title">The run</h2>
    <QueryTable
      class="runs"
      query={run.runs}
      rows={rows.runs}
      columns={runColumns(page)}
      caption="The last runs, the newest first"
    />
    <SqlOf query={run.runs} />
    <div class="cards">
      <Card
        title="Requests of the last run"
        empty="The last run sent no request."
        query={run.requests}
        rows={rows.requests}
        columns={requestColumns(page)}
        caption="Requests by reason"
      />
      <Card
        title="What waits"
        empty="No survey waits for the next run."
        query={run.queue}
        rows={rows.queue}
        columns={queueColumns(page)}
        caption="Surveys queued for the next run"
      />
      <Card
        title="Problems with data"
        empty="Every row could be read, and every answer is as the API document says."
        query={run.problems}
        rows={rows.problems}
        columns={problemColumns(page)}
        caption="Rejected rows and differences from the API document"
      />
    </div>
  </section>
)

interface CardProps<Row> extends TableProps<Row> {
  readonly title: string
  readonly empty: string
}

const Card = <Row extends object>({ title, empty, ...table }: CardProps<Row>): JSX.Element => (
  <article class="card">
    <h3>{title}</h3>
    {table.rows.length === 0 ? <p class="empty">{empty}</p> : <QueryTable {...table} />}
    <SqlOf query={table.query} />
  </article>
)

const runColumns = (page: ReportPage): readonly Column<ReportRows['runs'][number]>[] => {
  const { formats } = page
  return [
    { head: 'Started', cell: ({ started_at }) => formats.instant(started_at) },
    ...accountColumn<ReportRows['runs'][number]>(page),
    {
      head: 'Outcome',
      isText: true,
      cell: ({ status, reason }) => (
        <>
          <span class={`outcome ${status}`}>{status}</span>
          {reason !== null && <small>{reason}</small>}
        </>
      ),
    },
    { head: 'Seconds', cell: ({ seconds }) => formats.count(seconds) },
    { head: 'Requests', cell: ({ requests }) => formats.count(requests) },
    { head: 'Answers 429', cell: ({ refusals }) => formats.count(refusals) },
    { head: 'Surveys read', cell: ({ surveys_refreshed }) => formats.count(surveys_refreshed) },
    { head: 'Left over', cell: ({ left_over }) => formats.count(left_over) },
    { head: 'Rejected rows', cell: ({ rejected_rows }) => formats.count(rejected_rows) },
  ]
}

const requestColumns = (page: ReportPage): readonly Column<ReportRows['requests'][number]>[] => [
  { head: 'Reason', cell: ({ reason }) => spaced(reason) },
  ...accountColumn<ReportRows['requests'][number]>(page),
  { head: 'Sent', cell: ({ made }) => page.formats.count(made) },
  { head: 'Saved', cell: ({ saved }) => page.formats.count(saved) },
]

const queueColumns = (page: ReportPage): readonly Column<ReportRows['queue'][number]>[] => [
  { head: 'Reason', cell: ({ reason }) => spaced(reason) },
  ...accountColumn<ReportRows['queue'][number]>(page),
  { head: 'Surveys', cell: ({ surveys }) => page.formats.count(surveys) },
  { head: 'Failed', cell: ({ failed }) => page.formats.count(failed) },
  { head: 'Since', cell: ({ oldest_at }) => page.formats.instant(oldest_at) },
]

const problemColumns = (page: ReportPage): readonly Column<ReportRows['problems'][number]>[] => [
  {
    head: 'Problem',
    cell: ({ what, kind, resource }) => (
      <>
        <bdi>{what}</bdi> <small>{`${spaced(kind)}, ${spaced(resource)}`}</small>
      </>
    ),
  },
  ...accountColumn<ReportRows['problems'][number]>(page),
  { head: 'Times', cell: ({ occurrences }) => page.formats.count(occurrences) },
  { head: 'Last seen', cell: ({ last_seen_at }) => page.formats.instant(last_seen_at) },
]
