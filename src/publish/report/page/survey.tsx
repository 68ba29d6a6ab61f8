/** The section of a survey: figures, charts, sources, history, and the time of each number. */
import type { JSX } from 'preact'
import type { z } from 'zod'
import { surveyAddress } from '../../../model/survey-address.js'
import { CompletesChart } from '../charts/completes.js'
import { StatusChart } from '../charts/statuses.js'
import { type Formats, UNKNOWN } from '../formats.js'
import { BANDS, type DayRow, survey as queries, type SurveyRow } from '../queries/survey.js'
import { keyOf } from '../read.js'
import { AsSold } from './as-sold.js'
import { Change } from './changes.js'
import { SourceQuality } from './source-quality.js'
import { QueryTable } from './table.js'
import {
  Completion,
  dueText,
  type Figure,
  Figures,
  hasAccounts,
  isReached,
  isTooEarly,
  Owner,
  type PartProps,
  plural,
  quietText,
  REACHED,
  SlowestSource,
  SourceName,
  Status,
  spaced,
  TOO_EARLY,
  titleOf,
} from './words.js'

/** The number of the survey, as a link to the service if the settings say where a survey opens. */
const SurveyInService = ({ survey, page }: { readonly survey: SurveyRow } & PartProps): JSX.Element => {
  const { survey_id, hashid } = survey
  const text = `Survey ${survey_id}`
  if (page.surveyUrl === null || hashid === null) return <>{text}</>
  return <a href={surveyAddress(page.surveyUrl, hashid)}>{text}</a>
}

export const Survey = ({ survey, page }: { readonly survey: SurveyRow } & PartProps): JSX.Element => {
  const { rows, formats } = page
  const key = keyOf(survey)
  const curve = rows.curves.get(key) ?? []
  const { account, survey_id, status, project_id } = survey
  const quiet = quietText(survey, page)
  const hidden = rows.unshown.find((of) => of.account === account && of.survey_id === survey_id)?.fields ?? []
  return (
    <section class="survey" id={key}>
      <p class="back">
        <a href="#field">All surveys</a>
      </p>
      <h2>
        <bdi>{titleOf(survey)}</bdi>
      </h2>
      <p class="meta" data-list="surveys">
        <Status status={status} /> <SurveyInService survey={survey} page={page} />
        {project_id !== null && project_id !== '' && (
          <>
            , project <bdi>{project_id}</bdi>
          </>
        )}
        {hasAccounts(page) && `, account ${account}`}
        {quiet !== null && `, ${quiet}: the plan silences every reason but late`}
      </p>
      <Figures figures={figuresOf(survey, formats)} query="surveys" />
      <SlowestSource of={survey} formats={formats} />
      <Owner of={survey} />
      <AsSold survey={survey} formats={formats} />
      <h3 data-list={queries.observations.name}>{curveTitle(curve, formats)}</h3>
      {curve.length < 2 ? (
        <p class="empty">The curve begins with the second night.</p>
      ) : (
        <CompletesChart survey={survey} days={curve} formats={formats} />
      )}
      <Interviews counts={rows.interviews.get(key) ?? []} curve={curve} formats={formats} />
      <h3>Sources</h3>
      <QueryTable
        formats={formats}
        class="sources"
        empty="This survey has no sample source."
        query={queries.sources}
        rows={rows.sources.get(key) ?? []}
        columns={[
          {
            head: 'Source',
            cell: ({ name, ...row }) => (
              <>
                <SourceName name={name} /> <small>{aboutSource(row, formats)}</small>
              </>
            ),
          },
          { head: 'Complete', cell: (row) => <Completion of={row} formats={formats} /> },
          { head: 'Behind', cell: ({ behind }) => formats.count(behind), sorted: 'descending' },
          { head: 'Gained', cell: ({ gained }) => formats.signed(gained) },
          {
            head: 'Forecast',
            cell: (row) => (isReached(row) ? REACHED : formats.day(row.expected_on)),
          },
          { head: 'Incidence', cell: (row) => formats.rate(row.target_incidence_rate) },
          { head: 'Drop-out', cell: (row) => formats.rate(row.drop_out_rate) },
        ]}
      />
      <SourceQuality rows={rows.quality.get(key) ?? []} formats={formats} />
      <h3>History</h3>
      <QueryTable
        formats={formats}
        class="history"
        empty="Nothing but its progress has changed since it was first read."
        query={queries.history}
        rows={rows.history.get(key) ?? []}
        columns={[
          { head: 'Seen at', cell: ({ observed_at }) => formats.instant(observed_at), sorted: 'descending' },
          {
            head: 'Change',
            isText: true,
            cell: (row) => (
              <>
                {row.sample_source_id !== null && (
                  <small>
                    source <SourceName name={row.name ?? String(row.sample_source_id)} />{' '}
                  </small>
                )}
                <Change change={row} />
              </>
            ),
          },
        ]}
      />
      <Freshness survey={survey} formats={formats} />
      {hidden.length > 0 && (
        <p class="rule">{`This page cannot show all of: ${hidden.map(spaced).join(', ')}. The tables hold the whole values.`}</p>
      )}
    </section>
  )
}

type Source = Omit<z.output<typeof queries.sources.row>, 'name'>

/** `FR, panel, Panel North Ltd, 3.80 EUR a complete`, as far as the plan says it. */
const aboutSource = ({ country_code, provider, supplier, cpi, currency }: Source, { money }: Formats) =>
  [
    country_code,
    spaced(provider),
    ...(supplier === null ? [] : [supplier]),
    ...(cpi === null ? [] : [`${money(cpi, currency)} a complete`]),
  ].join(', ')

/** The key figures of a survey. */
export const figuresOf = (survey: SurveyRow, formats: Formats): readonly Figure[] => {
  const { count, fineRate, rate, rough, signed } = formats
  const { pace_days: days, length_of_interview: seconds } = survey
  const newest = survey.newest_gain_days ?? 1
  const lastDays = newest === 1 ? 'on the last day' : `in the last ${newest} days`
  const pace = `${signed(survey.gained)} in ${days} ${plural(days ?? 0, 'day')} in the field, ${signed(survey.newest_gain)} ${lastDays}${reconstructedText(survey)}`
  const lately = (recent: number | null, earlier: number | null) => {
    if (recent === null) return ''
    const was = earlier === null || rate(earlier) === rate(recent) ? '' : `, was ${rate(earlier)}`
    return `last days ${rate(recent)}${was}`
  }
  const incidence = lately(survey.recent_incidence_rate, survey.earlier_incidence_rate)
  const dropOut = lately(survey.recent_drop_out_rate, survey.earlier_drop_out_rate)
  const due = dueText(survey)
  const completed = `${count(survey.interviews_count)} of ${count(survey.sample_size)}`
  return [
    ['Complete', fineRate(survey.completion_rate), completed],
    ['Pace', rough(survey.per_day), days === null ? '' : `a day, ${pace}`],
    [
      'Forecast',
      isReached(survey) ? REACHED : formats.day(survey.expected_on),
      isReached(survey) ? '' : rangeOf(survey, formats),
    ],
    ...(survey.due_on === null ? [] : [['Due', formats.day(survey.due_on), due] as const]),
    ['Incidence', fineRate(survey.target_incidence_rate), incidence],
    ['Drop-out', fineRate(survey.drop_out_rate), dropOut],
    ['Length', seconds === null ? UNKNOWN : `${rough(seconds / 60)} min`, 'median'],
  ]
}

const reconstructedText = ({ pace_days: days, reconstructed_days: before }: SurveyRow): string =>
  before === null || before === 0 ? '' : `; ${before === days ? '' : `${before} of them `}reconstructed`

const rangeOf = (survey: SurveyRow, formats: Formats): string => {
  const { expected_on, expected_from, expected_to } = survey
  if (expected_on === null) return isTooEarly(survey) ? TOO_EARLY : 'no forecast'
  return expected_from === null
    ? 'at this pace'
    : expected_to === null
      ? `from ${formats.dayNear(expected_from, expected_on)}, no latest day`
      : `${formats.dayNear(expected_from, expected_on)} to ${formats.dayNear(expected_to, expected_on)}`
}

/** What happened in the last week of the curve, as its title. */
export const curveTitle = (curve: readonly DayRow[], formats: Formats): string => {
  const last = curve.at(-1)
  const before = curve.findLast(({ day }) => last !== undefined && day <= last.day - WEEK_DAYS) ?? curve[0]
  if (last === undefined || before === undefined || before === last) return 'Complete interviews'
  const gained = last.interviews_count - before.interviews_count
  const days = last.day - before.day
  const period = `in the ${days === 1 ? 'day' : `${days} days`} up to ${formats.shortDay(last.day)}`
  if (gained === 0) return `No complete interview ${period}`
  return `Complete interviews ${gained > 0 ? 'rose' : 'fell'} by ${formats.count(Math.abs(gained))} ${period}`
}

const WEEK_DAYS = 7

interface InterviewsProps {
  readonly counts: readonly { readonly status: string; readonly individuals: number }[]
  readonly curve: readonly DayRow[]
  readonly formats: Formats
}

const Interviews = ({ counts, curve, formats }: InterviewsProps): JSX.Element => {
  const total = counts.reduce((sum, { individuals }) => sum + individuals, 0)
  const complete = counts.find(({ status }) => status === 'complete')?.individuals ?? 0
  if (total === 0)
    return (
      <>
        <h3>Interviews by status</h3>
        <p class="empty">No interview has begun.</p>
      </>
    )
  return (
    <>
      <h3 data-list={queries.interviews.name}>
        {`Of ${formats.count(total)} ${plural(total, 'interview')}, ${formats.count(complete)} ${plural(complete, 'is', 'are')} complete`}
      </h3>
      <div class="layers">
        {curve.length >= 2 && (
          <div>
            <StatusChart days={curve} formats={formats} />
            {curve.some(({ is_reconstructed }) => is_reconstructed) && (
              <p class="rule">Days before the first reading are reconstructed from today’s statuses.</p>
            )}
          </div>
        )}
        <ul data-list={queries.interviews.name}>
          {layersOf(counts).map(({ index, name, counts: some }) => (
            <li>
              <i class={`s${index}`} />
              {name !== null && `${spaced(name)}: `}
              {some.map(({ status, individuals }, at) => (
                <>
                  {at === 0 ? '' : ', '}
                  {spaced(status)} <b>{formats.count(individuals)}</b>
                </>
              ))}
            </li>
          ))}
        </ul>
      </div>
    </>
  )
}

/** The layers of the chart from the top to the bottom, and then statuses that this version does not know. */
const layersOf = (counts: InterviewsProps['counts']) =>
  [...BANDS.entries()]
    .toReversed()
    .map(([index, [name, statuses]]) => ({
      index,
      name: statuses.length === 1 ? null : name,
      counts: counts.filter(({ status }) => statuses.some((listed: string) => listed === status)),
    }))
    .concat({
      index: -1,
      name: null,
      counts: counts.filter(({ status }) => !KNOWN_STATUSES.includes(status)),
    })
    .filter(({ counts: some }) => some.length > 0)

const KNOWN_STATUSES: readonly string[] = BANDS.flatMap(([, statuses]) => statuses)

const Freshness = ({ survey, formats }: { readonly survey: SurveyRow; readonly formats: Formats }) => {
  const times: readonly (readonly [string, bigint | null])[] = [
    ['First read', survey._first_seen_at],
    ['Survey', survey.listed_at],
    ['Progress', survey.refreshed_at],
    ['List of sources', survey.sources_listed_at],
    ['Progress of sources', survey.sources_known_at],
    ['Last complete interview', survey.last_gain_at],
  ]
  return (
    <>
      <h3>As of when each number is known</h3>
      <dl class="times" data-list="surveys">
        {times.map(([what, at]) => (
          <div>
            <dt>{what}</dt>
            <dd>{at === null ? 'never' : formats.instant(at)}</dd>
          </div>
        ))}
      </dl>
      {survey.last_error !== null && <p class="error">{survey.last_error}</p>}
      {survey.excluded_by !== null && (
        <p class="quiet">Not read: the settings exclude it by its {survey.excluded_by}</p>
      )}
    </>
  )
}
