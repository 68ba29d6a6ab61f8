/** What several parts of the page need: its rows, words, and small parts. */
import type { ComponentChildren, JSX } from 'preact'
import { DAY_MS } from '../../../base/durations.js'
import { cutInMiddle } from '../../../base/human.js'
import { type Instant, instantToMs, msBetween } from '../../../model/instant.js'
import { FORECAST_PACE_DAYS_MIN } from '../../../warehouse/views/forecast.js'
import { Bar } from '../charts/small.js'
import type { Formats } from '../formats.js'
import type { SurveyRow } from '../queries/survey.js'
import { keyOf, type ReportRows, type SurveyKey } from '../read.js'

export interface ReportPage {
  readonly rows: ReportRows
  readonly formats: Formats
  /** The surveys, by key, that have a section. */
  readonly sections: ReadonlySet<string>
  /** The setting `report.survey_url`; null if it is not set. */
  readonly surveyUrl: string | null
}

export interface PartProps {
  readonly page: ReportPage
}

/** When the newest reading of all accounts was; null if nothing has been read. */
export const newestReading = ({ asOf }: ReportRows): Instant | null =>
  asOf.reduce<Instant | null>((newest, { newest_at: at }) => {
    return at !== null && (newest === null || msBetween(newest, at) > 0) ? at : newest
  }, null)

/** A shorter lag is not shown, because accounts and surveys are read one after the other within a run. */
export const LAG_MS_MIN = 3_600_000

/** The last sync of each account. `rows.runs` begins with the newest. */
export const lastSyncs = ({ runs }: ReportRows): readonly ReportRows['runs'][number][] => {
  const syncs = runs.filter(({ command }) => command === 'sync')
  return [...new Map(syncs.toReversed().map((sync) => [sync.account, sync])).values()]
}

export const hasAccounts = ({ rows: { asOf } }: ReportPage): boolean => asOf.length > 1

/** `deviating_from_specs` becomes `deviating from specs`. */
export const spaced = (name: string): string => name.replaceAll('_', ' ')

/** A link needs a text, so an empty title gets one. */
export const titleOf = ({ title }: { readonly title: string }): string =>
  title.trim() === '' ? '(no title)' : title

/** The name of a source, in the direction that the browser decides. */
export const SourceName = ({ name }: { readonly name: string }): JSX.Element => (
  <bdi>{name.trim() === '' ? '(no name)' : name}</bdi>
)

const TITLE_CHARACTERS_MAX = 60

export type Titled = SurveyKey & { readonly title: string }

/** A title, cut in the middle if it is long. Titles may be in any script, so the browser decides the direction of each. */
export const Title = ({ of }: { readonly of: Titled }): JSX.Element => {
  const whole = titleOf(of)
  const short = cutInMiddle(whole, TITLE_CHARACTERS_MAX)
  return <bdi title={short === whole ? undefined : whole}>{short}</bdi>
}

export const SurveyLink = ({ survey, page }: PartProps & { readonly survey: Titled }): JSX.Element => {
  const title = <Title of={survey} />
  const key = keyOf(survey)
  return page.sections.has(key) ? <a href={`#${key}`}>{title}</a> : title
}

/** The source that is full last, which decides when the survey reaches its target, and the day on which it is full. */
export const SlowestSource = ({ of, formats }: { readonly of: SurveyRow; readonly formats: Formats }) => {
  const { slowest_source: name, slowest_source_on: day } = of
  if (name === null) return null
  return (
    <p class="meta" data-list="surveys">
      Slowest source: <SourceName name={name} />,{' '}
      {day === null ? 'never full at its pace' : `full on ${formats.day(day)} at its pace`}
    </p>
  )
}

/** Who answers for the survey, and the note of its due date, by the plan. */
export const Owner = ({ of: { owner, due_note: note } }: { readonly of: SurveyRow }): JSX.Element | null =>
  owner === null && note === null ? null : (
    <p class="meta" data-list="surveys">
      {owner !== null && (
        <>
          Owner <bdi>{owner}</bdi>
        </>
      )}
      {owner !== null && note !== null && ', '}
      {note !== null && <bdi>{note}</bdi>}
    </p>
  )

/** The user's own name of its project, in small print. */
export const Project = ({ of }: { readonly of: { readonly project_id: string | null } }) =>
  of.project_id === null || of.project_id === '' ? null : (
    <small>
      <bdi>{of.project_id}</bdi>
    </small>
  )

/** A status in the words of people. */
const statusWords = (status: string): string => STATUS_WORDS.get(status) ?? spaced(status)

const STATUS_WORDS: ReadonlyMap<string, string> = new Map([
  ['user_demo', 'demo'],
  ['fieldwork', 'in the field'],
  ['deviating_from_specs', 'paused'],
])

/** A status with a sign of its own, so that colour is not needed. */
export const Status = ({ status }: { readonly status: string }): JSX.Element => (
  <span class={`status ${status}`}>{statusWords(status)}</span>
)

/** A part that is folded on the screen and open on paper. */
export const Fold = ({
  summary,
  children,
  class: className,
}: {
  readonly summary: string
  readonly children: ComponentChildren
  readonly class?: string
}) => (
  <details class={className}>
    <summary>{summary}</summary>
    {children}
  </details>
)

/** The rest of the rows above it. On paper they follow these without a word. */
export const More = ({
  count,
  formats,
  children,
}: {
  readonly count: number
  readonly formats: Formats
  readonly children: ComponentChildren
}) => (
  <Fold class="more" summary={`${formats.count(count)} more`}>
    {children}
  </Fold>
)

/** `1 survey stands still`, `2 surveys stand still` */
export const plural = (count: number, one: string, many = `${one}s`): string => (count === 1 ? one : many)

/** A figure: its name, its value, and a detail in small print. */
export type Figure = readonly [name: string, value: string, detail: string]

interface FiguresProps {
  readonly figures: readonly Figure[]
  /** The name of the query that has the numbers. */
  readonly query: string
}

export const Figures = ({ figures, query }: FiguresProps) => (
  <dl class="figures" data-list={query}>
    {figures.map(([name, value, detail]) => (
      <div>
        <dt>{name}</dt>
        <dd>
          <b>{value}</b> <small>{detail}</small>
        </dd>
      </div>
    ))}
  </dl>
)

type Completed = Pick<SurveyRow, 'completion_rate' | 'interviews_count' | 'sample_size'>

/** Whether a survey or source has reached its target, so that its forecast is the last known day. */
export const isReached = ({
  interviews_count,
  sample_size,
}: Pick<SurveyRow, 'interviews_count' | 'sample_size'>): boolean =>
  interviews_count !== null && sample_size !== null && sample_size > 0 && interviews_count >= sample_size

export const REACHED = 'reached'

/** Whether a survey has no forecast because it was in the field for too few days. */
export const isTooEarly = ({ status, pace_days }: Pick<SurveyRow, 'status' | 'pace_days'>): boolean =>
  status === 'fieldwork' && (pace_days ?? 0) < FORECAST_PACE_DAYS_MIN

export const TOO_EARLY = 'too early to say'

/** What follows a due date: `late: needs 91 a day, has 14`; empty if nothing can be said. */
export const dueText = ({ deadline, needed_text }: Pick<SurveyRow, 'deadline' | 'needed_text'>): string =>
  [deadline, needed_text]
    .flatMap((part) => part ?? [])
    .map(spaced)
    .join(': ')

/** Until when the plan silences the reasons of a survey, except that it is late; null if it does not. */
export const quietUntil = (survey: SurveyKey, { rows, formats }: ReportPage): string | null => {
  const found = rows.quiet.get(keyOf(survey))
  const newest = newestReading(rows)
  if (found === undefined || newest === null) return null
  return `until ${formats.dayNear(found.quiet_until, instantToMs(newest) / DAY_MS)}`
}

export const quietText = (survey: SurveyKey, page: ReportPage): string | null => {
  const until = quietUntil(survey, page)
  return until === null ? null : `quiet ${until}`
}

/** `quietText` in small print. */
export const Quiet = ({ of, page }: PartProps & { readonly of: SurveyKey }): JSX.Element | null => {
  const text = quietText(of, page)
  return text === null ? null : <small class="until">{text}</small>
}

/** The newest gain, with its days if these are several: `+51 in 2 days`. */
export const newestGainText = (
  { newest_gain: gain, newest_gain_days: days }: Pick<SurveyRow, 'newest_gain' | 'newest_gain_days'>,
  { signed }: Formats,
): string => (days === null || days === 1 ? signed(gain) : `${signed(gain)} in ${days} days`)

/** A bar, the rate, and the numbers of which it is the rate. */
export const Completion = ({ of, formats }: { readonly of: Completed; readonly formats: Formats }) => (
  <>
    <Bar rate={of.completion_rate} />
    <b>{formats.rate(of.completion_rate)}</b>{' '}
    <small>
      {formats.count(of.interviews_count)} of {formats.count(of.sample_size)}
    </small>
  </>
)
