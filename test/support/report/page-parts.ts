/** Compares the parts of a report in a browser with the rows of the SQL that the page offers, by a formatter of its own. */
import { expect } from 'vitest'
import type { ChromiumPage } from '../process/chromium.js'
import { openReader, type Row } from '../warehouse/duckdb.js'

interface PageParts {
  /** `survey` is the section of a survey, such as `default/12`; null for the overview. */
  readonly tables: readonly {
    readonly query: string
    readonly survey: string | null
    readonly rows: readonly (readonly string[])[]
  }[]
  /** Those of Today have details of a survey. */
  readonly lists: readonly {
    readonly query: string
    readonly survey: string | null
    readonly isDetails: boolean
    readonly text: string
  }[]
  readonly sql: Readonly<Record<string, string>>
  /** Texts with a digit that belong to no query and are no constant words of the page. */
  readonly others: readonly string[]
  /** The last point of the curve of each section. */
  readonly curves: Readonly<
    Record<string, { readonly last: number; readonly lastDay: number; readonly now: string }>
  >
}

/** What is compared: the parts of the page, and the rows of its queries. */
interface Comparison {
  readonly parts: PageParts
  readonly rowsOf: (query: string) => Promise<Row[]>
  readonly timeZone: string
}

/** Returns the number of compared rows. */
export const compareWithQueries = async (
  page: ChromiumPage,
  published: string,
  timeZone: string,
): Promise<number> => {
  const parts = (await page.waitFor(READ_PARTS)) as PageParts
  using reader = await openReader(published)
  await reader.query(`SET TimeZone = 'UTC'`)
  const results = new Map<string, Row[]>()
  const rowsOf = async (name: string): Promise<Row[]> => {
    const found = results.get(name)
    if (found !== undefined) return found
    const sql = parts.sql[name]
    if (sql === undefined) throw new Error(`the page has no SQL of ${name}`)
    const columns = (await reader.query(`DESCRIBE ${sql}`)).map(
      ({ column_name: column, column_type: type }) =>
        type === 'DATE' ? `CAST("${column}" AS VARCHAR) AS "${column}"` : `"${column}"`,
    )
    const rows = await reader.query(`SELECT ${columns.join(', ')} FROM (${sql})`)
    results.set(name, rows)
    return rows
  }
  const comparison = { parts, rowsOf, timeZone }
  const compared = await compareTables(comparison)
  const surveys = await rowsOf('surveys')
  for (const row of surveys) await compareSurvey(comparison, row)
  await compareOverview(comparison)
  // Nothing else on the page has a number.
  expect(parts.others.filter((text) => !/^(28 days|\d+ more|Answers 429)$/.test(text))).toEqual([])
  return compared + surveys.length
}

const number = (value: unknown) => Number(value).toLocaleString(LOCALE)

/** Returns the number of compared rows. */
const compareTables = async ({ parts, rowsOf, timeZone }: Comparison): Promise<number> => {
  const newest =
    (await rowsOf('as-of'))
      .map(({ newest_at }) => String(newest_at))
      .toSorted()
      .at(-1) ?? ''
  const cells = cellsFor(timeZone, newest, await quietRows({ parts, rowsOf }))
  let compared = 0
  const shown = new Map<string, string[][]>()
  for (const { query, survey, rows } of parts.tables) {
    const key = `${query} ${survey ?? ''}`
    shown.set(key, [...(shown.get(key) ?? []), ...rows.map((row) => [...row])])
  }
  for (const [key, rows] of shown) {
    const [query = '', survey = ''] = key.split(' ')
    const found = await rowsOf(query)
    const all = query === 'timeline' ? lastOfEach(found) : query === 'needs-action' ? together(found) : found
    const expected = all.filter((row) => survey === '' || keyOf(row) === survey)
    const texts = expected.slice(0, query === 'history' ? 12 : undefined).map(cells[query] ?? (() => ['?']))
    expect(rows, key).toEqual(query === 'source-quality' ? withoutEmptyColumns(texts) : texts)
    compared += expected.length
  }
  return compared
}

/** No page has the SQL of rows that no survey has. */
const quietRows = async ({ parts, rowsOf }: Pick<Comparison, 'parts' | 'rowsOf'>): Promise<readonly Row[]> =>
  parts.sql.quiet === undefined ? [] : await rowsOf('quiet')

const compareSurvey = async ({ parts, rowsOf, timeZone }: Comparison, row: Row): Promise<void> => {
  const ofSurvey = async (name: string) => (await rowsOf(name)).filter((one) => keyOf(one) === keyOf(row))
  const textsOf = (name: string, isDetails = false) =>
    parts.lists
      .filter((list) => list.query === name && list.survey === keyOf(row) && list.isDetails === isDetails)
      .map(({ text }) => text)
  const texts = surveyTexts(timeZone, row, await quietRows({ parts, rowsOf }))
  expect(textsOf('surveys')).toEqual(texts)
  const interviews = await ofSurvey('interviews')
  expect(textsOf('interviews')).toEqual(interviews.length === 0 ? [] : interviewTexts(interviews))
  const curve = parts.curves[keyOf(row)]
  if (curve !== undefined)
    expect(curve).toMatchObject({ last: row.interviews_count, now: number(row.interviews_count) })
  expect(textsOf('observations')).toEqual([
    curve === undefined ? 'Complete interviews' : curveTitle(await ofSurvey('observations'), curve.lastDay),
  ])
  const reasons = await ofSurvey('needs-action')
  if (reasons.length === 0) return
  // A due date is said in the numbers of the row of Today.
  const [needs] = reasons.flatMap(({ text }) => /: (needs .*)$/.exec(String(text))?.[1] ?? [])
  if (needs !== undefined) expect(texts[1]?.replaceAll(/(?<=\d),(?=\d)/g, '')).toContain(`: ${needs}`)
  // What stands in the row of Today already is not repeated below it.
  const [figures = '', ...others] = texts.slice(1, -1)
  const isSold = row.sold_incidence !== null
  expect(textsOf('surveys', true).toSorted()).toEqual(
    [
      figures
        .replace(/^Complete .*? (?=Pace )| Length .*$/g, '')
        .replace(isSold ? / Incidence .*?(?= Drop-out )/ : '', ''),
      ...others,
    ].toSorted(),
  )
  const behind = (await ofSurvey('sources')).filter(
    (one) => Number(one.behind) > 0 && Number(one.behind) >= Number(one.sample_size) / 10,
  )
  const named = behind.slice(0, 3).map((one) => words(one.name, 'by', number(one.behind)))
  expect(textsOf('behind', true)).toEqual(
    reasons.some(({ kind }) => kind === 'sources_behind') ? [`Behind most: ${named.join(', ')}`] : [],
  )
  expect(textsOf('reasons', true)).toEqual(
    reasons.flatMap((reason) =>
      reason.since === null
        ? []
        : [words(reasonText(reason), 'since', formatter(timeZone).instant(reason.since))],
    ),
  )
}

const compareOverview = async ({ parts, rowsOf, timeZone }: Comparison): Promise<void> => {
  const textIn = (name: string) => parts.lists.find(({ query }) => query === name)?.text ?? ''
  const counted = (count: number, one: string, many: string, rest: string) =>
    count === 0 ? '' : `${count} ${count === 1 ? one : many} ${rest}`
  const [account] = await rowsOf('as-of')
  expect(textIn('as-of')).toBe(asOfText(timeZone, account))
  const [total] = await rowsOf('totals')
  expect(textIn('totals')).toContain(`In the field ${number(total?.surveys)} `)
  expect(textIn('totals')).toContain(
    `Complete ${number(total?.interviews_count)} of ${number(total?.sample_size)}, `,
  )
  const signed = (value: unknown) =>
    value === null ? NONE : Number(value).toLocaleString(LOCALE, { signDisplay: 'exceptZero' })
  expect(textIn('totals')).toContain(
    words(
      ...[
        total?.newest_gain_days === 1 || total?.newest_gain_days === null
          ? 'Gained since yesterday'
          : `Gained in ${total?.newest_gain_days} days`,
      ],
      signed(total?.newest_gain),
      total?.week_gain === null
        ? ''
        : `${signed(total?.week_gain)} in the last ${total?.week_gain_days === 1 ? 'day' : `${total?.week_gain_days} days`}, by all surveys`,
    ),
  )
  for (const { changes, is_source } of await rowsOf('change-counts'))
    expect(textIn('change-counts')).toContain(
      `${number(changes)} ${is_source === true ? 'source' : 'survey'}`,
    )
  expect(textIn('needing-action')).toBe(
    counted(
      together(await rowsOf('needs-action')).length,
      'survey needs',
      'surveys need',
      'action. The most urgent first.',
    ),
  )
  expect(textIn('changed-status')).toBe(
    counted(
      // Without changes there is no timeline.
      lastOfEach(parts.sql.timeline === undefined ? [] : await rowsOf('timeline')).length,
      'survey',
      'surveys',
      'changed status in the last two weeks',
    ),
  )
  const [last] = (await rowsOf('runs')).filter(({ command }) => command === 'sync')
  expect(textIn('last-run')).toMatch(
    new RegExp(`^The last run was ${last?.status}: ${number(last?.surveys_refreshed)} surveys? w`),
  )
}

const withoutEmptyColumns = (rows: readonly (readonly string[])[]): readonly (readonly string[])[] =>
  rows.map((row) => row.filter((_, column) => rows.some((other) => other[column] !== NONE)))

const keyOf = (row: Row): string => `${row.account}/${row.survey_id}`

/** The status that each survey has now, in the order of the rows. */
const lastOfEach = (rows: readonly Row[]): readonly Row[] => [
  ...new Map(rows.map((row) => [keyOf(row), row])).values(),
]

/** A row for each survey, with the texts of all its reasons. */
const together = (rows: readonly Row[]): readonly Row[] =>
  [...new Set(rows.map(keyOf))].flatMap((key) => {
    const reasons = rows.filter((row) => keyOf(row) === key)
    return [{ ...reasons[0], text: words(...reasons.map(reasonText)) }]
  })

/** The name of a source and its supplier are texts of their own in the sentence. */
const reasonText = ({ text, source_name: name, supplier }: Row): string =>
  words(
    String(text)
      .replace(`"${name}"`, () => `" ${name} "`)
      .replace(`(${supplier})`, () => `( ${supplier} )`),
  )

/** An expression for the page. Texts of a cell are joined with a space. */
const READ_PARTS = `(() => {
  const textOf = (node) => {
    const walker = document.createTreeWalker(node, NodeFilter.SHOW_TEXT)
    const texts = []
    while (walker.nextNode()) {
      const text = walker.currentNode.data.replace(/\\s+/g, ' ').trim()
      if (text !== '' && !walker.currentNode.parentElement.closest('button.copy')) texts.push(text)
    }
    return texts.join(' ')
  }
  const surveyOf = (node) => node.closest('.survey')?.id ?? node.closest('[data-of]')?.dataset.of ?? null
  const all = (selector, within = document) => [...within.querySelectorAll(selector)]
  const walker = document.createTreeWalker(document.querySelector('.page'), NodeFilter.SHOW_TEXT)
  const others = []
  while (walker.nextNode()) {
    const { data, parentElement } = walker.currentNode
    if (/\\d/.test(data) && !parentElement.closest('[data-query], [data-list], pre, .chart, .rule, .legend, .axis, footer, h2 bdi')) others.push(data)
  }
  const valueAtEnd = (d) => {
    const numbers = (text) => (text.match(/-?\\d+/g) ?? []).map(Number)
    const [first, steps = ''] = d.slice(1).split(/[lh]/)
    const last = (axis) => numbers(first)[axis] + numbers(steps).filter((_, place) => place % 2 === axis).reduce((sum, value) => sum + value, 0)
    return { x: last(0), y: -last(1) }
  }
  const curveOf = (section) => {
    const chart = section.querySelector('.line').closest('.chart')
    const { x, y } = valueAtEnd(section.querySelector('.line').getAttribute('d'))
    return { last: y, lastDay: Number(chart.dataset.x.split(' ')[0]) + x, now: section.querySelector('.now').textContent }
  }
  return {
    tables: all('[data-query]').map((table) => ({
      query: table.dataset.query,
      survey: surveyOf(table),
      rows: all('tbody tr, summary', table).map((row) => [...row.children].map(textOf)),
    })),
    lists: all('[data-list]').map((list) => ({
      query: list.dataset.list,
      survey: surveyOf(list),
      isDetails: list.closest('[data-of]') !== null,
      text: textOf(list),
    })),
    sql: Object.fromEntries(all('.sql pre').map((pre) => [pre.id.slice('sql-'.length), pre.textContent])),
    others,
    curves: Object.fromEntries(all('.survey').filter((one) => one.querySelector('.line')).map((one) => [one.id, curveOf(one)])),
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
    minutes: number({ minimumFractionDigits: 1, maximumFractionDigits: 1 }),
    signed: number({ signDisplay: 'exceptZero' }),
    money: (value: unknown, currency: unknown) => {
      const digits = Number(value) < 100 ? 2 : 0
      return `${number({ minimumFractionDigits: digits, maximumFractionDigits: digits })(value)} ${currency}`
    },
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
    range: ({ expected_from: from, expected_on: on, expected_to: to }: Row, separator: string) => {
      const near = (value: unknown) =>
        Math.abs(Date.parse(String(value)) - Date.parse(String(on))) < 180 * 86_400_000
          ? day(value).replace(/ \d{4}$/, '')
          : day(value)
      if (from === null) return null
      return to === null ? `from ${near(from)}, no latest day` : `${near(from)} ${separator} ${near(to)}`
    },
  }
}

const words = (...parts: readonly unknown[]): string =>
  parts
    .filter((part) => part !== null && part !== '')
    .join(' ')
    .replace(/\s+/g, ' ')
    .trim()
const spaced = (name: unknown): string => String(name).replaceAll('_', ' ')
const PLAIN: Readonly<Record<string, string>> = {
  fieldwork: 'in the field',
  deviating_from_specs: 'paused',
  user_demo: 'demo',
}
const statusText = (status: unknown): string => PLAIN[String(status)] ?? spaced(status)
/** What the value was before, if it reads differently. */
const was = (recent: string, earlier: string): string | null =>
  earlier === NONE || earlier === recent ? null : `was ${earlier}`
const title = (row: Row): string => {
  const text = words(row.title)
  const long = [...text].length > 60
  return text === '' ? '(no title)' : long ? text.replace(/^(.{29}).*(.{30})$/su, '$1…$2') : text
}

/** Of a survey that was in the field for fewer than two whole days. */
const tooEarly = (row: Row): string | null =>
  row.status === 'fieldwork' && Number(row.pace_days) < 2 ? 'too early to say' : null

const newestGain = ({ signed }: ReturnType<typeof formatter>, row: Row): string =>
  Number(row.newest_gain_days) > 1
    ? `${signed(row.newest_gain)} in ${row.newest_gain_days} days`
    : signed(row.newest_gain)

const quietText = (row: Row, quiet: readonly Row[]): string | null => {
  const found = quiet.find((one) => keyOf(one) === keyOf(row))
  return found === undefined
    ? null
    : `quiet until ${formatter('UTC')
        .day(found.quiet_until)
        .replace(/ \d{4}$/, '')}`
}

const due = ({ deadline, needed_text: needed }: Row): string =>
  [deadline === null ? null : spaced(deadline), needed].filter((part) => part !== null).join(': ')

/** The year of a forecast is that of the due date, unless they are far apart. */
const dueIn = ({ day }: ReturnType<typeof formatter>, row: Row): string | null => {
  if (row.due_on === null) return null
  const isNear =
    Math.abs(Date.parse(String(row.due_on)) - Date.parse(String(row.expected_on))) < 180 * 86_400_000
  const on = day(row.due_on).replace(isNear && row.expected_on !== null ? / \d{4}$/ : /$^/, '')
  return [`due ${on}`, due(row)].filter((part) => part !== '').join(', ')
}

/** The cells that each row of a query must have on the page, with one account. */
const cellsFor = (
  timeZone: string,
  newest: string,
  quiet: readonly Row[],
): Readonly<Record<string, (row: Row) => readonly string[]>> => {
  const f = formatter(timeZone)
  const isEarlier = (at: unknown) => Date.parse(newest) - Date.parse(String(at)) > 3_600_000
  const moved = (recent: unknown, earlier: unknown) =>
    words(f.rate(recent), was(f.rate(recent), f.rate(earlier)))
  const complete = (row: Row) => words(f.count(row.interviews_count), 'of', f.count(row.sample_size))
  const change = (row: Row): string => {
    if (row.field === null) return spaced(row.kind)
    const status = row.field === 'status'
    const value = (text: unknown) =>
      status ? statusText(text ?? '') : words(text === null || text === '' ? 'none' : text)
    return words(status ? null : spaced(row.field), value(row.from_value), 'to', value(row.to_value))
  }
  const forecast = (row: Row): string => {
    if (isReached(row)) return 'reached'
    return row.expected_on === null
      ? (tooEarly(row) ?? NONE)
      : words(f.day(row.expected_on), f.range(row, '–'))
  }
  return {
    'needs-action': (row) => [
      words(title(row), row.project_id),
      words(row.text, quietText(row, quiet)),
      words(f.rate(row.completion_rate), complete(row)),
    ],
    'in-field': (row) => [
      words(
        ...[title(row), row.project_id, row.status === 'fieldwork' ? null : statusText(row.status)],
        quietText(row, quiet),
        // Only if it differs from the time at the head of the page.
        isEarlier(row.refreshed_at) ? `read ${f.instant(row.refreshed_at)}` : null,
      ),
      words(f.rate(row.completion_rate), complete(row)),
      '',
      words(
        f.rough(row.per_day),
        newestGain(f, row),
        Number(row.reconstructed_days) > 0 ? 'reconstructed' : '',
      ),
      words(forecast(row), dueIn(f, row)),
      moved(row.recent_incidence_rate, row.earlier_incidence_rate),
      moved(row.recent_drop_out_rate, row.earlier_drop_out_rate),
    ],
    'beside-field': (row) => [
      words(title(row), quietText(row, quiet)),
      statusText(row.status),
      f.instant(row.since),
      complete(row),
    ],
    timeline: (row) => [title(row), '', statusText(row.status), f.instant(row.since)],
    'good-news': (row) => [title(row), String(row.text)],
    changes: (row) => [
      words(title(row), row.name === null ? null : `source ${row.name}`),
      words(change(row), isEarlier(row.observed_at) ? `seen ${f.instant(row.observed_at)}` : null),
    ],
    sources: (row) => [
      words(
        row.name,
        [
          row.country_code,
          spaced(row.provider),
          row.supplier,
          row.cpi === null ? null : `${f.money(row.cpi, row.currency)} a complete`,
        ]
          .filter((part) => part !== null)
          .join(', '),
      ),
      words(f.rate(row.completion_rate), complete(row)),
      f.count(row.behind),
      f.signed(row.gained),
      isReached(row) ? 'reached' : f.day(row.expected_on),
      f.rate(row.target_incidence_rate),
      f.rate(row.drop_out_rate),
    ],
    'source-quality': (row) => [
      words(row.name),
      f.rate(row.rejected_rate),
      f.count(row.undecided),
      f.rate(row.quota_full_rate),
      f.minutes(row.loi_minutes),
      row.cost_per_good === null ? NONE : f.money(row.cost_per_good, row.currency),
    ],
    history: (row) => [
      f.instant(row.observed_at),
      words(row.sample_source_id === null ? null : `source ${row.name ?? row.sample_source_id}`, change(row)),
    ],
    runs: (row) => [
      f.instant(row.started_at),
      words(row.status, row.reason),
      ...['seconds', 'requests', 'rate_limited', 'surveys_refreshed', 'left_over', 'rejected_rows'].map(
        (name) => f.count(row[name]),
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

const isReached = (row: Row): boolean =>
  Number(row.sample_size) > 0 && Number(row.interviews_count) >= Number(row.sample_size)

const asOfText = (timeZone: string, account: Row | undefined): string =>
  `As of ${formatter(timeZone).instant(account?.newest_at ?? null)} (${timeZone})`

/** The texts of the lists of a survey, in the order of the page. */
const surveyTexts = (timeZone: string, row: Row, quiet: readonly Row[]): readonly string[] => {
  const f = formatter(timeZone)
  const rates = (recent: unknown, earlier: unknown) => {
    const before = was(f.rate(recent), f.rate(earlier))
    return recent === null ? '' : `last days ${f.rate(recent)}${before === null ? '' : `, ${before}`}`
  }
  const range =
    row.expected_on === null ? (tooEarly(row) ?? 'no forecast') : (f.range(row, 'to') ?? 'at this pace')
  const at = (value: unknown) => (value === null ? 'never' : f.instant(value))
  const length =
    row.length_of_interview === null ? NONE : `${f.rough(Number(row.length_of_interview) / 60)} min`
  const days = `${row.pace_days} ${row.pace_days === 1 ? 'day' : 'days'}`
  const pace =
    row.pace_days === null
      ? ''
      : `a day, ${f.signed(row.gained)} in ${days} in the field, ${f.signed(row.newest_gain)} ${Number(row.newest_gain_days) > 1 ? `in the last ${row.newest_gain_days} days` : 'on the last day'}${reconstructedText(row)}`
  const isQuiet = quietText(row, quiet)
  const project = row.project_id === null || row.project_id === '' ? '' : `, project ${row.project_id}`
  return [
    words(
      statusText(row.status),
      `Survey ${row.survey_id}${project}${isQuiet === null ? '' : `, ${isQuiet}: the plan silences every reason but late`}`,
    ),
    words(
      ...['Complete', f.fineRate(row.completion_rate)],
      `${f.count(row.interviews_count)} of ${f.count(row.sample_size)}`,
      ...['Pace', f.rough(row.per_day), pace],
      ...(isReached(row) ? ['Forecast', 'reached'] : ['Forecast', f.day(row.expected_on), range]),
      ...(row.due_on === null ? [] : ['Due', f.day(row.due_on), due(row)]),
      ...['Incidence', f.fineRate(row.target_incidence_rate)],
      rates(row.recent_incidence_rate, row.earlier_incidence_rate),
      ...['Drop-out', f.fineRate(row.drop_out_rate)],
      rates(row.recent_drop_out_rate, row.earlier_drop_out_rate),
      ...['Length', length, 'median'],
    ),
    ...(row.slowest_source === null
      ? []
      : [
          `${words('Slowest source:', row.slowest_source)} , ${row.slowest_source_on === null ? 'never full at its pace' : `full on ${f.day(row.slowest_source_on)} at its pace`}`,
        ]),
    ...planTexts(row),
    ...asSoldTexts(f, row),
    words(
      ...['First read', at(row._first_seen_at), 'Survey', at(row.listed_at)],
      ...['Progress', at(row.refreshed_at), 'List of sources', at(row.sources_listed_at)],
      ...['Progress of sources', at(row.sources_known_at)],
      ...['Last complete interview', at(row.last_gain_at)],
    ),
  ]
}

/** Who answers for it, and a note; none if the plan says neither. */
const planTexts = ({ owner, due_note: note }: Row): readonly string[] => {
  const parts = [...(owner === null ? [] : [`Owner ${owner}`]), ...(note === null ? [] : [String(note)])]
  return parts.length === 0 ? [] : [parts.join(' , ')]
}

/** The figures below "As sold"; none if the plan says nothing. */
const asSoldTexts = (f: ReturnType<typeof formatter>, row: Row): readonly string[] => {
  const minutes = f.rough(Number(row.length_of_interview) / 60)
  const days = `${row.pace_days} ${row.pace_days === 1 ? 'day' : 'days'}`
  const expected = Number(Number(row.expected_by_today).toFixed(6))
  const parts = [
    ...(row.sold_incidence === null
      ? []
      : [
          `Incidence ${f.rate(row.target_incidence_rate)} sold ${f.rate(row.sold_incidence)}`,
          ...(row.recent_incidence_rate === null
            ? []
            : [`, last ${days} ${f.rate(row.recent_incidence_rate)}`]),
          ...(row.launch_incidence_rate === null ? [] : [`, at launch ${f.rate(row.launch_incidence_rate)}`]),
          ' ',
        ]),
    ...(row.sold_loi_minutes === null
      ? []
      : [
          row.length_of_interview === null ? `Length ${NONE}` : `Length ${minutes} min`,
          minutes === f.rough(row.sold_loi_minutes) && row.length_of_interview !== null
            ? ' as sold '
            : ` sold ${f.rough(row.sold_loi_minutes)} `,
        ]),
    ...(row.cost === null ? [] : [`Cost so far ${f.money(row.cost, row.currency)} `]),
    ...(row.cost_at_target === null ? [] : [`${f.money(row.cost_at_target, row.currency)} at the target `]),
    ...(row.expected_by_today === null
      ? []
      : [`Expected by today ${number(Math.ceil(expected))}`, ` has ${f.count(row.interviews_count)}`]),
  ]
  return parts.length === 0 ? [] : [words(parts.join(''))]
}

const reconstructedText = ({ pace_days: all, reconstructed_days: days }: Row): string =>
  days === 0 ? '' : days === all ? '; reconstructed' : `; ${days} of them reconstructed`

/** The days of the axis end with the last point, and the curve is level between observations. */
const curveTitle = (observations: readonly Row[], last: number): string => {
  const dayOf = (row: Row) => Date.parse(String(row.day)) / 86_400_000
  const first = Math.min(...observations.map(dayOf))
  const from = Math.max(first, last - 7)
  if (!(from < last)) return 'Complete interviews'
  const countOn = (day: number) =>
    Number(
      observations
        .filter((row) => dayOf(row) <= day)
        .toSorted((a, b) => String(a.observed_at).localeCompare(String(b.observed_at)))
        .at(-1)?.interviews_count,
    )
  const moved = countOn(last) - countOn(from)
  const days = last - from
  const until = new Date(last * 86_400_000).toLocaleDateString(LOCALE, {
    day: 'numeric',
    month: 'short',
    timeZone: 'UTC',
  })
  const period = `in the ${days === 1 ? 'day' : `${days} days`} up to ${until}`
  return moved === 0
    ? `No complete interview ${period}`
    : `Complete interviews ${moved > 0 ? 'rose' : 'fell'} by ${number(Math.abs(moved))} ${period}`
}

/** The layers of the chart from the top, each with its statuses. */
const LAYERS: Readonly<Record<string, readonly string[]>> = {
  incomplete: ['incomplete'],
  'screened out': ['screen_out'],
  'not needed': ['quota_full', 'above_target'],
  rejected: ['speeder', 'straightliner', 'failed_quality_check', 'inappropriate_language'],
  undecided: ['manual_action', 'pending_analysis'],
  complete: ['complete'],
}

/** The title and the legend of the interviews of a survey. */
const interviewTexts = (rows: readonly Row[]): readonly string[] => {
  const sum = (some: readonly Row[]) =>
    some.reduce((total, { individuals }) => total + Number(individuals), 0)
  const [total, complete] = [sum(rows), sum(rows.filter(({ status }) => status === 'complete'))]
  const known = Object.values(LAYERS).flat()
  const groups = Object.entries({
    ...LAYERS,
    '': rows.map(({ status }) => String(status)).filter((one) => !known.includes(one)),
  })
  const layers = groups.flatMap(([name, statuses]) => {
    const some = rows.filter(({ status }) => statuses.includes(String(status)))
    const counts = some.map((one) => `${spaced(one.status)} ${number(one.individuals)}`)
    return some.length === 0 ? [] : [words(statuses.length > 1 ? `${name}:` : null, counts.join(' , '))]
  })
  return [
    `Of ${number(total)} ${total === 1 ? 'interview' : 'interviews'}, ${number(complete)} ${complete === 1 ? 'is' : 'are'} complete`,
    layers.join(' '),
  ]
}
