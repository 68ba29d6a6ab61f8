/** The page around the sections of surveys: header, overview, and the queries. */
import type { JSX } from 'preact'
import { formatInstant, msBetween } from '../../../model/instant.js'
import { ALL_QUERIES } from '../queries/all.js'
import { asOf, changeCounts, totals } from '../queries/overview.js'
import { runs } from '../queries/run.js'
import { history, interviews, observations, sources, surveys } from '../queries/survey.js'
import { Attention } from './attention.js'
import { Changes } from './changes.js'
import { Field } from './field.js'
import { Runs } from './run.js'
import { SqlOf } from './table.js'
import type { PartProps } from './words.js'
import { type Figure, Figures, plural, SurveyLink, spaced } from './words.js'

/** These are not shown beside their tables, because each section of a survey has a part of them. */
const SQL_AT_END = [asOf, totals, changeCounts, surveys, observations, interviews, sources, history]

export const Header = ({ page }: PartProps): JSX.Element => (
  <header>
    <h1>Fieldwork</h1>
    <AsOf page={page} />
    <nav aria-label="Parts of the report">
      <a href="#action">Needs action</a>
      <a href="#field">In the field</a>
      <a href="#changes">What changed</a>
      <a href="#run">The run</a>
    </nav>
  </header>
)

export const Overview = ({ page }: PartProps): JSX.Element => (
  <div class="overview">
    <Unfinished page={page} />
    <Unshown page={page} />
    <Totals page={page} />
    <Attention page={page} />
    <Field page={page} />
    <Changes page={page} />
    <Runs page={page} />
  </div>
)

/** `program` is the name and version of the program. */
export const Footer = ({ page, program }: PartProps & { readonly program: string }): JSX.Element => (
  <footer>
    <p>
      {`Times are in ${page.formats.timeZone}; days of charts and forecasts are UTC. Every number is a row of a query, shown below or beside its table, which runs on fieldwork.duckdb. Written by ${program}.`}
    </p>
    {ALL_QUERIES.filter((query) => SQL_AT_END.includes(query)).map((query) => (
      <SqlOf query={query} title={query.title} />
    ))}
  </footer>
)

/** The newest reading of all, and of each account that is behind it. */
const AsOf = ({ page: { rows, formats } }: PartProps): JSX.Element => {
  const known = rows.asOf.flatMap(({ account, newest_at }) =>
    newest_at === null ? [] : [{ account, newest_at }],
  )
  const newest = known.toSorted((one, other) => msBetween(one.newest_at, other.newest_at)).at(0)?.newest_at
  if (newest === undefined) return <p data-list={asOf.name}>Nothing has been read yet.</p>
  const behind = known.filter(({ newest_at }) => msBetween(newest_at, newest) > BEHIND_MS)
  return (
    <p data-list={asOf.name}>
      As of <time dateTime={formatInstant(newest)}>{formats.instant(newest)}</time> {`(${formats.timeZone})`}
      {behind.map(({ account, newest_at }) => `, ${account} ${formats.instant(newest_at)}`)}
    </p>
  )
}

/** Accounts are read side by side, so an hour is one run. */
const BEHIND_MS = 3_600_000

/** The surveys with values that this page cannot show. Each says which in its section, if it has one. */
const Unshown = ({ page, page: { rows, formats } }: PartProps): JSX.Element | null => {
  if (rows.unshown.length === 0) return null
  const named = rows.unshown.slice(0, UNSHOWN_NAMED_MAX)
  const more = rows.unshown.length - named.length
  return (
    <p class="rule" id="unshown">
      Values that this page cannot show are in the tables:{' '}
      {named.map(({ account, survey_id, fields }, place) => (
        <>
          {place === 0 ? '' : '; '}
          {account === null || survey_id === null ? (
            'all surveys'
          ) : (
            <SurveyLink survey={{ account, survey_id, title: `survey ${survey_id}` }} page={page} />
          )}
          {` (${fields.map(spaced).join(', ')})`}
        </>
      ))}
      {more > 0 && `; and ${formats.count(more)} more ${plural(more, 'survey')}`}.
    </p>
  )
}

const UNSHOWN_NAMED_MAX = 20

/** Accounts whose last sync did not read everything. `rows.runs` begins with the newest. */
const Unfinished = ({ page: { rows } }: PartProps): JSX.Element => {
  const last = new Map(
    rows.runs
      .filter(({ command }) => command === 'sync')
      .toReversed()
      .map((run) => [run.account, run]),
  )
  return (
    <>
      {[...last.values()]
        .filter(({ status }) => UNFINISHED.includes(status))
        .map(({ account, status, reason }) => (
          <p class="unfinished" data-list={runs.name}>
            {last.size > 1 && (
              <>
                <bdi>{account}</bdi>:{' '}
              </>
            )}
            <b>The last sync was {status}</b>
            {reason !== null && `: ${reason}`}. Some numbers may be older than others.{' '}
            <a href="#run">The run</a>
          </p>
        ))}
    </>
  )
}

const UNFINISHED: readonly string[] = ['partial', 'failed', 'killed']

const Totals = ({ page: { rows, formats } }: PartProps): JSX.Element => {
  const [total] = rows.totals
  const isAny = total !== undefined && total.surveys > 0
  const figures: readonly Figure[] = !isAny
    ? []
    : [
        ['In the field', formats.count(total.surveys), plural(total.surveys, 'survey')],
        [
          'Complete',
          formats.count(total.interviews_count),
          `of ${formats.count(total.sample_size)}, ${formats.rate(total.completion_rate)}`,
        ],
        [
          'Gained since yesterday',
          formats.signed(total.gained_last_day),
          `${formats.signed(total.gained)} in the last 7 days`,
        ],
      ]
  return <Figures figures={figures} query={totals.name} />
}
