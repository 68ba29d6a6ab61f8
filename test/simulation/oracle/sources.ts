/**
 * P3 for single sources: each stored progress of a source is an answer of the API, and equals the API when `freshness` says it was known. It may
 * differ only where sources moved by opposite numbers, so that the progress of their survey stayed the same, and only until all are read again.
 */
import { group } from 'd3-array'
import type { JsonObject } from '../../support/api/reference-api.js'
import { columnsSql, PROGRESS_COLUMNS } from '../../support/oracle/truth.js'
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
      epoch_us(f.source_progress_read_at) // 1000 AS read_ms, epoch_us(f.refreshed_at) // 1000 AS refreshed_ms, p._extra AS extra, ${columnsSql(PROGRESS_COLUMNS, 'p.')}
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

/** Without those of days before the first reading. */
const answersOf = (world: World, surveyId: number): readonly ProgressAnswer[] =>
  world.received
    .filter(
      ({ path, query }) =>
        path.endsWith(`/surveys/${surveyId}/fieldwork_progress`) && !query.includes('started_before='),
    )
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
  const [{ read_ms, refreshed_ms } = {}] = rows
  if (read_ms === null || read_ms === undefined) return []
  // Several answers may have one date, which has no fractions of a second.
  const proofs = [...answers.entries()].filter(
    ([, { sourceId, dateMs }]) => sourceId === null && dateMs === Number(refreshed_ms),
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
    return [`P3: the sources of survey ${surveyId} are known at a time without an answer`]
  if (tried.some(({ proof, unequal }) => unequal.length === 0 || mayHide({ answers, proof, rows, plan })))
    return []
  return first.unequal.map((row) => `${what(row)} is not what it was when it was known`)
}

interface Hidden {
  readonly answers: readonly ProgressAnswer[]
  readonly proof: ProgressAnswer
  readonly rows: readonly Row[]
  readonly plan: Plan
}

/**
 * Whether the progress of the survey is the same since its sources were read, so that they were not read again. Those of an active survey are,
 * after some time.
 */
const mayHide = ({ answers, proof, rows, plan }: Hidden): boolean => {
  const [{ read_ms, status } = {}] = rows
  const { recheckSourcesAfterMs: recheckMs } = plan.settings
  const isActive = !['complete', 'draft', 'user_demo'].includes(String(status))
  if (recheckMs === 0 || (isActive && proof.dateMs - Number(read_ms) >= recheckMs)) return false
  const ofSurvey = answers.slice(0, answers.indexOf(proof) + 1).filter(({ sourceId }) => sourceId === null)
  return ofSurvey.some(
    ({ dateMs, text }, place) =>
      dateMs === Number(read_ms) && ofSurvey.slice(place).every((later) => later.text === text),
  )
}
