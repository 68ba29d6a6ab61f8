/** The page around the sections of surveys: header, overview, and the queries. */
import type { JSX } from 'preact'
import { formatInstant, msBetween } from '../../../model/instant.js'
import { overview } from '../queries/overview.js'
import { run } from '../queries/run.js'
import { survey } from '../queries/survey.js'
import { Changes } from './changes.js'
import { Field } from './field.js'
import { Runs } from './run.js'
import { SqlOf } from './table.js'
import { Today } from './today.js'
import {
  type Figure,
  Figures,
  LAG_MS_MIN,
  lastSyncs,
  newestReading,
  type PartProps,
  plural,
  SurveyLink,
  spaced,
} from './words.js'

/** Queries whose SQL stands at the end of the page, because each section of a survey shows a part of their rows. */
const SQL_AT_END = [overview.asOf, overview.totals, overview.changeCounts, ...Object.values(survey)]

export const Header = ({ page, title }: PartProps & { readonly title: string }): JSX.Element => (
  <header>
    <h1>
      <bdi>{title}</bdi>
    </h1>
    <AsOf page={page} />
    <nav aria-label="Parts of the report">
      <a href="#action">Today</a>
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
    <Today page={page} />
    <Field page={page} />
    <Changes page={page} />
    <Runs page={page} />
  </div>
)

/** `program` is the name and version of the program. */
export const Footer = ({ page, program }: PartProps & { readonly program: string }): JSX.Element => (
  <footer>
    <p>
      {`Times and days are in ${page.formats.timeZone}. Every number is a row of a query. Written by ${program}.`}
    </p>
    <p>
      The API shows counts of whole surveys and sources. It shows no quota cells, questions or respondents, so
      this page cannot.
    </p>
    <label>
      <input type="checkbox" id="queries" /> Show the queries
    </label>
    <p class="tech">The queries run on fieldwork.duckdb. These have no table of their own:</p>
    {SQL_AT_END.map((query) => (
      <SqlOf query={query} title={query.title} />
    ))}
  </footer>
)

/** The newest reading of all accounts, and of each account that lags it. */
const AsOf = ({ page: { rows, formats } }: PartProps): JSX.Element => {
  const newest = newestReading(rows)
  if (newest === null) return <p data-list={overview.asOf.name}>Nothing has been read yet.</p>
  const lagging = rows.asOf.filter(({ newest_at: at }) => at !== null && msBetween(at, newest) > LAG_MS_MIN)
  const more = lagging.length - ACCOUNTS_NAMED_MAX
  return (
    <p data-list={overview.asOf.name}>
      As of <time dateTime={formatInstant(newest)}>{formats.instant(newest)}</time> {`(${formats.timeZone})`}
      {lagging
        .slice(0, ACCOUNTS_NAMED_MAX)
        .map(({ account, newest_at: at }) => `, ${account} ${formats.instant(at)}`)}
      {more > 0 && `, and ${formats.count(more)} more ${plural(more, 'account')} earlier`}
    </p>
  )
}

/** The surveys with values that the page cannot show. The section of a survey, if there is one, names the values. */
const Unshown = ({ page, page: { rows, formats } }: PartProps): JSX.Element | null => {
  if (rows.unshown.length === 0) return null
  const named = rows.unshown.slice(0, UNSHOWN_NAMED_MAX)
  const more = rows.unshown.length - named.length
  return (
    <p class="rule" id="unshown">
      Values that this page cannot show are in the tables:{' '}
      {named.map(({ account, survey_id, fields }, index) => (
        <>
          {index === 0 ? '' : '; '}
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

const [UNSHOWN_NAMED_MAX, ACCOUNTS_NAMED_MAX] = [20, 12]

/** Accounts whose last sync did not read everything. */
const Unfinished = ({ page: { rows, formats } }: PartProps): JSX.Element => {
  const last = lastSyncs(rows)
  const unfinished = last.filter(({ status }) => UNFINISHED.includes(status))
  const more = unfinished.length - ACCOUNTS_NAMED_MAX
  return (
    <>
      {unfinished.slice(0, ACCOUNTS_NAMED_MAX).map(({ account, status, reason }) => (
        <p class="unfinished" data-list={run.runs.name}>
          {last.length > 1 && (
            <>
              <bdi>{account}</bdi>:{' '}
            </>
          )}
          <b>The last sync {status === 'failed' ? status : `was ${status}`}</b>
          {reason !== null && `: ${reason}`}. Some numbers may be older than others.{' '}
          <a href="#run">The run</a>
        </p>
      ))}
      {more > 0 && (
        <p class="unfinished" data-list={run.runs.name}>
          {`The same is true of ${formats.count(more)} more ${plural(more, 'account')}.`}
        </p>
      )}
    </>
  )
}

const UNFINISHED: readonly string[] = ['partial', 'failed', 'killed']

const Totals = ({ page: { rows, formats } }: PartProps) => {
  const [total] = rows.totals
  const { count, rate, signed } = formats
  if (total === undefined || total.surveys === 0) return <Figures figures={[]} query={overview.totals.name} />
  const completed = `of ${count(total.sample_size)}, ${rate(total.completion_rate)}`
  const { newest_gain_days: newest, week_gain: gained, week_gain_days: days } = total
  const week =
    gained === null
      ? ''
      : `${signed(gained)} in the last ${days === 1 ? 'day' : `${days} days`}, by all surveys`
  const figures: readonly Figure[] = [
    ['In the field', count(total.surveys), plural(total.surveys, 'survey')],
    ['Complete', count(total.interviews_count), completed],
    [
      newest === null || newest === 1 ? 'Gained since yesterday' : `Gained in ${newest} days`,
      signed(total.newest_gain),
      week,
    ],
  ]
  return <Figures figures={figures} query={overview.totals.name} />
}
