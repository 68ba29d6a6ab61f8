/**
 * P3 for single sources: each stored progress of a source is an answer of the API, and equals the API when `freshness` says it was known. What
 * was not read may differ only where sources that were not read moved by opposite numbers, and only until all are read again.
 */
import { group } from 'd3-array'
import { INTERVIEW_STATUSES } from '../../support/api/api-document.js'
import { asObject, type JsonObject } from '../../support/api/reference-api.js'
import { columnsSql, PROGRESS_COLUMNS, progressOf } from '../../support/oracle/truth.js'
import type { Row } from '../../support/warehouse/duckdb.js'
import type { Plan } from '../plan.js'
import type { ReceivedAnswer, World } from '../world.js'
import { progressText, type Queryable, textOf, type Violation } from './row-text.js'

export const checkSources = async (
  world: World,
  reader: Queryable,
  { account, plan }: { readonly account: string; readonly plan: Plan },
): Promise<Violation[]> => {
  const rows =
    await reader.query(`SELECT p.survey_id, p.sample_source_id, epoch_us(p._observed_at) // 1000 AS observed_ms, s.status,
      epoch_us(f.source_progress_proven_at) // 1000 AS proven_ms, epoch_us(f.source_progress_read_at) // 1000 AS read_ms,
      epoch_us(f.refreshed_at) // 1000 AS refreshed_ms, p._extra AS extra, ${columnsSql(PROGRESS_COLUMNS, 'p.')}
    FROM main.sample_source_progress p JOIN main.surveys s ON s.account = p.account AND s.id = p.survey_id
    JOIN main.freshness f ON f.account = p.account AND f.survey_id = p.survey_id
    WHERE p.account = '${account}' AND p._missing_since IS NULL AND s._missing_since IS NULL`)
  const bySurvey = group(rows, ({ survey_id }) => Number(survey_id))
  // A wrong clock of the server dates answers out of their order.
  const isDated = !plan.starts.some(({ clockAhead }) => clockAhead?.whose === 'server')
  return isDated ? [...bySurvey].flatMap(([id, of]) => wrongSources(world, id, of, plan)) : []
}

interface ProgressAnswer extends ReceivedAnswer {
  /** Null for the survey itself. */
  readonly sourceId: number | null
  readonly text: string
}

const answersOf = (world: World, surveyId: number): readonly ProgressAnswer[] =>
  world.received
    .filter(({ path }) => path.endsWith(`/surveys/${surveyId}/fieldwork_progress`))
    .map((answer) => {
      const [, id] = /sample_source_id=(\d+)/.exec(answer.query) ?? []
      const text = progressText(answer.body.fieldwork_progress as JsonObject)
      return { ...answer, sourceId: id === undefined ? null : Number(id), text }
    })

const wrongSources = (world: World, surveyId: number, rows: readonly Row[], plan: Plan): Violation[] => {
  const answers = answersOf(world, surveyId)
  const what = (row: Row) => `P3: the progress of source ${row.sample_source_id} of survey ${surveyId}`
  const neverGiven = rows.filter(
    (row) =>
      !answers.some(
        ({ sourceId, dateMs, text }) =>
          sourceId === Number(row.sample_source_id) &&
          dateMs === Number(row.observed_ms) &&
          text === textOf(row, PROGRESS_COLUMNS),
      ),
  )
  if (neverGiven.length > 0)
    return neverGiven.map((row) => `${what(row)} differs from the answer at its time`)
  const [{ proven_ms, refreshed_ms } = {}] = rows
  if (proven_ms === null || proven_ms === undefined) return []
  if (proven_ms !== refreshed_ms)
    return [`P3: the sources of survey ${surveyId} are proven at another time than that of its progress`]
  // Several answers may have one date, which has no fractions of a second.
  const proofs = [...answers.entries()].filter(
    ([, { sourceId, dateMs }]) => sourceId === null && dateMs === Number(proven_ms),
  )
  const tried = proofs.map(([place, proof]) => {
    const later = answers.slice(place)
    const isRead = (row: Row) =>
      later.some(
        (one) => one.sourceId === Number(row.sample_source_id) && one.text === textOf(row, PROGRESS_COLUMNS),
      )
    const unread = rows.filter((row) => !isRead(row))
    // Deriving the world of the past takes longer than all else.
    const truth = unread.length === 0 ? new Map() : world.sourceProgressOf(surveyId, proof.asOf)
    const unequal = unread.filter(
      (row) => truth.get(Number(row.sample_source_id)) !== textOf(row, PROGRESS_COLUMNS),
    )
    return { proof, unequal }
  })
  const [first] = tried
  if (first === undefined)
    return [`P3: the sources of survey ${surveyId} are proven at a time without an answer`]
  if (tried.some(({ proof, unequal }) => unequal.length === 0 || mayHide({ answers, proof, rows, plan })))
    return []
  return first.unequal.map((row) => `${what(row)} is not what it was when it was proven`)
}

interface Hidden {
  readonly answers: readonly ProgressAnswer[]
  readonly proof: ProgressAnswer
  readonly rows: readonly Row[]
  readonly plan: Plan
}

/** Whether all counts of the survey are still as far from the sums of its sources as when all of them were read, and not too long ago. */
const mayHide = ({ answers, proof, rows, plan }: Hidden): boolean => {
  const [{ read_ms, status } = {}] = rows
  const { recheckUnchangedAfterMs } = plan.settings
  const mostMs = (status === 'complete' ? 12 : 1) * recheckUnchangedAfterMs
  const survey = cellsOf(proof)
  const isEmpty = INTERVIEW_STATUSES.every((name) => survey[`${name}_individuals`] === 0)
  if (proof.dateMs - Number(read_ms) >= mostMs && !isEmpty) return false
  const rest = COUNTS.map((name) => Number(survey[name]) - sum(rows.map((row) => Number(row[name]))))
  return [...answers.entries()].some(([place, { sourceId, dateMs }]) => {
    if (sourceId !== null || dateMs !== Number(read_ms)) return false
    const base = answers[place]
    const next = answers.findIndex((one, at) => at > place && one.sourceId === null)
    const read = answers.slice(place + 1, next < 0 ? undefined : next)
    const bySource = new Map(read.map((answer) => [answer.sourceId, cellsOf(answer)]))
    const before = base === undefined ? {} : cellsOf(base)
    return COUNTS.every((name, at) => {
      const sources = sum([...bySource.values()].map((cells) => Number(cells[name])))
      return Number(before[name]) - sources === rest[at]
    })
  })
}

const cellsOf = ({ body }: ReceivedAnswer): Row => progressOf(asObject(body.fieldwork_progress))

const sum = (numbers: readonly number[]): number => numbers.reduce((total, one) => total + one, 0)

const COUNTS = [
  ...['sample_size', 'interviews_count'],
  ...INTERVIEW_STATUSES.map((status) => `${status}_individuals`),
]
