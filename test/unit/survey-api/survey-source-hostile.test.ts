/**
 * Any JSON in any place of an answer gives either its rows in order, each typed or in quarantine, or one clear error.
 * The answers come from an implementation of the client's interface. `test/unit/http` tests what HTTP can do to them.
 */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Drift } from '../../../src/model/survey-source.js'
import { PAGINATION } from '../../support/api/api-document.js'
import {
  type Expected,
  event,
  expectedProgress,
  expectedSampleSource,
  expectedSurvey,
  hostileProgress,
  hostileSampleSource,
  hostileSurvey,
} from '../../support/hostile/hostile-rows.js'
import {
  anyNode,
  type JsonNode,
  type Member,
  membersOf,
  nodeOf,
  oddName,
  print,
  repeatsName,
  string,
} from '../../support/hostile/json-node.js'
import { cases } from '../../support/suite/cases.js'
import { survey } from './example-rows.js'
import { context, list, listOf, names, sourceOf } from './survey-source-hostile-shared.js'

const PAGE = 2

const ROWS_MAX = 5

const objectOf = (members: readonly Member[]): JsonNode => ({ kind: 'object', members })

/** Mostly what belongs there, sometimes anything. */
const mostly = (arbitrary: fc.Arbitrary<JsonNode>) => fc.oneof({ weight: 9, arbitrary }, anyNode)

const oddMembers = (maxLength: number) => fc.array(fc.tuple(oddName, anyNode), { maxLength })

/** The pagination of an answer to page 2: often consistent, otherwise with one member of any value. */
const pagination = fc
  .tuple(
    fc.constantFrom(
      { current_page: 2, next_page: null, prev_page: 1, total_pages: 2, total_count: 9 },
      { current_page: 2, next_page: 3, prev_page: null, total_pages: 3, total_count: 9 },
      { current_page: 2, next_page: null, prev_page: 1, total_pages: 1, total_count: 0 },
    ),
    fc.constantFrom(...Object.keys(PAGINATION)),
    fc.option(fc.oneof(fc.integer({ min: -1, max: 4 }).map(nodeOf), anyNode), { freq: 1 }),
    oddMembers(1),
  )
  .map(([consistent, changed, change, more]) => {
    const members = Object.entries(consistent).map(([name, value]): Member => {
      const node = name === changed ? change : null
      return [string(name), node ?? nodeOf(value)]
    })
    return objectOf([...members, ...more])
  })

const envelope = (name: string, rows: fc.Arbitrary<JsonNode>) =>
  fc
    .tuple(
      mostly(fc.array(rows, { maxLength: ROWS_MAX }).map((items): JsonNode => ({ kind: 'array', items }))),
      mostly(pagination),
      oddMembers(2),
      fc.boolean(),
    )
    .map(([list, paging, more, paginationFirst]) => {
      const members: Member[] = [
        [string(name), list],
        [string('pagination'), paging],
      ]
      return objectOf([...(paginationFirst ? members.reverse() : members), ...more])
    })

const wholeNumber = (node: JsonNode | undefined): number | null | undefined => {
  if (node?.kind === 'word' && node.word === 'null') return null
  return node?.kind === 'number' && Number.isSafeInteger(Number(node.digits))
    ? Number(node.digits) + 0
    : undefined
}

/** Whether an answer is usable: no name stands twice in one object, and the numbers of its pagination are valid and agree with each other and with the rows. */
const isUsable = (answer: JsonNode, name: string): boolean => {
  if (repeatsName(answer)) return false
  const list = membersOf(answer).get(name)
  const paging = membersOf(answer).get('pagination')
  if (list?.kind !== 'array' || paging?.kind !== 'object') return false
  const numbers = membersOf(paging)
  const [current, next, pages, count] = ['current_page', 'next_page', 'total_pages', 'total_count'].map(
    (one) => wholeNumber(numbers.get(one)),
  )
  const prev = numbers.get('prev_page')
  if (prev !== undefined && wholeNumber(prev) === undefined) return false
  if (current !== PAGE || next === undefined || typeof pages !== 'number' || typeof count !== 'number')
    return false
  if (pages < 0 || count < 0 || pages > Math.max(1, count)) return false
  return next === null ? pages <= PAGE : next === PAGE + 1 && pages >= next && list.items.length > 0
}

const driftEvents = (drift: readonly Drift[]): string[] =>
  drift.map(({ resource, kind, path, value }) => event(resource, kind, path, value)).sort()

const unknownMembers = (
  node: JsonNode | undefined,
  known: readonly string[],
  resource: string,
  prefix: string,
): string[] =>
  node === undefined
    ? []
    : [...membersOf(node).keys()]
        .filter((name) => !known.includes(name))
        .map((name) => event(resource, 'unknown_field', `${prefix}${name}`, null))

const updatedAt = ({ row }: Expected): bigint => BigInt(String(row?.updated_at))

/** The expected rows in order, the newest one of each id, or the last of equally new ones, with rejections and drift. */
const expectedPage = (
  answer: JsonNode,
  name: string,
  resource: string,
  expectedRow: (node: JsonNode) => Expected,
) => {
  const members = membersOf(answer)
  const list = members.get(name)
  const each = list?.kind === 'array' ? list.items.map(expectedRow) : []
  const typed = each.filter(({ row }) => row !== null)
  return {
    rows: typed
      .filter(
        (one, at) =>
          !typed.some(
            (other, place) =>
              other.id === one.id &&
              (place > at ? updatedAt(other) >= updatedAt(one) : updatedAt(other) > updatedAt(one)),
          ),
      )
      .map(({ row }) => row),
    rejections: each.filter(({ row }) => row === null).map(({ id, raw }) => ({ rowId: id, raw })),
    drift: [
      ...each.flatMap(({ drift }) => drift),
      ...unknownMembers(answer, [name, 'pagination'], resource, 'answer.'),
      ...unknownMembers(members.get('pagination'), Object.keys(PAGINATION), resource, 'answer.pagination.'),
    ].sort(),
  }
}

const expectClear = (error: unknown): void => {
  expect(error).toMatchObject({ code: 'unusable_answer' })
  const { message } = error as Error
  expect(message).toMatch(
    /^the answer to GET \S+ .*cannot be used: .+; if base_url is right, report this to the owner of the API$/u,
  )
  expect(message).not.toMatch(/[\p{Cc}\p{Zl}\p{Zp}]/u)
}

test.each([
  ['surveys', 'survey', hostileSurvey, expectedSurvey],
  ['sample_sources', 'sample_source', hostileSampleSource, expectedSampleSource],
] as const)('a page of %s gives its rows or a clear error', async (name, resource, rows, expectedRow) => {
  let usable = 0
  let unusable = 0
  await fc.assert(
    fc.asyncProperty(envelope(name, rows), async (answer) => {
      const source = sourceOf(print(answer))
      const reading =
        name === 'surveys'
          ? source.listSurveys({ updatedSince: null, page: PAGE }, context)
          : source.listSampleSources(12, PAGE, context)
      const page = await reading.catch((error: unknown) => {
        expectClear(error)
        return null
      })
      expect(page !== null).toBe(isUsable(answer, name))
      if (page === null) {
        unusable += 1
        return
      }
      usable += 1
      expect({
        rows: page.rows,
        rejections: page.rejections.map(({ rowId, raw }) => ({ rowId, raw })),
        drift: driftEvents(page.drift),
      }).toEqual(expectedPage(answer, name, resource, expectedRow))
    }),
    cases(60),
  )
  expect(Math.min(usable, unusable)).toBeGreaterThan(5)
})

test('an answer of fieldwork progress gives its row or a clear error', async () => {
  const whole = fc
    .tuple(hostileProgress, oddMembers(2))
    .map(([row, more]) => objectOf([...more, [string('fieldwork_progress'), row]]))
  const answers = mostly(whole)
  await fc.assert(
    fc.asyncProperty(answers, async (answer) => {
      const row = membersOf(answer).get('fieldwork_progress')
      const reading = await sourceOf(print(answer))
        .readProgress({ surveyId: 12, sampleSourceId: null }, context)
        .catch((error: unknown) => {
          expectClear(error)
          return null
        })
      expect(reading !== null).toBe(row !== undefined && !repeatsName(answer))
      if (reading === null || row === undefined) return
      const expected = expectedProgress(row)
      expect(reading.row).toEqual(expected.row)
      expect(reading.rejections.map(({ raw }) => raw)).toEqual(expected.row === null ? [expected.raw] : [])
      const beside = unknownMembers(answer, ['fieldwork_progress'], 'fieldwork_progress', 'answer.')
      expect(driftEvents(reading.drift)).toEqual([...expected.drift, ...beside].sort())
    }),
    cases(60),
  )
})

test('a row with more names than any row has is one rejected row', async () => {
  const text = JSON.stringify(survey).replace(/\}$/, `,${names(10_001)}}`)
  const page = await list(listOf(text, 1))
  expect(page).toMatchObject({
    rows: [],
    drift: [],
    rejections: [{ problem: 'more than 10,000 names and values' }],
  })
  expect(page.rejections[0]?.raw).toBe(text)
  const counts = `{"fieldwork_progress":{"interview_count_by_status":{${names(10_001)}}}}`
  expect(await sourceOf(counts).readProgress({ surveyId: 1, sampleSourceId: null }, context)).toMatchObject({
    row: null,
    rejections: [{ problem: 'more than 10,000 names and values' }],
  })
})
