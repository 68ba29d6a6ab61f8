/** Opening an answer refuses it as a whole where rows could otherwise be lost silently. */
import { describe, expect, it } from 'vitest'
import { openList, openProgress, unusableAnswer } from '../../../src/survey-api/envelope.js'

const answerOf = (text: string) => ({ body: JSON.parse(text) as unknown, text, dateMs: null })
const openText = (text: string, page = 2) =>
  openList(answerOf(text), { name: 'surveys', path: '/surveys', page })
const open = (body: unknown, page?: number) => openText(JSON.stringify(body), page)
const pagination = { current_page: 2, next_page: 3, prev_page: 1, total_pages: 4, total_count: 170 }
const paging = JSON.stringify(pagination)

describe('a list answer', () => {
  it('gives the exact text of its rows, and its pagination', () => {
    const opened = openText(`{"surveys":[ {"id": 9007199254740993} ,null],"pagination":${paging}}`)
    expect({ ...opened, rows: opened.rows.map((row) => row.text()) }).toEqual({
      rows: ['{"id": 9007199254740993}', 'null'],
      pagination,
      drift: [],
    })
  })

  it('gives the parsed values of its rows, but not where text has to be replaced first', () => {
    const valuesIn = (rows: string) =>
      openText(`{"surveys":${rows},"pagination":${paging}}`).rows.map(({ value }) => value)
    expect(valuesIn('[{"id":7},{"title":"\\ud83d\\ude80"}]')).toEqual([{ id: 7 }, { title: '🚀' }])
    expect(valuesIn('[{"id":7},{"title":"\\ud83d"}]')).toEqual([undefined, undefined])
  })

  it('may be the last page, empty, or past the end', () => {
    const last = { ...pagination, current_page: 4, next_page: null, prev_page: 3 }
    const empty = { current_page: 1, next_page: null, prev_page: null, total_pages: 0, total_count: 0 }
    expect(open({ surveys: [], pagination: last }, 4).pagination).toEqual(last)
    expect(open({ surveys: [], pagination: empty }, 1).pagination).toEqual(empty)
    expect(open({ surveys: [], pagination: { ...last, current_page: 9 } }, 9).pagination.next_page).toBeNull()
  })

  it('may omit prev_page, which nothing depends on', () => {
    const { prev_page: _, ...rest } = pagination
    expect(open({ surveys: [{}], pagination: rest }).pagination.prev_page).toBeNull()
  })

  it('reports unknown fields beside its rows as drift', () => {
    expect(open({ surveys: [{}], pagination: { ...pagination, per_page: 50 }, meta: {} }).drift).toEqual([
      { resource: 'survey', kind: 'unknown_field', path: 'answer.meta', value: null },
      { resource: 'survey', kind: 'unknown_field', path: 'answer.pagination.per_page', value: null },
    ])
  })

  it.each([
    ['is an array', [], 'expected an object, got []'],
    ['is null', null, 'expected an object, got null'],
    ['is a string', 'ok', 'expected an object, got "ok"'],
    ['has no rows', { pagination }, 'surveys: is missing'],
    ['has an object for its rows', { surveys: {}, pagination }, 'surveys: expected an array, got {}'],
    ['has no pagination', { surveys: [] }, 'pagination: is missing'],
    [
      'has an array for its paging',
      { surveys: [], pagination: [] },
      'pagination: expected an object, got []',
    ],
  ])('is refused when it %s', (_, body, problem) => {
    expect(() => open(body)).toThrow(unusableAnswer('GET /surveys (page 2)', problem))
  })

  it.each([
    ['another page', { current_page: 1, next_page: 2 }, 'current_page is 1, not the requested page'],
    ['itself as the next page', { next_page: 2 }, 'next_page is 2 on page 2'],
    ['an earlier page as the next one', { next_page: 1 }, 'next_page is 1 on page 2'],
    ['a next page that skips one', { next_page: 4 }, 'next_page is 4 on page 2'],
    ['a next page beyond the last', { total_pages: 2 }, 'next_page is 3 of 2 pages'],
    ['an end before the last page', { next_page: null }, 'next_page is null on page 2 of 4'],
    ['no next page at all', { next_page: undefined }, 'next_page: is missing'],
    ['a page as a string', { current_page: '2' }, 'current_page: expected an integer'],
    ['a negative count', { total_count: -1 }, 'total_count: expected a count of 0 or more'],
    ['a negative number of pages', { total_pages: -1 }, 'total_pages: expected a count of 0 or more'],
    ['half a page', { prev_page: 0.5 }, 'prev_page: expected an integer'],
    ['more pages than records', { total_count: 3 }, 'total_pages is 4 for a total_count of 3'],
    ['a count above 2^53 - 1', { total_count: 2 ** 53 }, 'total_count: expected an integer'],
  ])('is refused when it states %s', (_, change, problem) => {
    expect(() => open({ surveys: [{}], pagination: { ...pagination, ...change } })).toThrow(
      `pagination.${problem}`,
    )
  })

  const rows = '[{"id":7}]'
  it.each([
    ['its rows', `{"surveys":[],"pagination":${paging},"surveys":${rows}}`, '"surveys"'],
    ['its pagination', `{"pagination":${paging},"surveys":${rows},"pagination":${paging}}`, '"pagination"'],
    ['an escaped name', `{"surveys":${rows},"pagination":${paging},"survey\\u0073":[]}`, '"survey\\u0073"'],
  ])('is refused when it holds %s twice in one object', (_, text, name) => {
    expect(() => openText(text)).toThrow(
      unusableAnswer('GET /surveys (page 2)', `the name ${name} stands twice in one object`),
    )
  })

  // Found by the property test of pages: two names with lone surrogates become the same name as UTF-8.
  it('reports two unknown fields once if their names become the same', () => {
    expect(openText(`{"surveys":[{}],"pagination":${paging},"\\ud800":1,"\\udc00":1}`).drift).toEqual([
      { resource: 'survey', kind: 'unknown_field', path: 'answer.\ufffd', value: null },
    ])
  })

  // Otherwise such answers would lead us from one empty page to the next without end.
  it('is refused when it is empty and has a next page', () => {
    expect(() => open({ surveys: [], pagination })).toThrow('cannot be used: page 2 of 4 is empty')
  })

  it('is refused by an error that ends the task but not the run', () => {
    expect(unusableAnswer('GET /surveys (page 2)', 'expected an object, got []')).toMatchObject({
      code: 'unusable_answer',
      endsRun: false,
      exitCode: 4,
      message:
        'the answer to GET /surveys (page 2) cannot be used: expected an object, got []; if base_url is right, report this to the owner of the API',
    })
  })
})

describe('a progress answer', () => {
  it.each([
    ['an object', '{"fieldwork_progress": {"sample_size": 1.0} }', '{"sample_size": 1.0}'],
    ['any other value, which decoding then quarantines', '{"fieldwork_progress":null}', 'null'],
  ])('gives the text of %s', (_, text, row) => {
    const opened = openProgress(answerOf(text), '/surveys/7/fieldwork_progress')
    expect({ ...opened, row: opened.row.text() }).toEqual({ row, drift: [] })
  })

  it('is refused without the key', () => {
    expect(() => openProgress(answerOf('{"progress":{}}'), '/surveys/7/fieldwork_progress')).toThrow(
      unusableAnswer('GET /surveys/7/fieldwork_progress', 'fieldwork_progress: is missing'),
    )
  })

  it('reports unknown fields beside it as drift', () => {
    const { drift } = openProgress(answerOf('{"fieldwork_progress":{},"as_of":"\\ud800"}'), '/x')
    expect(drift).toEqual([
      { resource: 'fieldwork_progress', kind: 'unknown_field', path: 'answer.as_of', value: null },
    ])
  })
})
