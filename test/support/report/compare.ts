/** Compares the report in a browser with the published file, by the SQL that the page itself offers. */
import { expect } from 'vitest'
import type { ChromiumPage } from '../process/chromium.js'
import { openReader, type Row } from '../warehouse/duckdb.js'
import { asOfText, cellsFor, type PageParts, READ_PARTS, surveyTexts } from './page-parts.js'

/** Returns the number of compared rows. */
export const compareWithQueries = async (
  page: ChromiumPage,
  published: string,
  timeZone: string,
): Promise<number> => {
  const parts = (await page.waitFor(READ_PARTS)) as PageParts
  using reader = await openReader(published)
  await reader.query(`SET TimeZone = 'UTC'`)
  const cells = cellsFor(timeZone)
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
  let compared = 0
  const shown = new Map<string, string[][]>()
  for (const { query, survey, rows } of parts.tables) {
    const key = `${query} ${survey ?? ''}`
    shown.set(key, [...(shown.get(key) ?? []), ...rows.map((row) => [...row])])
  }
  for (const [key, rows] of shown) {
    const [query = '', survey = ''] = key.split(' ')
    const all = query === 'timeline' ? lastOfEach(await rowsOf(query)) : await rowsOf(query)
    const expected = all.filter((row) => survey === '' || keyOf(row) === survey)
    expect(rows, key).toEqual(
      expected.slice(0, query === 'history' ? 12 : undefined).map(cells[query] ?? (() => ['?'])),
    )
    compared += expected.length
  }
  for (const { query, text } of parts.badges) expect(text).toBe(String((await rowsOf(query)).length))
  for (const row of await rowsOf('surveys')) {
    const texts = parts.lists
      .filter(({ query, survey }) => query === 'surveys' && survey === keyOf(row))
      .map(({ text }) => text)
    expect(texts).toEqual(surveyTexts(timeZone, row))
    const interviews = (await rowsOf('interviews')).filter((one) => keyOf(one) === keyOf(row))
    const legend = parts.lists.find(({ query, survey }) => query === 'interviews' && survey === keyOf(row))
    expect(legend?.text ?? '').toBe(
      interviews
        .map(
          ({ status, individuals }) =>
            `${String(status).replaceAll('_', ' ')} ${Number(individuals).toLocaleString('en-GB')}`,
        )
        .join(' '),
    )
    const curve = parts.curves[keyOf(row)]
    if (curve !== undefined)
      expect(curve).toEqual({
        last: row.interviews_count,
        now: Number(row.interviews_count).toLocaleString('en-GB'),
      })
    compared += 1
  }
  const [account] = await rowsOf('as-of')
  expect(parts.lists.find(({ query }) => query === 'as-of')?.text).toBe(asOfText(timeZone, account))
  const [total] = await rowsOf('totals')
  const totals = parts.lists.find(({ query }) => query === 'totals')?.text ?? ''
  const number = (value: unknown) => Number(value).toLocaleString('en-GB')
  expect(totals).toContain(`In the field ${number(total?.surveys)} `)
  expect(totals).toContain(`Complete ${number(total?.interviews_count)} of ${number(total?.sample_size)}, `)
  const signed = (value: unknown) => Number(value).toLocaleString('en-GB', { signDisplay: 'exceptZero' })
  expect(totals).toContain(
    `Gained since yesterday ${signed(total?.gained_last_day)} ${signed(total?.gained)} in the last 7 days`,
  )
  const changes = (await rowsOf('change-counts')).map(
    (row) => `${number(row.changes)} ${row.is_source === true ? 'source' : 'survey'}`,
  )
  for (const change of changes)
    expect(parts.lists.find(({ query }) => query === 'change-counts')?.text).toContain(change)
  // Nothing else on the page has a number.
  expect(
    parts.others.filter((text) => !/^(28 days|The last 60 days|\d+ more|Answers 429)$/.test(text)),
  ).toEqual([])
  return compared
}

const keyOf = (row: Row): string => `${row.account}/${row.survey_id}`

/** The status that each survey has now, in the order of the rows. */
const lastOfEach = (rows: readonly Row[]): readonly Row[] => [
  ...new Map(rows.map((row) => [keyOf(row), row])).values(),
]
