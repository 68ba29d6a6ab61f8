/**
 * Opens the answers of the API (API document, "Endpoints" and "Pagination object"). The envelope around the rows is read strictly, because
 * otherwise rows could get lost silently: a list without `next_page` would end early and look complete.
 */
import { toUSVString } from 'node:util'
import { z } from 'zod'
import type { Clock } from '../base/clock.js'
import { UpstreamError } from '../base/errors.js'
import { humanCount } from '../base/human.js'
import type { JsonAnswer } from '../http/client.js'
import type { Progress } from '../model/fields.js'
import { type Instant, instantFromMs } from '../model/instant.js'
import {
  type Answer,
  type Drift,
  newestById,
  type Page,
  type Pagination,
  type Reading,
  type Rejection,
} from '../model/survey-source.js'
import { array, count, integer, object, orNull } from './api-types.js'
import {
  type AnswerRow,
  decodeAnswerRow,
  ROW_DEPTH_MAX,
  type RowDecoder,
  unknownFieldDrift,
} from './decode.js'
import { elementTexts, memberTexts, repeatedName, wellFormedJson } from './json-text.js'
import { excerpt, problemOf } from './problem.js'
import { progressDecoder } from './resources.js'

const paginationShape = {
  current_page: integer,
  next_page: integer.nullable(),
  prev_page: orNull(integer),
  total_pages: count,
  total_count: count,
} satisfies { [Name in keyof Pagination]: z.ZodType<Pagination[Name]> }

const pagination = object(paginationShape)

const LISTS = {
  surveys: { resource: 'survey', schema: object({ surveys: array, pagination }) },
  sample_sources: { resource: 'sample_source', schema: object({ sample_sources: array, pagination }) },
} as const

const progressSchema = object({ fieldwork_progress: z.unknown().refine((value) => value !== undefined) })

/** The envelope of an answer. Throws an error `unusable_answer`. */
const open = <Envelope>({ body, text }: JsonAnswer, where: string, schema: z.ZodType<Envelope>): Envelope => {
  // Of a repeated name, one value would be lost. Deeper names belong to rows that are quarantined anyway.
  const name = repeatedName(text, ENVELOPE_DEPTH_MAX + ROW_DEPTH_MAX)
  if (name !== null) throw unusableAnswer(where, `the name ${excerpt(name)} stands twice in one object`)
  const parsed = schema.safeParse(body)
  if (!parsed.success) throw unusableAnswer(where, problemOf(parsed.error, text))
  return parsed.data
}

/** The levels above a row: the answer and its array. */
const ENVELOPE_DEPTH_MAX = 2

/**
 * A 200 whose envelope differs from the API document. None of its rows is used, because rows with an unknown place in the list could hide
 * others.
 */
export const unusableAnswer = (where: string, problem: string): UpstreamError =>
  new UpstreamError(
    'unusable_answer',
    `the answer to ${where} cannot be used: ${problem}; if base_url is right, report this to the owner of the API`,
  )

/**
 * Limits of an answer, because every row may become a rejected row, and every unknown name or value a row of `_sync.drift_events`. A larger
 * answer is refused with an error, and nothing of it counts as read.
 */
const ROWS = { max: 10_000, what: 'rows' } as const
const DIFFERENCES = { max: 100_000, what: 'differences from the API document' } as const

const requireFew = (count: number, { max, what }: typeof ROWS | typeof DIFFERENCES, where: string): void => {
  if (count > max) throw unusableAnswer(where, `it has more than ${humanCount(max)} ${what}`)
}

interface ListAddress {
  readonly name: keyof typeof LISTS
  readonly path: string
  readonly page: number
}

/**
 * Opens a list answer (endpoints 1 and 2). Throws an error `unusable_answer`. Unknown fields beside the rows, which no row can store, are
 * reported as drift `answer.<field>` and `answer.pagination.<field>`.
 */
export const openList = (answer: JsonAnswer, { name, path, page }: ListAddress) => {
  const where = `GET ${path} (page ${page})`
  const { schema, resource } = LISTS[name]
  const { pagination, ...lists } = open<z.output<typeof schema>>(answer, where, schema)
  const rows = 'surveys' in lists ? lists.surveys : lists.sample_sources
  requireFew(rows.length, ROWS, where)
  const contradiction = contradictionIn(pagination, { page, rows: rows.length })
  if (contradiction !== null) throw unusableAnswer(where, contradiction)
  let texts: readonly string[] | null = null
  const textAt = (index: number): string => {
    texts ??= elementTexts(memberTexts(answer.text).get(name) ?? '[]')
    return texts[index] ?? 'null'
  }
  const isWellFormed = wellFormedJson(answer.text) === answer.text
  requireFew(Object.keys(membersOf(answer.body)).length, DIFFERENCES, where)
  requireFew(Object.keys(membersOf(membersOf(answer.body).pagination)).length, DIFFERENCES, where)
  return {
    rows: rows.map((value, index) => ({
      value: isWellFormed ? value : undefined,
      text: () => textAt(index),
    })),
    pagination,
    drift: unknownFieldDrift(resource, [
      ...unknownNames(answer.body, [name, 'pagination'], 'answer.'),
      ...unknownNames(membersOf(answer.body).pagination, Object.keys(paginationShape), 'answer.pagination.'),
    ]),
  }
}

/** Opens a progress answer (endpoint 3): `fieldwork_progress`. Throws an error `unusable_answer`. */
export const openProgress = (
  answer: JsonAnswer,
  where: string,
): { readonly row: AnswerRow; readonly drift: readonly Drift[] } => {
  const { fieldwork_progress: value } = open(answer, `GET ${where}`, progressSchema)
  requireFew(Object.keys(membersOf(answer.body)).length, DIFFERENCES, `GET ${where}`)
  return {
    row: {
      value: wellFormedJson(answer.text) === answer.text ? value : undefined,
      text: () => memberTexts(answer.text).get('fieldwork_progress') ?? 'null',
    },
    drift: unknownFieldDrift(
      'fieldwork_progress',
      unknownNames(answer.body, ['fieldwork_progress'], 'answer.'),
    ),
  }
}

/** When the answer was made, by the server's clock, or by our clock if the answer has no `Date`. */
const answerTimes = (answer: JsonAnswer, clock: Clock): Pick<Answer, 'readAt' | 'serverDate'> => {
  const serverDate = answer.dateMs === null ? null : instantFromMs(answer.dateMs)
  return { serverDate, readAt: serverDate ?? instantFromMs(clock.nowMs()) }
}

/**
 * Why a well-typed pagination cannot be followed; null if it can. A page with a next page must have rows, and there must not be more pages
 * than rows: otherwise a server could send us from one empty page to the next for ever.
 */
const contradictionIn = (
  pagination: Pagination,
  { page, rows }: { readonly page: number; readonly rows: number },
): string | null => {
  const { current_page: current, next_page: next, total_pages: pages, total_count: count } = pagination
  if (current !== page) return `pagination.current_page is ${current}, not the requested page`
  if (pages > Math.max(1, count)) return `pagination.total_pages is ${pages} for a total_count of ${count}`
  if (next === null) {
    return current < pages ? `pagination.next_page is null on page ${current} of ${pages}` : null
  }
  if (next !== current + 1) return `pagination.next_page is ${next} on page ${current}`
  if (next > pages) return `pagination.next_page is ${next} of ${pages} pages`
  return rows === 0 ? `page ${current} of ${pages} is empty` : null
}

/** Paths of the members that the API document does not list, as well-formed text. Two names may become the same path. */
const unknownNames = (value: unknown, known: readonly string[], prefix: string): ReadonlySet<string> =>
  new Set(
    Object.keys(membersOf(value))
      .filter((name) => !known.includes(name))
      .map((name) => `${prefix}${toUSVString(name)}`),
  )

const membersOf = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null ? { ...value } : {}

interface ListRow {
  readonly id: number
  readonly updated_at: Instant
}

/**
 * A list answer (endpoints 1 and 2) as a page. Every row is decoded by itself, so that a bad row harms no other. Of two rows with one id
 * only the newer one stays, in its own place, so a page never has two rows with one key. Throws an error `unusable_answer`.
 */
export const pageOf = <Row extends ListRow>(
  answer: JsonAnswer,
  clock: Clock,
  list: ListAddress,
  decoder: RowDecoder<Row>,
  idsOf: (rowId: number | null) => Pick<Rejection, 'surveyId' | 'sampleSourceId'>,
): Page<Row> => {
  const opened = openList(answer, list)
  let differences = opened.drift.length
  const decoded = opened.rows.map((row) => {
    const one = decodeAnswerRow(decoder, row)
    differences += one.drift.length
    requireFew(differences, DIFFERENCES, `GET ${list.path} (page ${list.page})`)
    return one
  })
  const rows = newestById(decoded.flatMap((row) => (row.ok ? [row.row] : [])))
  const ids = decoded.flatMap((row) => (row.ok ? row.row.id : (row.id ?? [])))
  const seen = new Set<number>()
  const repeated = ids.filter((id) => seen.size === seen.add(id).size)
  return {
    rows: [...rows.values()],
    ...(repeated.length === 0 ? {} : { repeated }),
    rejections: decoded
      .filter((row) => !row.ok)
      .map(({ id, problem, raw }) => ({ endpoint: list.name, ...idsOf(id), rowId: id, problem, raw })),
    drift: [...opened.drift, ...decoded.flatMap((row) => row.drift)],
    pagination: opened.pagination,
    ...answerTimes(answer, clock),
  }
}

/** A progress answer (endpoint 3) as a reading. Throws an error `unusable_answer`. */
export const progressOf = (
  answer: JsonAnswer,
  clock: Clock,
  where: string,
  of: Pick<Rejection, 'surveyId' | 'sampleSourceId' | 'day'>,
): Reading<Progress> => {
  const opened = openProgress(answer, where)
  const decoded = decodeAnswerRow(progressDecoder, opened.row)
  const drift = [...opened.drift, ...decoded.drift]
  requireFew(drift.length, DIFFERENCES, `GET ${where}`)
  const beside = { ...answerTimes(answer, clock), drift }
  if (decoded.ok) return { ...beside, row: decoded.row, rejections: [] }
  const { problem, raw } = decoded
  const rejection = { endpoint: 'fieldwork_progress', ...of, rowId: null, problem, raw } as const
  return { ...beside, row: null, rejections: [rejection] }
}
