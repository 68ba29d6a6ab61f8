/**
 * What a fieldwork manager should look at first: one row per survey and reason. The report shows these rows, and has no rules of its own. Ages count from the newest reading of the account, by the server's clock.
 */
import { bigint, columnsOf, json, timestamptz, varchar, varcharOf } from '../../model/columns.js'
import type { InterviewStatus } from '../../model/fields.js'
import { deadlines, ofSurvey, sampleSourceProgress, surveys } from '../../model/tables.js'
import { INACTIVE_STATUSES } from '../../rules/refresh.js'
import { literal, selected } from '../connection/ddl.js'
import { hoursBefore, utcDay } from '../history/compaction.js'
import { FORECAST_PACE_DAYS_MIN, OBSERVED_DAYS, surveyPace } from './pace.js'
import { columnOf, columnsFrom, type ViewDeclaration } from './view-declaration.js'

/** Fieldwork is running or paused. */
export const IN_FIELD = `('fieldwork', 'deviating_from_specs')`

/** Nobody waits for interviews of these. */
export const CLOSED = `(${INACTIVE_STATUSES.map(literal).join(', ')})`

/** Interviews that were complete, but are of poor quality. */
export const QUALITY_REJECTS = [
  'speeder',
  'straightliner',
  'failed_quality_check',
  'inappropriate_language',
] as const satisfies readonly InterviewStatus[]

/** Without a due date, few surveys are planned for longer than a quarter. */
const FAR_DAYS = 90
const STANDS_STILL_DAYS = 3
const SLIP_DAYS = 3
/** Parts of a whole. */
export const BEHIND_MIN = 0.1
const [RATE_MOVED_MIN, REJECTED_MIN] = [0.1, 0.15]
/** With fewer interviews, a rate says little. */
const INTERVIEWS_MIN = 20

const percent = (rate: string): string => `CAST(round(100 * ${rate}) AS BIGINT) || '%'`
const moved = (rate: string): string => `abs(recent_${rate} - earlier_${rate}) >= ${RATE_MOVED_MIN}`
/** `1 day`, `2 days` */
const counted = (count: string, one: string): string =>
  `${count} || CASE WHEN ${count} = 1 THEN ' ${one}' ELSE ' ${one}s' END`
const movedText = (rate: string, word: string): string =>
  `CASE WHEN ${moved(rate)} THEN '${word} from ' || ${percent(`earlier_${rate}`)} || ' to ' || ${percent(`recent_${rate}`)} END`

/** The rules, in SQL over the columns of `facts`. */
interface Rule {
  /** 0: late for a customer; 1: somebody should act today; 3: worth a look. */
  readonly urgency: 0 | 1 | 2 | 3
  readonly when: string
  readonly since?: string
  readonly text: string
  /** The numbers in the text, by name. */
  readonly numbers?: Readonly<Record<string, string>>
  /** The source that the reason is about. */
  readonly sourceId?: string
}

const OPEN = `status = 'fieldwork' AND coalesce(interviews_count < sample_size, true)`

const MONTHS = [
  ...['January', 'February', 'March', 'April', 'May', 'June', 'July'],
  ...['August', 'September', 'October', 'November', 'December'],
]
/** `12 March`, and the year if it is not that of the newest reading. */
const dayText = (day: string): string =>
  `day(${day}) || ' ' || [${MONTHS.map(literal).join(', ')}][month(${day})]
          || CASE WHEN year(${day}) = year(${utcDay('n.newest_at')}) THEN '' ELSE ' ' || year(${day}) END`
/** Interviews a day, rounded so that the needed ones are never fewer than they are. Below 10, a tenth counts. */
const perDay = (rate: string, round: 'ceil' | 'floor'): string =>
  `CASE WHEN ${rate} < 10 THEN replace(CAST(${round}(round(10 * ${rate}, 6)) / 10 AS VARCHAR), '.0', '')
      ELSE CAST(CAST(${round}(round(${rate}, 6)) AS BIGINT) AS VARCHAR) END`
const NEEDED = `': needs ' || ${perDay('needed_per_day', 'ceil')} || ' a day' || CASE WHEN per_day > 0
      THEN CASE WHEN status = 'fieldwork' THEN ', has ' ELSE ', had ' END || ${perDay('per_day', 'floor')} ELSE '' END`
const MISSING = `', ' || (sample_size - interviews_count) || ' missing'`
const DUE = {
  needed_per_day: perDay('needed_per_day', 'ceil'),
  per_day: perDay('per_day', 'floor'),
  missing: 'sample_size - interviews_count',
}

const RULES: Readonly<Record<string, Rule>> = {
  late: {
    urgency: 0,
    when: `deadline = 'late'`,
    text: `CASE WHEN due_on < ${utcDay('newest_at')} THEN 'was due ' ELSE 'due ' END || due_text || CASE
      WHEN needed_per_day IS NULL THEN ${MISSING}
      ELSE CASE WHEN status = 'deviating_from_specs' THEN ', paused' WHEN expected_on IS NOT NULL THEN ', expected ' || expected_text
        WHEN gained > 0 THEN ', out of sight' ELSE ', stands still' END || ${NEEDED} END`,
    numbers: { ...DUE, days_late: 'expected_on - due_on' },
  },
  at_risk: {
    urgency: 2,
    when: `deadline = 'at_risk'`,
    text: `'due ' || due_text || CASE WHEN needed_per_day IS NULL THEN ${MISSING}
      ELSE CASE WHEN status = 'deviating_from_specs' THEN ', paused'
        ELSE ', expected ' || expected_text || coalesce(' or as late as ' || latest_text, ' or far later') END || ${NEEDED} END`,
    numbers: { ...DUE, days_late: 'expected_to - due_on' },
  },
  paused: {
    urgency: 1,
    when: `status = 'deviating_from_specs'`,
    since: 'status_since',
    text: `'paused' || CASE WHEN paused_days > 0 THEN ' for ' || ${counted('paused_days', 'day')} ELSE '' END`,
    numbers: { days: 'paused_days' },
  },
  stands_still: {
    urgency: 1,
    when: `${OPEN} AND epoch_us(still_since) < ${hoursBefore('refreshed_at', 24 * STANDS_STILL_DAYS)}`,
    since: 'still_since',
    text: `'no complete interview for ' || ${counted('still_days', 'day')}`,
    numbers: { days: 'still_days' },
  },
  over_target: {
    urgency: 1,
    when: `status = 'fieldwork' AND sample_size > 0 AND interviews_count > sample_size`,
    text: `'over target by ' || (interviews_count - sample_size) || ', still open'`,
    numbers: { over: 'interviews_count - sample_size' },
  },
  slips: {
    urgency: 2,
    when: `${OPEN} AND expected_before IS NOT NULL AND pace_days >= ${FORECAST_PACE_DAYS_MIN}
        AND (expected_on IS NULL OR (expected_on >= expected_before + ${SLIP_DAYS} AND expected_from > expected_before))`,
    text: `coalesce('slips ' || (expected_on - expected_before) || ' days', 'slips out of sight')`,
    numbers: { days_later: 'expected_on - expected_before' },
  },
  far: {
    urgency: 2,
    // One that stands still has a reason of its own. A pace of one or two days says too little.
    when: `${OPEN} AND pace_days >= 3 AND ${FAR_DAYS} * per_day < sample_size - interviews_count
        AND epoch_us(still_since) >= ${hoursBefore('refreshed_at', 24 * STANDS_STILL_DAYS)}`,
    text: `coalesce('target in ' || (expected_on - ${utcDay('refreshed_at')}) || ' days', 'target out of sight')`,
    numbers: { days: `expected_on - ${utcDay('refreshed_at')}` },
  },
  quality_rejects: {
    urgency: 2,
    when: `status IN ${IN_FIELD} AND complete + rejected >= ${INTERVIEWS_MIN}
        AND rejected >= ${REJECTED_MIN} * (complete + rejected)`,
    text: `${percent('CAST(rejected AS DOUBLE) / (complete + rejected)')} || ' rejected for quality'`,
    numbers: { rejected: 'rejected', complete: 'complete' },
  },
  sources_behind: {
    urgency: 3,
    when: `status IN ${IN_FIELD} AND sources_behind > 0`,
    sourceId: 'source_behind_most',
    text: `${counted('sources_behind', 'source')} || ' behind, by ' || ${counted('behind', 'interview')}`,
    numbers: { sources: 'sources_behind', behind: 'behind' },
  },
  rates_moved: {
    urgency: 3,
    when: `status = 'fieldwork' AND gained >= ${INTERVIEWS_MIN} AND (${moved('incidence_rate')} OR ${moved('drop_out_rate')})`,
    text: `concat_ws(', ', ${movedText('incidence_rate', 'incidence')}, ${movedText('drop_out_rate', 'drop-out')})`,
  },
  stale: {
    urgency: 3,
    when: `status NOT IN ${CLOSED}
        AND coalesce(epoch_us(refreshed_at) < ${hoursBefore('newest_at', 24)} OR last_error IS NOT NULL, true)`,
    since: 'refreshed_at',
    text: `CASE WHEN last_error IS NULL THEN 'not reached by the last runs'
      WHEN parts_of IS NULL THEN 'not read completely' ELSE 'too large for one run: read in parts' END`,
    numbers: { requests: 'parts_of' },
  },
}

const reason = (kind: string, rule: Rule): string => {
  const { urgency, when, since = 'NULL', text, numbers = {}, sourceId = 'NULL' } = rule
  const pairs = Object.entries(numbers).map(
    ([name, sql]) =>
      `${literal(name)}, TRY_CAST(${sql} AS ${name.endsWith('per_day') ? 'DOUBLE' : 'BIGINT'})`,
  )
  return `CASE WHEN ${when} THEN {'kind': ${literal(kind)}, 'urgency': CAST(${urgency} AS BIGINT), 'since': CAST(${since} AS TIMESTAMPTZ),
          'text': ${text}, 'numbers': json_object(${pairs.join(', ')}), 'sample_source_id': CAST(${sourceId} AS BIGINT)} END`
}

const REASONS = Object.entries(RULES).map(([kind, rule]) => reason(kind, rule))

/** What was known so many hours before the last reading. The numbers of the API may be so far apart that their difference is no BIGINT. */
const known = (column: string, hours: number): string =>
  `CAST(max_by(h.${column}, h.observed_at) FILTER (epoch_us(h.observed_at) < ${hoursBefore('p.refreshed_at', hours)}) AS DOUBLE)`

/**
 * The forecast of a week ago, from the pace of the week before it, where both ends of that week were read. A night's reading may come some
 * hours later than the one before.
 */
const FORECASTS = `SELECT account, survey_id, ${utcDay('refreshed_at')} - 7 + CAST(ceil(days) AS INTEGER) AS expected_before
      FROM (SELECT *, CASE WHEN week_ago > two_weeks_ago AND week_ago < target THEN 7 * (target - week_ago) / (week_ago - two_weeks_ago) END AS days
        FROM (SELECT h.account, h.survey_id, any_value(p.refreshed_at) AS refreshed_at, ${known('sample_size', 156)} AS target,
            ${known('interviews_count', 156)} AS week_ago, ${known('interviews_count', 324)} AS two_weeks_ago
          FROM main.survey_progress_history h JOIN pace p ON p.account = h.account AND p.survey_id = h.survey_id
          WHERE p.status = 'fieldwork' GROUP BY ALL)) x
      SEMI JOIN observed_weeks w ON w.account = x.account AND w."day" = ${utcDay('x.refreshed_at')} - 7
      WHERE days <= 3650`

const OF_SURVEY = ['account', 'survey_id', 'title', 'project_id', 'status', 'refreshed_at']
const isOfPace = ({ name }: { readonly name: string }): boolean => !OF_SURVEY.includes(name)

export const needsAction: ViewDeclaration = {
  schema: 'main',
  name: 'needs_action',
  comment:
    'What needs action: one row per survey and reason; of surveys that the API shows and the settings do not exclude',
  key: ['account', 'survey_id', 'kind'],
  sortedBy: ['urgency', 'due_on', 'account', 'survey_id', 'kind'],
  references: ofSurvey,
  columns: [
    ...columnsFrom(sampleSourceProgress, ['account', 'survey_id']),
    ...columnsFrom(surveys, ['title', 'project_id', 'status']),
    ...columnsOf({
      kind: varcharOf(Object.keys(RULES), 'The reason'),
      urgency: bigint('0 = late for its due date, 1 = somebody should act today, 2 = soon, 3 = worth a look'),
      since: timestamptz.orNull('Since when, server time; null if no reading says'),
      text: varchar('The reason in words, with its numbers'),
      numbers: json('The numbers in the text, by name'),
    }),
    columnOf(deadlines, 'due_on', {
      nullable: true,
      comment:
        'Due date of the survey, or else of its project; null without one. Of two equally urgent reasons, the earlier is first',
    }),
    columnOf(sampleSourceProgress, 'sample_source_id', {
      nullable: true,
      comment: 'ID of the source that is behind most; null for other reasons',
    }),
  ],
  sql: `WITH pace AS MATERIALIZED (
      FROM main.survey_pace
    ), observed_days AS MATERIALIZED (
      ${OBSERVED_DAYS}
    ), observed_weeks AS (
      SELECT d.account, d."day" FROM observed_days d JOIN observed_days w ON w.account = d.account AND w."day" = d."day" - 7
    ), forecasts AS (
      ${FORECASTS}
    ), facts AS (
      SELECT s.account, s.id AS survey_id, s.title, s.project_id, s.status, n.newest_at, f.refreshed_at, f.last_error, c.status_since,
        CASE WHEN t.last_error IS NOT NULL THEN t.requests_needed END AS parts_of,
        ${selected(surveyPace.columns.filter(isOfPace), 'p')}, o.expected_before,
        greatest(p.last_gain_at, c.status_since) AS still_since,
        ${dayText('p.due_on')} AS due_text, ${dayText('p.expected_on')} AS expected_text, ${dayText('p.expected_to')} AS latest_text,
        ${utcDay('n.newest_at')} - ${utcDay('c.status_since')} AS paused_days,
        ${utcDay('f.refreshed_at')} - ${utcDay('greatest(p.last_gain_at, c.status_since)')} AS still_days,
        CAST(coalesce(g.complete_individuals, 0) AS HUGEINT) AS complete,
        ${QUALITY_REJECTS.map((status) => `CAST(coalesce(g.${status}_individuals, 0) AS HUGEINT)`).join(' + ')} AS rejected,
        b.sources_behind, b.behind, b.source_behind_most
      FROM main.surveys s
      JOIN (SELECT account, max(greatest(listed_at, refreshed_at)) AS newest_at FROM main.freshness GROUP BY account) n ON n.account = s.account
      LEFT JOIN main.freshness f ON f.account = s.account AND f.survey_id = s.id
      LEFT JOIN _sync.tasks t ON t.account = s.account AND t.survey_id = s.id
      LEFT JOIN pace p ON p.account = s.account AND p.survey_id = s.id
      LEFT JOIN main.survey_progress g ON g.account = s.account AND g.survey_id = s.id
      LEFT JOIN forecasts o ON o.account = s.account AND o.survey_id = s.id
      LEFT JOIN (SELECT account, survey_id, max(observed_at) AS status_since FROM main.survey_status_changes GROUP BY ALL) c
        ON c.account = s.account AND c.survey_id = s.id
      LEFT JOIN (SELECT account, survey_id, count(*) AS sources_behind, sum(behind) AS behind,
          first(sample_source_id ORDER BY behind DESC, sample_source_id ASC) AS source_behind_most
        FROM main.sample_source_pace WHERE behind >= ${BEHIND_MIN} * sample_size AND behind > 0 GROUP BY ALL) b
        ON b.account = s.account AND b.survey_id = s.id
      WHERE s._missing_since IS NULL AND f.excluded_by IS NULL
    )
    SELECT account, survey_id, title, project_id, status, reason.kind COLLATE C AS kind, reason.urgency, reason.since,
      reason.text COLLATE C AS text, reason.numbers, due_on, reason.sample_source_id
    FROM (SELECT *, unnest([${REASONS.join(',\n        ')}]) AS reason FROM facts)
    WHERE reason IS NOT NULL`,
}
