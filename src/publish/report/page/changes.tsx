/** What changed in the last day, what got better, and the statuses of the last weeks. */
import { group } from 'd3-array'
import type { JSX } from 'preact'
import { SURVEY_STATUSES } from '../../../model/fields.js'
import { msBetween } from '../../../model/instant.js'
import { StatusStrip, StripAxis, spanOf } from '../charts/small.js'
import { CHANGES_SHOWN, overview } from '../queries/overview.js'
import { keyOf, type ReportRows } from '../read.js'
import { QueryTable, SqlOf } from './table.js'
import {
  LAG_MS_MIN,
  More,
  newestReading,
  type PartProps,
  plural,
  type ReportPage,
  SourceName,
  Status,
  SurveyLink,
  spaced,
} from './words.js'

const TIMELINE_DAYS = 60
/** Changes, and surveys of the timeline, before the rest is folded. */
const UNFOLDED = 5

export const Changes = ({ page, page: { rows, formats } }: PartProps) => {
  const total = rows.changeCounts.reduce((sum, { changes: count }) => sum + count, 0)
  return (
    <section id="changes" aria-labelledby="changes-title">
      <h2 id="changes-title">What changed since yesterday</h2>
      {total === 0 ? (
        <p class="empty" data-list={overview.changeCounts.name}>
          No survey and no source changed in the 24 hours before the newest reading.
        </p>
      ) : (
        <>
          <p>{summaryOf(page)}</p>
          <ChangeTable page={page} rows={rows.changes.slice(0, UNFOLDED)} />
          {rows.changes.length > UNFOLDED && (
            <More count={rows.changes.length - UNFOLDED} formats={formats}>
              <ChangeTable page={page} rows={rows.changes.slice(UNFOLDED)} />
            </More>
          )}
          {total > CHANGES_SHOWN && (
            <p class="rule">
              {`The first ${CHANGES_SHOWN} of ${formats.count(total)} changes.`}
              <span class="tech"> The view record_changes has all of them.</span>
            </p>
          )}
          <SqlOf query={overview.changes} />
        </>
      )}
      <GoodNews page={page} />
      <Timeline page={page} />
    </section>
  )
}

const GoodNews = ({ page, page: { rows, formats } }: PartProps): JSX.Element | null => {
  const shown = (some: ReportRows['goodNews']) => (
    <QueryTable
      formats={formats}
      class="changes"
      query={overview.goodNews}
      rows={some}
      columns={[
        { head: 'Survey', cell: (row) => <SurveyLink survey={row} page={page} /> },
        { head: 'News', isText: true, cell: ({ text }) => text },
      ]}
      caption="Soft launches that have passed, and rates that got better"
    />
  )
  return rows.goodNews.length === 0 ? null : (
    <>
      <h3>Good news</h3>
      <p class="rule">
        A soft launch has passed if nothing is beyond its level. Rates that got better are those of the last 7
        days in fieldwork.
      </p>
      {shown(rows.goodNews.slice(0, UNFOLDED))}
      {rows.goodNews.length > UNFOLDED && (
        <More count={rows.goodNews.length - UNFOLDED} formats={formats}>
          {shown(rows.goodNews.slice(UNFOLDED))}
        </More>
      )}
      <SqlOf query={overview.goodNews} />
    </>
  )
}

const ChangeTable = ({
  page,
  page: { formats },
  rows,
}: PartProps & { readonly rows: ReportRows['changes'] }): JSX.Element => (
  <QueryTable
    formats={formats}
    class="changes"
    query={overview.changes}
    rows={rows}
    columns={[
      {
        head: 'Survey',
        cell: (row) => (
          <>
            <SurveyLink survey={{ ...row, title: row.title ?? '' }} page={page} />
            {row.name !== null && (
              <small>
                source <SourceName name={row.name} />
              </small>
            )}
          </>
        ),
      },
      {
        head: 'Change',
        isText: true,
        cell: (row) => (
          <>
            <Change change={row} />
            {isEarlier(row, page) && <small>seen {formats.instant(row.observed_at)}</small>}
          </>
        ),
      },
    ]}
    caption="Changes of surveys and sources"
  />
)

/** Whether it was not seen at the time at the head of the page. */
const isEarlier = ({ observed_at: at }: ReportRows['changes'][number], { rows }: ReportPage): boolean => {
  const newest = newestReading(rows)
  return newest !== null && msBetween(at, newest) > LAG_MS_MIN
}

const summaryOf = ({ rows: { changeCounts: counts }, formats }: ReportPage): JSX.Element => (
  <span data-list={overview.changeCounts.name}>
    {counts.map(({ is_source, kind, changes: count }, index) => (
      <>
        {index === 0 ? '' : ', '}
        <b>{formats.count(count)}</b> {countedKind(is_source, kind, count)}
      </>
    ))}
    .
  </span>
)

const countedKind = (isSource: boolean, kind: string, count: number): string => {
  const what = isSource ? 'source' : 'survey'
  return kind === 'changed' ? `${what} ${plural(count, 'change')}` : `${plural(count, what)} ${kind}`
}

type FieldChange = Pick<ReportRows['changes'][number], 'kind' | 'field' | 'from_value' | 'to_value'>

export const Change = ({ change }: { readonly change: FieldChange }): JSX.Element => {
  const { kind, field, from_value, to_value } = change
  if (field === null) return <>{kind}</>
  if (field === 'status')
    return (
      <>
        <Status status={from_value ?? ''} /> <i>to</i> <Status status={to_value ?? ''} />
      </>
    )
  return (
    <>
      {spaced(field)}{' '}
      <del>
        <Value text={from_value} />
      </del>{' '}
      <i>to</i>{' '}
      <ins>
        <Value text={to_value} />
      </ins>
    </>
  )
}

/** An empty text is shown like a missing one. */
const Value = ({ text }: { readonly text: string | null }): JSX.Element =>
  text === null || text === '' ? <>none</> : <bdi>{text}</bdi>

const Timeline = ({ page, page: { rows, formats } }: PartProps) => {
  const newest = newestReading(rows) ?? 0n
  const lines = [...group(rows.timeline, keyOf).values()].flatMap((periods) => {
    const last = periods.at(-1)
    return last === undefined ? [] : [{ ...last, periods }]
  })
  if (lines.length === 0)
    return (
      <>
        <h3>Status timeline</h3>
        <p class="empty">No status changed in the last two weeks.</p>
      </>
    )
  const known = new Map(rows.asOf.map(({ account, newest_at }) => [account, newest_at]))
  const span = spanOf(
    rows.timeline.map(({ since }) => since),
    newest,
    TIMELINE_DAYS,
  )
  const statuses = [...new Set(rows.timeline.map(({ status }) => status))]
  const shown = (some: typeof lines) => (
    <QueryTable
      formats={formats}
      class="timeline"
      query={overview.timeline}
      rows={some}
      columns={[
        { head: 'Survey', cell: (row) => <SurveyLink survey={row} page={page} /> },
        {
          head: <StripAxis span={span} formats={formats} />,
          isText: true,
          cell: ({ periods, account }) => (
            <StatusStrip periods={periods} now={known.get(account) ?? newest} span={span} />
          ),
        },
        { head: 'Status', isText: true, cell: ({ status }) => <Status status={status} /> },
        { head: 'Since', cell: ({ since }) => formats.instant(since), sorted: 'descending' },
      ]}
      caption="Statuses of the surveys whose status changed in the last two weeks"
    />
  )
  return (
    <>
      <h3 data-list="changed-status">
        {`${formats.count(lines.length)} ${plural(lines.length, 'survey')} changed status in the last two weeks`}
      </h3>
      {shown(lines.slice(0, UNFOLDED))}
      {lines.length > UNFOLDED && (
        <More count={lines.length - UNFOLDED} formats={formats}>
          {shown(lines.slice(UNFOLDED))}
        </More>
      )}
      <ul class="legend">
        {SURVEY_STATUSES.filter((status: string) => statuses.includes(status)).map((status) => (
          <li>
            <Status status={status} />
          </li>
        ))}
      </ul>
      <SqlOf query={overview.timeline} />
    </>
  )
}
