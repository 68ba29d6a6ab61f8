/** The surveys in the field, and the surveys before and after fieldwork. */
import { msBetween } from '../../../model/instant.js'
import { Sparkline } from '../charts/small.js'
import { type Formats, UNKNOWN } from '../formats.js'
import { overview } from '../queries/overview.js'
import { keyOf, type ReportRows } from '../read.js'
import { type Column, QueryTable, SqlOf } from './table.js'
import {
  Completion,
  dueText,
  hasAccounts,
  isReached,
  isTooEarly,
  LAG_MS_MIN,
  newestGainText,
  newestReading,
  type PartProps,
  Project,
  plural,
  Quiet,
  REACHED,
  type ReportPage,
  Status,
  SurveyLink,
  TOO_EARLY,
} from './words.js'

type FieldRow = ReportRows['inField'][number]

const isReconstructed = ({ reconstructed_days: days }: Pick<FieldRow, 'reconstructed_days'>): boolean =>
  days !== null && days > 0

/** How good the forecasts of two weeks before a target were; empty as long as none can be judged. */
export const accuracyText = (
  accuracy: ReportRows['accuracy'][number] | undefined,
  { count, rough }: Formats,
): string => {
  if (accuracy === undefined || accuracy.reached === 0) return ''
  const { reached, ranges, inside, days_off: off } = accuracy
  const range = ranges === 0 ? '' : `the range was right for ${count(inside)} of ${count(ranges)}, and `
  return `Forecasts of two weeks before, for the ${count(reached)} ${plural(reached, 'target')} that ${plural(reached, 'was', 'were')} reached in the last 28 days: ${range}half of the days were at most ${rough(off)} ${plural(off ?? 0, 'day')} off.`
}

const Accuracy = ({ page: { rows, formats } }: PartProps) => {
  const text = accuracyText(rows.accuracy[0], formats)
  if (text === '') return null
  return (
    <>
      <p class="rule">{text}</p>
      <SqlOf query={overview.accuracy} />
    </>
  )
}

/** How many surveys have a section; empty if all have one. */
const WithoutSection = ({ page: { rows, sections, formats } }: PartProps) => {
  const wanted = rows.surveys[0]?.of_surveys ?? 0
  if (sections.size >= wanted) return null
  return (
    <p class="rule">
      {`${formats.count(sections.size)} of ${formats.count(wanted)} surveys have a section of their own: those that need action, and then as many as a page can hold.`}
    </p>
  )
}

export const Field = ({ page, page: { rows, formats } }: PartProps) => (
  <section id="field" aria-labelledby="field-title">
    <h2 id="field-title">In the field</h2>
    {rows.inField.length === 0 ? (
      <p class="empty">No survey is in the field. Surveys appear here when their status is fieldwork.</p>
    ) : (
      <>
        <p class="rule">Those without a forecast first, then the latest forecast.</p>
        <QueryTable
          formats={formats}
          class="field"
          query={overview.inField}
          rows={rows.inField}
          rank={urgencyRank(rows)}
          columns={fieldColumns(page)}
          caption="Surveys in the field, those without a forecast first, then the latest forecast"
        />
        <p class="rule">
          Pace: complete interviews a day, over the last 7 days in the field, and the gain of the last day, or
          of as many days as it says. Forecast: if that pace goes on and the target is reached, each source up
          to its own target, with the range that holds in 8 of 10 cases. Incidence and drop-out: of the last 7
          days, and below of the days before.
          {rows.inField.some(isReconstructed) &&
            ' Reconstructed: some of the days were before the first reading, and count interviews by their status of today.'}
        </p>
        <Accuracy page={page} />
        <WithoutSection page={page} />
        <SqlOf query={overview.inField} />
      </>
    )}
    {rows.besideField.length > 0 && (
      <>
        <h3>Before and after the field</h3>
        <QueryTable
          formats={formats}
          class="beside"
          query={overview.besideField}
          rows={rows.besideField}
          columns={[
            {
              head: 'Survey',
              cell: (row) => (
                <>
                  <SurveyLink survey={row} page={page} />
                  <Quiet of={row} page={page} />
                </>
              ),
            },
            ...accountColumn(page),
            {
              head: 'Status',
              isText: true,
              cell: ({ status }) => <Status status={status} />,
              sorted: 'ascending',
            },
            { head: 'Since', cell: ({ since }) => formats.instant(since) },
            {
              head: 'Complete',
              cell: ({ interviews_count, sample_size }) => (
                <>
                  {formats.count(interviews_count)} <small>of {formats.count(sample_size)}</small>
                </>
              ),
            },
          ]}
          caption="Active surveys that are not in the field, and those completed in the last two weeks"
        />
        <SqlOf query={overview.besideField} />
      </>
    )}
  </section>
)

/** The place of a survey among those that need action; the others come last. */
const urgencyRank = ({ needsAction }: ReportRows) => {
  const places = new Map([...new Set(needsAction.map(keyOf))].map((key, place) => [key, place]))
  return (row: FieldRow): number => places.get(keyOf(row)) ?? places.size
}

export const accountColumn = (page: ReportPage): readonly Column<{ readonly account: string }>[] =>
  hasAccounts(page)
    ? [{ head: 'Account', isText: true, cell: ({ account }) => account, sortBy: ({ account }) => account }]
    : []

const fieldColumns = (page: ReportPage): readonly Column<FieldRow>[] => {
  const { rows, formats } = page
  return [
    {
      head: 'Survey',
      cell: (row) => (
        <>
          <SurveyLink survey={row} page={page} />
          <Project of={row} />
          {row.status !== 'fieldwork' && <Status status={row.status} />}
          <Quiet of={row} page={page} />
          {isOld(row, rows) && <small>read {formats.instant(row.refreshed_at)}</small>}
        </>
      ),
      sortBy: ({ title }) => title,
    },
    ...accountColumn(page),
    {
      head: 'Complete',
      cell: (row) => <Completion of={row} formats={formats} />,
      sortBy: ({ completion_rate }) => completion_rate,
    },
    { head: '28 days', cell: (row) => <Sparkline days={rows.curves.get(keyOf(row)) ?? []} /> },
    {
      head: 'Pace',
      cell: ({ per_day, ...row }) => (
        <>
          {formats.rough(per_day)} <small>{newestGainText(row, formats)}</small>
          {isReconstructed(row) && <small>reconstructed</small>}
        </>
      ),
      sortBy: ({ per_day }) => per_day,
    },
    {
      head: 'Forecast',
      cell: (row) => (
        <>
          <Forecast row={row} formats={formats} />
          {row.due_on !== null && (
            <small class={`due ${row.deadline ?? ''}`}>
              {[`due ${dueDay(row.due_on, row, formats)}`, dueText(row)].filter(Boolean).join(', ')}
            </small>
          )}
        </>
      ),
      sortBy: ({ expected_on }) => expected_on,
      sorted: 'descending',
    },
    {
      head: 'Incidence',
      cell: (row) => recently(row.recent_incidence_rate, row.earlier_incidence_rate, formats),
      sortBy: ({ recent_incidence_rate }) => recent_incidence_rate,
    },
    {
      head: 'Drop-out',
      cell: (row) => recently(row.recent_drop_out_rate, row.earlier_drop_out_rate, formats),
      sortBy: ({ recent_drop_out_rate }) => recent_drop_out_rate,
    },
  ]
}

/** Whether its numbers are older than the time at the head of the page. */
const isOld = ({ refreshed_at: at }: FieldRow, rows: ReportRows): boolean => {
  const newest = newestReading(rows)
  return newest !== null && at !== null && msBetween(at, newest) > LAG_MS_MIN
}

/** The year of the forecast stands above it. */
const dueDay = (due: string, { expected_on }: FieldRow, { day, dayNear }: Formats): string =>
  expected_on === null ? day(due) : dayNear(due, expected_on)

const Forecast = ({ row, formats }: { readonly row: FieldRow; readonly formats: Formats }) => {
  const { expected_on, expected_from, expected_to } = row
  if (isReached(row)) return <b>{REACHED}</b>
  if (expected_on === null) return <>{isTooEarly(row) ? TOO_EARLY : UNKNOWN}</>
  return (
    <>
      <b>{formats.day(expected_on)}</b>
      {expected_from !== null && (
        <small>
          {expected_to === null
            ? `from ${formats.dayNear(expected_from, expected_on)}, no latest day`
            : `${formats.dayNear(expected_from, expected_on)} – ${formats.dayNear(expected_to, expected_on)}`}
        </small>
      )}
    </>
  )
}

/** The number of the last days, and the earlier number if its text differs. */
const recently = (recent: number | null, earlier: number | null, { rate }: Formats) => (
  <>
    {rate(recent)} {earlier !== null && rate(earlier) !== rate(recent) && <small>was {rate(earlier)}</small>}
  </>
)
