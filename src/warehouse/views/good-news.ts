/** What got better, and soft launches that have passed: what a manager wants to know, and needs no action. */
import { columnsOf, json, varchar, varcharOf } from '../../model/columns.js'
import { ofSurvey } from '../../model/tables.js'
import { literal } from '../connection/ddl.js'
import { NEWEST_STEPS } from '../history/days.js'
import { IS_QUIET, needsAction } from './needs-action.js'
import {
  CHECKED_COUNTS,
  CHECKED_FACTS,
  dropOutFell,
  incidenceRose,
  LEVEL_INTERVIEWS_MIN,
  LEVELS_STEP,
  SOLD_INCIDENCE,
  TOTALS,
} from './needs-action-checks.js'
import { numbersSql, RULES } from './needs-action-rules.js'
import { columnsFrom, type ViewDeclaration } from './view-declaration.js'

/** Of a kind that `needs_action` has too. If its rule finds a reason, there is no news. */
const NEWS = [
  {
    kind: 'soft_launch',
    when: `is_soft_launch AND total_interviews >= ${LEVEL_INTERVIEWS_MIN}`,
    text: `'soft launch passed: ' || concat_ws(
      ', ',
      ${TOTALS.map(({ hasFloor, text }) => `CASE WHEN ${hasFloor} THEN ${text} END`).join(',\n      ')}
    )`,
    numbers: Object.assign({}, SOLD_INCIDENCE, ...TOTALS.map(({ numbers }) => numbers)),
  },
  { kind: 'incidence', ...incidenceRose, when: `is_collecting AND ${incidenceRose.when}` },
  { kind: 'drop_out', ...dropOutFell, when: `is_collecting AND ${dropOutFell.when}` },
]

const copied = columnsFrom(needsAction, ['account', 'survey_id', 'title', 'project_id', 'status'])

export const goodNews: ViewDeclaration = {
  schema: 'main',
  name: 'good_news',
  comment:
    'What got better, and soft launches that have passed: one row per survey and kind, without those that needs_action has. A survey that the plan keeps quiet has none',
  key: ['account', 'survey_id', 'kind'],
  references: ofSurvey,
  columns: [
    ...copied,
    ...columnsOf({
      kind: varcharOf(
        NEWS.map(({ kind }) => kind),
        'What is good',
      ),
      text: varchar('The news in words, with its numbers'),
      numbers: json('Every number of the text, by name'),
    }),
  ],
  sql: `WITH ${NEWEST_STEPS},
${LEVELS_STEP},
counts AS (
  SELECT p.*, n.today, v.*, ${CHECKED_COUNTS}
  FROM main.active_survey_pace p
  JOIN newest n ON n.account = p.account
  JOIN main.survey_progress g ON g.account = p.account AND g.survey_id = p.survey_id
  JOIN main.freshness f ON f.account = p.account AND f.survey_id = p.survey_id
  CROSS JOIN levels v
  WHERE f.excluded_by IS NULL
),
facts AS (
  SELECT *, ${CHECKED_FACTS}
  FROM counts
  WHERE NOT ${IS_QUIET}
),
news AS (
  SELECT *, unnest([
    ${RULES.flatMap((alarm) =>
      NEWS.filter(({ kind }) => kind === alarm.kind).map(
        ({ kind, when, text, numbers }) => `CASE
      WHEN ${when} AND NOT coalesce(${alarm.when}, false)
        THEN {'kind': ${literal(kind)}, 'text': ${text}, 'numbers': ${numbersSql(numbers)}}
    END`,
      ),
    ).join(',\n    ')}
  ]) AS item
  FROM facts
)
SELECT
  i.account, i.survey_id, i.title, i.project_id, i.status,
  i.item.kind COLLATE C AS kind,
  i.item.text COLLATE C AS text,
  i.item.numbers
FROM news i
WHERE i.item IS NOT NULL`,
}
