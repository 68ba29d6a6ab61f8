/** The runs that read all this: outcome, requests, what waits, and problems with data. */
import { run } from '../queries/run.js'
import { accountColumn } from './field.js'
import { QueryTable, SqlOf, type TableProps } from './table.js'
import { type PartProps, spaced } from './words.js'

export const Runs = ({ page, page: { rows, formats } }: PartProps) => (
  <section id="run" aria-labelledby="run-title">
    <h2 id="run-title">The run</h2>
    <QueryTable
      class="runs"
      query={run.runs}
      rows={rows.runs}
      columns={[
        { head: 'Started', cell: ({ started_at }) => formats.instant(started_at) },
        ...accountColumn(page),
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
      ]}
      caption="The last runs, the newest first"
    />
    <SqlOf query={run.runs} />
    <div class="cards">
      <Card
        title="Requests of the last run"
        empty="The last run sent no request."
        query={run.requests}
        rows={rows.requests}
        columns={[
          { head: 'Reason', cell: ({ reason }) => spaced(reason) },
          ...accountColumn(page),
          { head: 'Sent', cell: ({ made }) => formats.count(made) },
          { head: 'Saved', cell: ({ saved }) => formats.count(saved) },
        ]}
        caption="Requests by reason"
      />
      <Card
        title="What waits"
        empty="No survey waits for the next run."
        query={run.queue}
        rows={rows.queue}
        columns={[
          { head: 'Reason', cell: ({ reason }) => spaced(reason) },
          ...accountColumn(page),
          { head: 'Surveys', cell: ({ surveys }) => formats.count(surveys) },
          { head: 'Failed', cell: ({ failed }) => formats.count(failed) },
          { head: 'Since', cell: ({ oldest_at }) => formats.instant(oldest_at) },
        ]}
        caption="Surveys queued for the next run"
      />
      <Card
        title="Problems with data"
        empty="Every row could be read, and every answer is as the API document says."
        query={run.problems}
        rows={rows.problems}
        columns={[
          {
            head: 'Problem',
            cell: ({ what, kind, resource }) => (
              <>
                <bdi>{what}</bdi> <small>{`${spaced(kind)}, ${spaced(resource)}`}</small>
              </>
            ),
          },
          ...accountColumn(page),
          { head: 'Times', cell: ({ occurrences }) => formats.count(occurrences) },
          { head: 'Last seen', cell: ({ last_seen_at }) => formats.instant(last_seen_at) },
        ]}
        caption="Rejected rows and differences from the API document"
      />
    </div>
  </section>
)

const Card = <Row extends object>({ title, ...table }: TableProps<Row> & { readonly title: string }) => (
  <article class="card">
    <h3>{title}</h3>
    <QueryTable {...table} />
    <SqlOf query={table.query} />
  </article>
)
