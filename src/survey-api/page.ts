/** The rows of one list page: typed rows, and rejections of those that cannot be typed. */
import type { Clock } from '../base/clock.js'
import type { JsonAnswer } from '../http/client.js'
import type { Instant } from '../model/instant.js'
import { newestById, type Page, type Rejection } from '../model/survey-source.js'
import { answerTimes, openList } from './answer.js'
import { type AnswerRow, type Decoded, decodeAnswerRow, type RowDecoder, type Undecodable } from './decode.js'

export type DecodedPage<Row> = Pick<Page<Row>, 'rows' | 'repeated' | 'rejections' | 'drift'>

interface ListRow {
  readonly id: number
  readonly updated_at: Instant
}

/**
 * Decodes every row of a page by itself, so that a bad row costs only itself. Of two rows with one id the newer one counts, in its
 * own place: a page never holds two rows with one key.
 */
export const decodePage = <Row extends ListRow, Given>(
  given: readonly Given[],
  decode: (row: Given) => Decoded<Row>,
  reject: (row: Undecodable) => Rejection,
): DecodedPage<Row> => {
  const decoded = given.map((row) => decode(row))
  const rows = newestById(decoded.flatMap((one) => (one.ok ? [one.row] : [])))
  const ids = decoded.flatMap((one) => (one.ok ? one.row.id : (one.id ?? [])))
  const seen = new Set<number>()
  const repeated = ids.filter((id) => seen.size === seen.add(id).size)
  return {
    rows: [...rows.values()],
    ...(repeated.length === 0 ? {} : { repeated }),
    rejections: decoded.filter((one) => !one.ok).map(reject),
    drift: decoded.flatMap((one) => one.drift),
  }
}

/** A list answer (endpoints 1 and 2) as a page. Throws an error `unusable_answer`. */
export const pageOf = <Row extends ListRow>(
  answer: JsonAnswer,
  clock: Clock,
  list: Parameters<typeof openList>[1],
  decoder: RowDecoder<Row>,
  ids: (id: number | null) => Pick<Rejection, 'surveyId' | 'sampleSourceId'>,
): Page<Row> => {
  const opened = openList(answer, list)
  const decode = (row: AnswerRow) => decodeAnswerRow(decoder, row)
  const { drift, ...decoded } = decodePage(opened.rows, decode, ({ id, problem, raw }) => ({
    endpoint: list.name,
    ...ids(id),
    rowId: id,
    problem,
    raw,
  }))
  return {
    ...decoded,
    drift: [...opened.drift, ...drift],
    pagination: opened.pagination,
    ...answerTimes(answer, clock),
  }
}
