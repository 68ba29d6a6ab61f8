/** The runs that read the data: one sentence, and below it how the runs ended, what waits, and problems with data. */
import { run } from '../queries/run.js'
import { accountColumn } from './field.js'
import { QueryTable, SqlOf, type TableProps } from './table.js'
import { Fold, lastSyncs, type PartProps, plural, type ReportPage, spaced } from './words.js'

export const Runs = ({ page }: PartProps) => (
  <section id="run" aria-labelledby="run-title">
    <h2 id="run-title">The run</h2>
    <p data-list="last-run">{sentenceOf(page)}</p>
    <Fold summary="The last runs, and problems with data">
      <Tables page={page} />
    </Fold>
  </section>
)

const sentenceOf = ({ rows, formats }: ReportPage): string => {
  const { count } = formats
  const last = lastSyncs(rows)
  const [first] = last
  if (first === undefined) return 'No run is recorded.'
  const complete = last.filter(({ status }) => status === 'complete').length
  const read = last.reduce((sum, { surveys_refreshed }) => sum + (surveys_refreshed ?? 0), 0)
  const waiting = rows.queue.reduce((sum, { surveys }) => sum + surveys, 0)
  const problems = rows.problems.length
  const ended =
    last.length === 1
      ? `The last run was ${first.status}`
      : `The last runs of ${complete === last.length ? `all ${last.length}` : `${complete} of ${last.length}`} accounts were complete`
  const waits = `${waiting === 0 ? 'no survey waits' : `${count(waiting)} ${plural(waiting, 'survey waits', 'surveys wait')}`} for the next run`
  const trouble =
    problems === 0
      ? 'is no problem'
      : `${problems === 1 ? 'is' : 'are'} ${count(problems)} ${plural(problems, 'kind of problem', 'kinds of problems')}`
  return `${ended}: ${count(read)} ${plural(read, 'survey was', 'surveys were')} read, ${waits}, and there ${trouble} with data.`
}

const Tables = ({ page, page: { rows, formats } }: PartProps) => (
  <>
    <QueryTable
      formats={formats}
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
        { head: 'Requests', isTechnical: true, cell: ({ requests }) => formats.count(requests) },
        { head: 'Answers 429', isTechnical: true, cell: ({ rate_limited }) => formats.count(rate_limited) },
        { head: 'Surveys read', cell: ({ surveys_refreshed }) => formats.count(surveys_refreshed) },
        { head: 'Left over', cell: ({ left_over }) => formats.count(left_over) },
        {
          head: 'Rejected rows',
          isTechnical: true,
          cell: ({ rejected_rows }) => formats.count(rejected_rows),
        },
      ]}
      caption="The last runs, the newest first"
    />
    <SqlOf query={run.runs} />
    <div class="cards">
      <Card
        formats={formats}
        class="tech"
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
        formats={formats}
        class="tech"
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
        formats={formats}
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
  </>
)

const Card = <Row extends object>({
  title,
  class: className = '',
  ...table
}: TableProps<Row> & { readonly title: string }) => (
  <article class={`card ${className}`}>
    <h3>{title}</h3>
    <QueryTable {...table} />
    <SqlOf query={table.query} />
  </article>
)
