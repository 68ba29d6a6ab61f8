/** What needs action, the first thing on the page: a card for each question that has an answer, and a sentence for those without. */
import type { ComponentChildren, JSX } from 'preact'
import type { Formats } from '../formats.js'
import * as overview from '../queries/overview.js'
import type { Query } from '../queries/query.js'
import { type Column, QueryTable, SqlOf } from './table.js'
import type { PartProps, ReportPage } from './words.js'
import { SurveyLink, type Titled } from './words.js'

/** Rows of a card before the rest is folded. */
const ROWS_SHOWN = 6

interface Card {
  readonly query: Query
  readonly rule: string
  readonly none: string
  readonly count: number
  readonly table: JSX.Element
}

export const Attention = ({ page }: PartProps) => {
  const cards = cardsOf(page)
  const { formats } = page
  const quiet = cards.filter(({ count }) => count === 0)
  return (
    <section id="action" aria-labelledby="action-title">
      <h2 id="action-title">Needs action</h2>
      <div class="cards">
        {cards
          .filter(({ count }) => count > 0)
          .map((card) => (
            <article class="card">
              <h3>
                {card.query.title} <span class="badge">{formats.count(card.count)}</span>
              </h3>
              <p class="rule">{card.rule}</p>
              {card.table}
              <SqlOf query={card.query} />
            </article>
          ))}
      </div>
      {quiet.length > 0 && (
        <p class="quiet">
          <span class="ok" aria-hidden="true" /> {quiet.map(({ none }) => none).join(' ')}
        </p>
      )}
    </section>
  )
}

const cardsOf = (page: ReportPage): readonly Card[] => {
  const { rows, formats } = page
  return [
    card(page, overview.paused, rows.paused, {
      rule: 'Fieldwork is paused because of deviations from the specifications.',
      none: 'No survey is paused.',
      columns: [{ head: 'Since', cell: ({ since }) => formats.instant(since) }, completes(formats)],
    }),
    card(page, overview.standsStill, rows.standsStill, {
      rule: 'In fieldwork, target not reached, and no complete interview for three days or more.',
      none: 'No survey in fieldwork stands still.',
      columns: [
        { head: 'Days', cell: ({ days }) => (days === null ? 'never gained' : formats.count(days)) },
        completes(formats),
      ],
    }),
    card(page, overview.far, rows.far, {
      rule: `In fieldwork, but at its pace the target is more than ${overview.FAR_DAYS} days away.`,
      none: 'No survey is far from its target.',
      columns: [
        {
          head: 'Forecast',
          cell: ({ expected_on }) => (expected_on === null ? 'not in sight' : formats.day(expected_on)),
        },
        completes(formats),
      ],
    }),
    card(page, overview.slips, rows.slips, {
      rule: 'The forecast is three days or more later than a week ago, and its range no longer includes the earlier day.',
      none: 'No forecast slips.',
      columns: [
        {
          head: 'Later by',
          cell: ({ days_later }) => (days_later === null ? 'not in sight' : `${formats.count(days_later)} d`),
        },
        { head: 'Now', cell: ({ expected_on }) => formats.day(expected_on) },
      ],
    }),
    card(page, overview.sourcesBehind, rows.sourcesBehind, {
      rule: 'Sources that lack a tenth of their target or more to be as complete as their survey.',
      none: 'No source is behind its survey.',
      columns: [
        {
          head: 'Source',
          isText: true,
          cell: ({ name, country_code }) => (
            <>
              <bdi>{name}</bdi> <span>{country_code}</span>
            </>
          ),
        },
        { head: 'Behind', cell: ({ behind }) => formats.count(behind) },
        { head: 'Gained', cell: ({ gained }) => formats.signed(gained) },
      ],
    }),
    card(page, overview.ratesMoved, rows.ratesMoved, {
      rule: 'In the last 7 days, incidence or drop-out differed from before by ten points or more.',
      none: 'Incidence and drop-out are as before.',
      columns: [
        {
          head: 'Incidence',
          cell: (row) =>
            change(formats.rate(row.earlier_incidence_rate), formats.rate(row.recent_incidence_rate)),
        },
        {
          head: 'Drop-out',
          cell: (row) =>
            change(formats.rate(row.earlier_drop_out_rate), formats.rate(row.recent_drop_out_rate)),
        },
      ],
    }),
    card(page, overview.stale, rows.stale, {
      rule: 'Active, but last read more than a day before the newest reading, or not completely.',
      none: 'Every active survey was read in the last day.',
      columns: [
        {
          head: 'Read at',
          cell: ({ refreshed_at }) => (refreshed_at === null ? 'never' : formats.instant(refreshed_at)),
        },
        { head: 'Why', isText: true, cell: ({ last_error }) => last_error ?? 'no run has reached it' },
      ],
    }),
  ]
}

const completes = (
  formats: Formats,
): Column<{ readonly interviews_count: number | null; readonly sample_size: number | null }> => ({
  head: 'Complete',
  cell: ({ interviews_count, sample_size }) => (
    <>
      <span>{formats.count(interviews_count)}</span> <i>of</i> <span>{formats.count(sample_size)}</span>
    </>
  ),
})

const change = (before: string, now: string): ComponentChildren => (
  <>
    <span>{before}</span> <i>to</i> <span>{now}</span>
  </>
)

interface CardText<Row> extends Pick<Card, 'rule' | 'none'> {
  readonly columns: readonly Column<Row>[]
}

const card = <Row extends Titled>(
  page: ReportPage,
  query: Query,
  rows: readonly Row[],
  { rule, none, columns }: CardText<Row>,
): Card => {
  const survey: Column<Row> = { head: 'Survey', cell: (row) => <SurveyLink survey={row} page={page} /> }
  const withTitle = [survey, ...columns]
  const [first, rest] = [rows.slice(0, ROWS_SHOWN), rows.slice(ROWS_SHOWN)]
  const table = (
    <>
      <QueryTable query={query} rows={first} columns={withTitle} caption={query.title} />
      {rest.length > 0 && (
        <details>
          <summary>{`${rest.length} more`}</summary>
          <QueryTable query={query} rows={rest} columns={withTitle} caption={`${query.title}, more`} />
        </details>
      )}
    </>
  )
  return { query, rule, none, count: rows.length, table }
}
