/** What needs action, the first thing on the page: one row per survey with its reasons, the most urgent first. */
import { group } from 'd3-array'
import { overview } from '../queries/overview.js'
import { keyOf } from '../read.js'
import { accountColumn } from './field.js'
import { QueryTable, SqlOf } from './table.js'
import { Completion, type PartProps, Project, SurveyLink } from './words.js'

/** Surveys before the rest is folded: more than a laptop shows without scrolling. */
const SHOWN = 12

export const Today = ({ page, page: { rows, formats } }: PartProps) => {
  const surveys = [...group(rows.needsAction, keyOf).values()].flatMap((reasons) => {
    const [first] = reasons
    return first === undefined ? [] : [{ ...first, reasons }]
  })
  const table = (shown: typeof surveys, caption: string) => (
    <QueryTable
      class="today"
      query={overview.needsAction}
      rows={shown}
      columns={[
        {
          head: 'Survey',
          cell: (row) => (
            <>
              <SurveyLink survey={row} page={page} />
              <Project of={row} />
            </>
          ),
        },
        ...accountColumn(page),
        {
          head: 'Why',
          isText: true,
          cell: ({ reasons }) =>
            reasons.map(({ urgency, text }) => <span class={`chip u${urgency}`}>{text}</span>),
        },
        { head: 'Complete', cell: (row) => <Completion of={row} formats={formats} /> },
      ]}
      caption={caption}
    />
  )
  const rest = surveys.slice(SHOWN)
  return (
    <section id="action" aria-labelledby="action-title">
      <h2 id="action-title">Today</h2>
      {surveys.length === 0 ? (
        <p class="quiet">
          <span class="ok" aria-hidden="true" /> No survey needs action.
        </p>
      ) : (
        table(surveys.slice(0, SHOWN), 'Surveys that need action, the most urgent first')
      )}
      {rest.length > 0 && (
        <details>
          <summary>{`${rest.length} more`}</summary>
          {table(rest, 'More surveys that need action')}
        </details>
      )}
      <SqlOf query={overview.needsAction} />
    </section>
  )
}
