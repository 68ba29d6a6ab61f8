/** Reads the parts of a report from its DOM, and what each must show, by plain queries and a formatter of its own. */
import type { Row } from '../warehouse/duckdb.js'

export interface TablePart {
  readonly query: string
  /** The section of a survey, such as `default/12`; null for the overview. */
  readonly survey: string | null
  readonly rows: readonly (readonly string[])[]
}

export interface PageParts {
  readonly tables: readonly TablePart[]
  readonly lists: readonly { readonly query: string; readonly survey: string | null; readonly text: string }[]
  readonly sql: Readonly<Record<string, string>>
  /** Texts with a digit that belong to no query and are no constant words of the page. */
  readonly others: readonly string[]
  readonly badges: readonly { readonly query: string; readonly text: string }[]
  /** The last point of the curve of each section. */
  readonly curves: Readonly<Record<string, { readonly last: number; readonly now: string }>>
}

/** An expression for the page. Texts of a cell are joined with a space. */
export const READ_PARTS = `(() => {
  const textOf = (node) => {
    const walker = document.createTreeWalker(node, NodeFilter.SHOW_TEXT)
    const texts = []
    while (walker.nextNode()) {
      const text = walker.currentNode.data.replace(/\\s+/g, ' ').trim()
      if (text !== '' && !walker.currentNode.parentElement.closest('button.copy')) texts.push(text)
    }
    return texts.join(' ')
  }
  const surveyOf = (node) => node.closest('.survey')?.id ?? null
  const all = (selector, within = document) => [...within.querySelectorAll(selector)]
  const walker = document.createTreeWalker(document.querySelector('.page'), NodeFilter.SHOW_TEXT)
  const others = []
  while (walker.nextNode()) {
    const { data, parentElement } = walker.currentNode
    if (/\\d/.test(data) && !parentElement.closest('[data-query], [data-list], pre, .chart, .rule, .badge, footer, h2 bdi')) others.push(data)
  }
  const valueAtEnd = (d) => {
    const numbers = (text) => (text.match(/-?\\d+/g) ?? []).map(Number)
    const [first, steps = ''] = d.slice(1).split(/[lh]/)
    return -(numbers(first)[1] + numbers(steps).filter((_, place) => place % 2 === 1).reduce((sum, y) => sum + y, 0))
  }
  return {
    tables: all('table[data-query]').map((table) => ({
      query: table.dataset.query,
      survey: surveyOf(table),
      rows: [...table.tBodies[0].rows].map((row) => [...row.cells].map(textOf)),
    })),
    lists: all('[data-list]').map((list) => ({ query: list.dataset.list, survey: surveyOf(list), text: textOf(list) })),
    sql: Object.fromEntries(all('.sql pre').map((pre) => [pre.id.slice('sql-'.length), pre.textContent])),
    others,
    badges: all('.badge').map((badge) => ({ query: badge.closest('article').querySelector('table').dataset.query, text: badge.textContent })),
    curves: Object.fromEntries(all('.survey').filter((one) => one.querySelector('.line')).map((one) => [one.id, { last: valueAtEnd(one.querySelector('.line').getAttribute('d')), now: one.querySelector('.now').textContent }])),
  }
})()`

const NONE = '–'
const LOCALE = 'en-GB'

/** Formats the values of rows. Instants are ISO 8601 texts, days are `2026-03-01`. */
const formatter = (timeZone: string) => {
  const number = (options: Intl.NumberFormatOptions) => (value: unknown) =>
    value === null ? NONE : Number(value).toLocaleString(LOCALE, options)
  const date = { day: 'numeric', month: 'short', year: 'numeric' } as const
  const day = (value: unknown): string =>
    value === null ? NONE : new Date(String(value)).toLocaleDateString(LOCALE, { ...date, timeZone: 'UTC' })
  return {
    count: number({}),
    rough: (value: unknown) =>
      number({ maximumFractionDigits: Math.abs(Number(value)) < 100 ? 1 : 0 })(value),
    rate: number({ style: 'percent', maximumFractionDigits: 0 }),
    fineRate: number({ style: 'percent', maximumFractionDigits: 1 }),
    signed: number({ signDisplay: 'exceptZero' }),
    instant: (value: unknown) =>
      value === null
        ? NONE
        : new Date(String(value)).toLocaleString(LOCALE, {
            ...date,
            hour: '2-digit',
            minute: '2-digit',
            hour12: false,
            timeZone,
          }),
    day,
    near: (value: unknown, other: unknown) =>
      Math.abs(Date.parse(String(value)) - Date.parse(String(other))) < 180 * 86_400_000
        ? day(value).replace(/ \d{4}$/, '')
        : day(value),
  }
}

const words = (...parts: readonly unknown[]): string =>
  parts
    .filter((part) => part !== null && part !== '')
    .join(' ')
    .replace(/\s+/g, ' ')
    .trim()
const spaced = (name: unknown): string => String(name).replaceAll('_', ' ')
const title = (row: Row): string => {
  const text = words(row.title)
  return text === '' ? '(no title)' : text
}

/** The cells that each row of a query must have on the page, with one account. */
export const cellsFor = (timeZone: string): Readonly<Record<string, (row: Row) => readonly string[]>> => {
  const f = formatter(timeZone)
  const complete = (row: Row) => words(f.count(row.interviews_count), 'of', f.count(row.sample_size))
  const change = (row: Row): string => {
    if (row.field === null) return spaced(row.kind)
    const status = row.field === 'status'
    const value = (text: unknown) =>
      status ? spaced(text ?? '') : words(text === null || text === '' ? 'none' : text)
    return words(status ? null : spaced(row.field), value(row.from_value), 'to', value(row.to_value))
  }
  const range = (row: Row, separator: string): string | null =>
    row.expected_from === null
      ? null
      : `${f.near(row.expected_from, row.expected_on)} ${separator} ${row.expected_to === null ? 'open' : f.near(row.expected_to, row.expected_on)}`
  const forecast = (row: Row): string => {
    if (Number(row.sample_size) > 0 && Number(row.interviews_count) >= Number(row.sample_size))
      return 'reached'
    return row.expected_on === null ? NONE : words(f.day(row.expected_on), range(row, '–'))
  }
  return {
    paused: (row) => [title(row), f.instant(row.since), complete(row)],
    'stands-still': (row) => [
      title(row),
      row.days === null ? 'never gained' : f.count(row.days),
      complete(row),
    ],
    far: (row) => [
      title(row),
      row.expected_on === null ? 'not in sight' : f.day(row.expected_on),
      complete(row),
    ],
    slips: (row) => [
      title(row),
      row.days_later === null ? 'not in sight' : `${f.count(row.days_later)} d`,
      f.day(row.expected_on),
    ],
    'sources-behind': (row) => [
      title(row),
      words(row.name, row.country_code),
      f.count(row.behind),
      f.signed(row.gained),
    ],
    'rates-moved': (row) => [
      title(row),
      words(f.rate(row.earlier_incidence_rate), 'to', f.rate(row.recent_incidence_rate)),
      words(f.rate(row.earlier_drop_out_rate), 'to', f.rate(row.recent_drop_out_rate)),
    ],
    stale: (row) => [
      title(row),
      row.refreshed_at === null ? 'never' : f.instant(row.refreshed_at),
      words(row.last_error ?? 'no run has reached it'),
    ],
    'in-field': (row) => [
      words(title(row), row.project_id, row.status === 'fieldwork' ? null : spaced(row.status)),
      words(f.rate(row.completion_rate), complete(row)),
      '',
      words(f.rough(row.per_day), f.signed(row.gained_last_day)),
      forecast(row),
      words(f.rate(row.recent_incidence_rate), f.rate(row.earlier_incidence_rate)),
      words(f.rate(row.recent_drop_out_rate), f.rate(row.earlier_drop_out_rate)),
      f.instant(row.refreshed_at),
    ],
    'beside-field': (row) => [title(row), spaced(row.status), f.instant(row.since), complete(row)],
    timeline: (row) => [title(row), '', spaced(row.status), f.instant(row.since)],
    changes: (row) => [
      words(title(row), row.name === null ? null : `source ${row.name}`),
      change(row),
      f.instant(row.observed_at),
    ],
    sources: (row) => [
      words(row.name, `${row.country_code}, ${spaced(row.provider)}`),
      words(f.rate(row.completion_rate), complete(row)),
      f.count(row.behind),
      f.signed(row.gained),
      f.day(row.expected_on),
      f.rate(row.target_incidence_rate),
      f.rate(row.drop_out_rate),
    ],
    history: (row) => [
      f.instant(row.observed_at),
      words(row.sample_source_id === null ? null : `source ${row.name ?? row.sample_source_id}`, change(row)),
    ],
    runs: (row) => [
      f.instant(row.started_at),
      words(row.status, row.reason),
      ...['seconds', 'requests', 'refusals', 'surveys_refreshed', 'left_over', 'rejected_rows'].map((name) =>
        f.count(row[name]),
      ),
    ],
    requests: (row) => [spaced(row.reason), f.count(row.made), f.count(row.saved)],
    queue: (row) => [spaced(row.reason), f.count(row.surveys), f.count(row.failed), f.instant(row.oldest_at)],
    problems: (row) => [
      words(row.what, `${spaced(row.kind)}, ${spaced(row.resource)}`),
      f.count(row.occurrences),
      f.instant(row.last_seen_at),
    ],
  }
}

/** The beginning of the page, with one account. */
export const asOfText = (timeZone: string, account: Row | undefined): string =>
  `As of ${formatter(timeZone).instant(account?.newest_at ?? null)} (${timeZone})`

/** The texts of the lists of a survey, in the order of the page. */
export const surveyTexts = (timeZone: string, row: Row): readonly string[] => {
  const f = formatter(timeZone)
  const rates = (recent: unknown, earlier: unknown) =>
    `last days ${f.rate(recent)}, before ${f.rate(earlier)}`
  const range =
    row.expected_on === null
      ? 'no forecast'
      : row.expected_from === null
        ? 'at this pace'
        : `${f.near(row.expected_from, row.expected_on)} to ${row.expected_to === null ? 'open' : f.near(row.expected_to, row.expected_on)}`
  const at = (value: unknown) => (value === null ? 'never' : f.instant(value))
  const length =
    row.length_of_interview === null ? NONE : `${f.rough(Number(row.length_of_interview) / 60)} min`
  const project = row.project_id === null || row.project_id === '' ? '' : `, project ${row.project_id}`
  return [
    words(spaced(row.status), `Survey ${row.survey_id}${project}`),
    words(
      ...[
        'Complete',
        f.fineRate(row.completion_rate),
        `${f.count(row.interviews_count)} of ${f.count(row.sample_size)}`,
      ],
      ...[
        'Pace',
        f.rough(row.per_day),
        row.pace_days === null
          ? 'a day'
          : `a day, ${f.signed(row.gained)} in ${row.pace_days} ${row.pace_days === 1 ? 'day' : 'days'}, ${f.signed(row.gained_last_day)} on the last`,
      ],
      ...['Forecast', f.day(row.expected_on), range],
      ...[
        'Incidence',
        f.fineRate(row.target_incidence_rate),
        rates(row.recent_incidence_rate, row.earlier_incidence_rate),
      ],
      ...[
        'Drop-out',
        f.fineRate(row.drop_out_rate),
        rates(row.recent_drop_out_rate, row.earlier_drop_out_rate),
      ],
      ...['Length', length, 'median'],
    ),
    words(
      ...[
        'First read',
        at(row._first_seen_at),
        'Survey',
        at(row.listed_at),
        'Progress',
        at(row.refreshed_at),
      ],
      ...[
        'List of sources',
        at(row.sources_listed_at),
        'Progress of sources',
        at(row.source_progress_read_at),
      ],
      ...['Last complete interview', at(row.last_gain_at)],
    ),
  ]
}
