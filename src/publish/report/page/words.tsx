/** What several parts of the page need: its rows, words, and small parts. */
import type { JSX } from 'preact'
import { FORECAST_PACE_DAYS_MIN } from '../../../warehouse/views/pace.js'
import { Bar } from '../charts/small.js'
import type { Formats } from '../formats.js'
import type { SurveyRow } from '../queries/survey.js'
import { keyOf, type ReportRows, type SurveyKey } from '../read.js'

export interface ReportPage {
  readonly rows: ReportRows
  readonly formats: Formats
  /** The surveys, by key, that have a section. */
  readonly sections: ReadonlySet<string>
}

export interface PartProps {
  readonly page: ReportPage
}

export const hasAccounts = ({ rows: { asOf } }: ReportPage): boolean => asOf.length > 1

/** `deviating_from_specs` becomes `deviating from specs`. */
export const spaced = (name: string): string => name.replaceAll('_', ' ')

/** A link needs a text. */
export const titleOf = ({ title }: { readonly title: string }): string =>
  title.trim() === '' ? '(no title)' : title

/** Titles of one study differ at their end, such as the country or the wave, so a long one is cut in the middle. */
const shortTitle = (title: string): string => {
  const characters = [...title]
  return characters.length <= TITLE_MAX
    ? title
    : [...characters.slice(0, TITLE_MAX - TITLE_END - 1), '…', ...characters.slice(-TITLE_END)].join('')
}
const TITLE_MAX = 60
const TITLE_END = 22

export type Titled = SurveyKey & { readonly title: string }

/** Titles may be in any script, so each finds its own direction. */
export const SurveyLink = ({ survey, page }: PartProps & { readonly survey: Titled }): JSX.Element => {
  const title = <bdi>{shortTitle(titleOf(survey))}</bdi>
  const key = keyOf(survey)
  return page.sections.has(key) ? <a href={`#${key}`}>{title}</a> : title
}

/** The user's own name of its project, in small print. */
export const Project = ({ of }: { readonly of: { readonly project_id: string | null } }) =>
  of.project_id === null || of.project_id === '' ? null : (
    <small>
      <bdi>{of.project_id}</bdi>
    </small>
  )

/** A status with a sign of its own, so that colour is not needed. */
export const Status = ({ status }: { readonly status: string }): JSX.Element => (
  <span class={`status ${status}`}>{spaced(status)}</span>
)

/** `1 survey stands still`, `2 surveys stand still` */
export const plural = (count: number, one: string, many = `${one}s`): string => (count === 1 ? one : many)

/** Its name, its value, and a detail in small print. */
export type Figure = readonly [name: string, value: string, detail: string]

interface FiguresProps {
  readonly figures: readonly Figure[]
  /** The name of the query of the numbers. */
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

/** Whether a survey has no forecast because it was in the field for too few days. */
export const isTooEarly = ({ status, pace_days }: Pick<SurveyRow, 'status' | 'pace_days'>): boolean =>
  status === 'fieldwork' && (pace_days ?? 0) < FORECAST_PACE_DAYS_MIN

export const TOO_EARLY = 'too early to say'

/** `late, needs 41 a day`; null without a due date. */
export const dueText = (
  { due_on, deadline, needed_per_day }: Pick<SurveyRow, 'due_on' | 'deadline' | 'needed_per_day'>,
  { rough }: Formats,
): string | null =>
  due_on === null
    ? null
    : [
        ...(deadline === null ? [] : [spaced(deadline)]),
        ...(needed_per_day === null ? [] : [`needs ${rough(needed_per_day)} a day`]),
      ].join(', ')

/** A bar, the rate, and the numbers behind it. */
export const Completion = ({ of, formats }: { readonly of: Completed; readonly formats: Formats }) => (
  <>
    <Bar rate={of.completion_rate} />
    <b>{formats.rate(of.completion_rate)}</b>{' '}
    <small>
      {formats.count(of.interviews_count)} of {formats.count(of.sample_size)}
    </small>
  </>
)
