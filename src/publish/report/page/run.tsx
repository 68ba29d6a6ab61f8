/** The runs that read all this: outcome, requests, what waits, and problems with data. */
import type { JSX } from 'preact'
import { sqlOf } from '../queries/query.js'
import * as run from '../queries/run.js'
import type { ReportRows } from '../read.js'
import type { PartProps, ReportPage } from './context.js'
import { accountColumn } from './field.js'
import { type Column, QueryTable, SqlOf } from './table.js'
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
    <SqlOf query={run.runs} sql={sqlOf(run.runs)} />
    <div class="cards">
      <article class="card">
        <h3>Requests of the last run</h3>
        {rows.requests.length === 0 ? (
          <p class="empty">The last run sent no request.</p>
        ) : (
          <QueryTable
            query={run.requests}
            rows={rows.requests}
            columns={requestColumns(page)}
            caption="Requests by reason"
          />
        )}
        <SqlOf query={run.requests} sql={sqlOf(run.requests)} />
      </article>
      <article class="card">
        <h3>What waits</h3>
        {rows.queue.length === 0 ? (
          <p class="empty">No survey waits for the next run.</p>
        ) : (
          <QueryTable
            query={run.queue}
            rows={rows.queue}
            columns={queueColumns(page)}
            caption="Surveys queued for the next run"
          />
        )}
        <SqlOf query={run.queue} sql={sqlOf(run.queue)} />
      </article>
      <article class="card">
        <h3>Problems with data</h3>
        {rows.problems.length === 0 ? (
          <p class="empty">Every row could be read, and every answer is as the API document says.</p>
        ) : (
          <QueryTable
            query={run.problems}
            rows={rows.problems}
            columns={problemColumns(page)}
            caption="Rejected rows and differences from the API document"
          />
        )}
        <SqlOf query={run.problems} sql={sqlOf(run.problems)} />
      </article>
    </div>
  </section>
)

const runColumns = (page: ReportPage): readonly Column<ReportRows['runs'][number]>[] => {
  const { formats } = page
  const count = (
    head: string,
    name: 'requests' | 'refusals' | 'surveys_refreshed' | 'left_over' | 'rejected_rows',
  ) => ({ head, cell: (row: ReportRows['runs'][number]) => formats.count(row[name]) }) as const
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
    count('Requests', 'requests'),
    count('Answers 429', 'refusals'),
    count('Surveys read', 'surveys_refreshed'),
    count('Left over', 'left_over'),
    count('Rejected rows', 'rejected_rows'),
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
