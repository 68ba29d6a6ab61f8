/** What needs action, the first thing on the page: one row per survey with its reasons, the most urgent first. Details open below a row. */
import { group } from 'd3-array'
import type { JSX } from 'preact'
import { cutInMiddle } from '../../../base/human.js'
import { BEHIND_MIN } from '../../../warehouse/views/needs-action-rules.js'
import type { Formats } from '../formats.js'
import { overview } from '../queries/overview.js'
import type { SurveyRow } from '../queries/survey.js'
import { keyOf, type ReportRows } from '../read.js'
import { SoldFigures } from './as-sold.js'
import { figuresOf } from './survey.js'
import { bounded, SqlOf } from './table.js'
import {
  Completion,
  type Figure,
  Figures,
  hasAccounts,
  More,
  Owner,
  type PartProps,
  plural,
  Quiet,
  quietUntil,
  SlowestSource,
  SourceName,
  SurveyLink,
  Title,
} from './words.js'

/** Surveys before the rest is folded: more than a laptop shows without scrolling. */
const SHOWN = 12
/** The longest text of a reason, because an error message would fill the row. A due date, a forecast and a pace take 90. */
const CHIP_CHARACTERS_MAX = 100
const SOURCES_NAMED_MAX = 3
/** The figures in the details. The row has the others. */
const SHOWN_FIGURES = ['Pace', 'Forecast', 'Due', 'Incidence', 'Drop-out']

type Reason = ReportRows['needsAction'][number]
interface Waiting extends Reason {
  readonly reasons: readonly Reason[]
}

export const Today = ({ page, page: { rows, formats } }: PartProps) => {
  const surveys = [...group(rows.needsAction, keyOf).values()].flatMap((reasons): Waiting[] => {
    const [first] = reasons
    return first === undefined ? [] : [{ ...first, reasons }]
  })
  const { shown, leftOut } = bounded(surveys, formats)
  const rest = shown.slice(SHOWN)
  return (
    <section id="action" aria-labelledby="action-title">
      <h2 id="action-title">Today</h2>
      {surveys.length === 0 ? (
        <p class="quiet">
          <span class="ok" aria-hidden="true" /> No survey needs action.
        </p>
      ) : (
        <>
          <p class="rule" data-list="needing-action">
            {`${formats.count(surveys.length)} ${plural(surveys.length, 'survey needs', 'surveys need')} action. The most urgent first.`}
          </p>
          <List of={shown.slice(0, SHOWN)} page={page} />
        </>
      )}
      {rest.length > 0 && (
        <More count={rest.length} formats={formats}>
          <List of={rest} page={page} />
          {leftOut}
        </More>
      )}
      <QuietSurveys page={page} />
      <SqlOf query={overview.needsAction} />
    </section>
  )
}

const List = ({ of, page }: PartProps & { readonly of: readonly Waiting[] }): JSX.Element => {
  // Only surveys with a section, because a page has no room for the numbers of a thousand surveys.
  const shown = page.rows.surveys.filter((survey) => page.sections.has(keyOf(survey)))
  const known = new Map(shown.map((survey) => [keyOf(survey), survey]))
  return (
    <ol class="today" data-query={overview.needsAction.name}>
      {of.map((waiting) => (
        <li>
          <details>
            <summary>
              <span>
                <b>
                  <Title of={waiting} />
                </b>
                <Origin of={waiting} page={page} />
              </span>
              <span>
                {waiting.reasons.map((reason) => (
                  <span class={`chip u${reason.urgency}`}>
                    <ReasonText of={reason} charactersMax={CHIP_CHARACTERS_MAX} />
                  </span>
                ))}
                <Quiet of={waiting} page={page} />
              </span>
              <span>
                <Completion of={waiting} formats={page.formats} />
              </span>
            </summary>
            <Details of={waiting} survey={known.get(keyOf(waiting))} page={page} />
          </details>
        </li>
      ))}
    </ol>
  )
}

interface ReasonProps {
  readonly of: Pick<Reason, 'text' | 'source_name' | 'supplier'>
  readonly charactersMax: number
}

/** The reason in words. The browser decides the direction of the source's name and of its supplier in it, which are cut first. */
const ReasonText = ({ of: { text, source_name, supplier }, charactersMax }: ReasonProps): JSX.Element => {
  const [before, name, afterName] = partsAround(text, '"', source_name ?? '', '"')
  if (name === '') return <>{cutInMiddle(text, charactersMax)}</>
  const [between, by, after] = partsAround(afterName, '(', supplier ?? '', ')')
  const left = charactersMax - before.length - between.length - after.length
  const byCut = cutInMiddle(by, Math.max(1, left - name.length, Math.floor(left / 2)))
  return (
    <>
      {before}
      <bdi>{cutInMiddle(name, Math.max(1, left - byCut.length))}</bdi>
      {between}
      {by !== '' && <bdi>{byCut}</bdi>}
      {after}
    </>
  )
}

/** What stands before, is, and stands after `part` between its marks. Without it, all is before. */
const partsAround = (text: string, opening: string, part: string, closing: string) => {
  const place = part === '' ? -1 : text.indexOf(opening + part + closing)
  if (place < 0) return [text, '', ''] as const
  const start = place + opening.length
  return [text.slice(0, start), part, text.slice(start + part.length)] as const
}

/** Surveys that the plan keeps quiet: they have no reason in the list but that they are late. */
const QuietSurveys = ({ page, page: { rows, formats } }: PartProps): JSX.Element | null => {
  const surveys = [...rows.quiet.values()]
  if (surveys.length === 0) return null
  return (
    <>
      <p class="rule" data-list={overview.quiet.name}>
        {`${formats.count(surveys.length)} ${plural(surveys.length, 'survey is', 'surveys are')} quiet by the plan, and would be here only if late: `}
        {surveys.slice(0, SHOWN).map((survey, index) => (
          <>
            {index === 0 ? '' : ', '}
            <SurveyLink survey={survey} page={page} /> {quietUntil(survey, page)}
          </>
        ))}
        {surveys.length > SHOWN && ` and ${formats.count(surveys.length - SHOWN)} more`}.
      </p>
      <SqlOf query={overview.quiet} />
    </>
  )
}

/** The user's own name of its project, and the account if there are several. */
const Origin = ({ of: { account, project_id }, page }: PartProps & { readonly of: Waiting }) => {
  const project = project_id === null || project_id === '' ? null : <bdi>{project_id}</bdi>
  if (!hasAccounts(page)) return project === null ? null : <small>{project}</small>
  return (
    <small>
      {project}
      {project !== null && ', '}
      {account}
    </small>
  )
}

interface DetailsProps extends PartProps {
  readonly of: Waiting
  /** Undefined if the survey has no section. */
  readonly survey: SurveyRow | undefined
}

const Details = ({ of, survey, page }: DetailsProps): JSX.Element => (
  <div data-of={keyOf(of)}>
    {of.reasons.map(
      ({ since, ...reason }) =>
        (since !== null || reason.text.length > CHIP_CHARACTERS_MAX) && (
          <p data-list="reasons">
            <ReasonText of={reason} charactersMax={Number.POSITIVE_INFINITY} />
            {since !== null && <small>{` since ${page.formats.instant(since)}`}</small>}
          </p>
        ),
    )}
    {survey === undefined ? (
      <p class="rule">This survey has no section on the page. The tables have its numbers.</p>
    ) : (
      <>
        <Figures figures={figuresOfDetails(survey, page.formats)} query="surveys" />
        <SoldFigures of={survey} formats={page.formats} />
        <SlowestSource of={survey} formats={page.formats} />
        <Owner of={survey} />
        {of.reasons.some(({ kind }) => kind === 'sources_behind') && <Behind of={of} page={page} />}
        <a href={`#${keyOf(of)}`}>Charts, sources and history</a>
      </>
    )}
  </div>
)

/** The incidence stands among the figures that were sold, if it was sold. */
const figuresOfDetails = (survey: SurveyRow, formats: Formats): readonly Figure[] =>
  figuresOf(survey, formats).filter(
    ([name]) => SHOWN_FIGURES.includes(name) && (name !== 'Incidence' || survey.sold_incidence === null),
  )

const Behind = ({ of, page: { rows, formats } }: PartProps & { readonly of: Waiting }): JSX.Element => (
  <p data-list="behind">
    Behind most:{' '}
    {(rows.sources.get(keyOf(of)) ?? [])
      .filter(
        ({ behind, sample_size }) =>
          behind !== null && sample_size !== null && sample_size > 0 && behind / sample_size >= BEHIND_MIN,
      )
      .slice(0, SOURCES_NAMED_MAX)
      .map(({ name, behind }, index) => (
        <>
          {index === 0 ? '' : ', '}
          <b>
            <SourceName name={name} />
          </b>{' '}
          by {formats.count(behind)}
        </>
      ))}
  </p>
)
