/** What needs action, the first thing on the page: a card for each question that has an answer, and a sentence for those without. */
import type { JSX } from 'preact'
import { FAR_DAYS, overview } from '../queries/overview.js'
import type { Query } from '../queries/query.js'
import { type Column, QueryTable, SqlOf } from './table.js'
import { type PartProps, type ReportPage, SurveyLink, type Titled } from './words.js'

/** Rows of a card before the rest is folded. */
const ROWS_SHOWN = 6

interface Card {
  /** Null without rows. */
  readonly shown: JSX.Element | null
  readonly none: string
}

export const Attention = ({ page }: PartProps) => {
  const cards = cardsOf(page)
  const quiet = cards.filter(({ shown }) => shown === null)
  return (
    <section id="action" aria-labelledby="action-title">
      <h2 id="action-title">Needs action</h2>
      <div class="cards">{cards.map(({ shown }) => shown)}</div>
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
  const { count, day, instant, rate, signed } = formats
  const complete: Column<{ readonly interviews_count: number | null; readonly sample_size: number | null }> =
    { head: 'Complete', cell: (row) => phrase(count(row.interviews_count), 'of', count(row.sample_size)) }
  return [
    card(page, overview.paused, rows.paused, {
      rule: 'Fieldwork is paused because of deviations from the specifications.',
      none: 'No survey is paused.',
      columns: [{ head: 'Since', cell: ({ since }) => instant(since) }, complete],
    }),
    card(page, overview.standsStill, rows.standsStill, {
      rule: 'In fieldwork, target not reached, and no complete interview for three days or more.',
      none: 'No survey in fieldwork stands still.',
      columns: [
        { head: 'Days', cell: ({ days }) => (days === null ? 'never gained' : count(days)) },
        complete,
      ],
    }),
    card(page, overview.far, rows.far, {
      rule: `In fieldwork, but at its pace the target is more than ${FAR_DAYS} days away.`,
      none: 'No survey is far from its target.',
      columns: [
        {
          head: 'Forecast',
          cell: (row) => (row.expected_on === null ? 'not in sight' : day(row.expected_on)),
        },
        complete,
      ],
    }),
    card(page, overview.slips, rows.slips, {
      rule: 'The forecast is three days or more later than a week ago, and its range no longer includes the earlier day.',
      none: 'No forecast slips.',
      columns: [
        {
          head: 'Later by',
          cell: ({ days_later }) => (days_later === null ? 'not in sight' : `${count(days_later)} d`),
        },
        { head: 'Now', cell: ({ expected_on }) => day(expected_on) },
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
        { head: 'Behind', cell: ({ behind }) => count(behind) },
        { head: 'Gained', cell: ({ gained }) => signed(gained) },
      ],
    }),
    card(page, overview.ratesMoved, rows.ratesMoved, {
      rule: 'In the last 7 days, incidence or drop-out differed from before by ten points or more.',
      none: 'Incidence and drop-out are as before.',
      columns: [
        {
          head: 'Incidence',
          cell: (row) => phrase(rate(row.earlier_incidence_rate), 'to', rate(row.recent_incidence_rate)),
        },
        {
          head: 'Drop-out',
          cell: (row) => phrase(rate(row.earlier_drop_out_rate), 'to', rate(row.recent_drop_out_rate)),
        },
      ],
    }),
    card(page, overview.stale, rows.stale, {
      rule: 'Active, but last read more than a day before the newest reading, or not completely.',
      none: 'Every active survey was read in the last day.',
      columns: [
        { head: 'Read at', cell: (row) => (row.refreshed_at === null ? 'never' : instant(row.refreshed_at)) },
        { head: 'Why', isText: true, cell: ({ last_error }) => last_error ?? 'no run has reached it' },
      ],
    }),
  ]
}

const phrase = (one: string, word: string, other: string) => (
  <>
    <span>{one}</span> <i>{word}</i> <span>{other}</span>
  </>
)

interface CardOf<Row> {
  readonly rule: string
  readonly none: string
  readonly columns: readonly Column<Row>[]
}

const card = <Row extends Titled>(
  page: ReportPage,
  query: Query,
  rows: readonly Row[],
  { rule, none, columns }: CardOf<Row>,
): Card => {
  if (rows.length === 0) return { shown: null, none }
  const survey: Column<Row> = { head: 'Survey', cell: (row) => <SurveyLink survey={row} page={page} /> }
  const shared = { query, columns: [survey, ...columns] }
  const rest = rows.slice(ROWS_SHOWN)
  const shown = (
    <article class="card">
      <h3>
        {query.title} <span class="badge">{page.formats.count(rows.length)}</span>
      </h3>
      <p class="rule">{rule}</p>
      <QueryTable {...shared} rows={rows.slice(0, ROWS_SHOWN)} caption={query.title} />
      {rest.length > 0 && (
        <details>
          <summary>{`${rest.length} more`}</summary>
          <QueryTable {...shared} rows={rest} caption={`${query.title}, more`} />
        </details>
      )}
      <SqlOf query={query} />
    </article>
  )
  return { shown, none }
}
