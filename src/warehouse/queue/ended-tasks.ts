/** Ends the tasks of surveys that were read, or keeps them queued with the failure. */
import type { Instant } from '../../model/instant.js'
import { tasks } from '../../model/sync-tables.js'
import type { BundleOutcome, UnreadPart } from '../../model/warehouse.js'
import type { AccountSql } from '../connection/database.js'
import { qualified } from '../connection/ddl.js'
import { conditionOnSurveys, surveyIdsOf } from '../merge/merge.js'
import { dropKept } from './kept-answers.js'

/** Why the survey, or a part of it, could not be read. */
export const failureOf = (outcome: BundleOutcome): UnreadPart | null => {
  if ('unread' in outcome) return outcome.unread
  if (!('parts' in outcome) || outcome.parts === undefined) return null
  const { parts, requestsNeeded } = outcome
  const error = `it does not fit into one run and is read in parts: ${parts.answers} of ${requestsNeeded} answers are kept, and the next run goes on there`
  return { error, isRefused: false }
}

export const endTasks = async (sql: AccountSql, outcomes: readonly BundleOutcome[]): Promise<void> => {
  await dropKept(sql, surveyIdsOf(outcomes.filter(({ kind }) => kind === 'refreshed' || kind === 'gone')))
  const done = outcomes.filter((outcome) => outcome.kind !== 'oversized' && failureOf(outcome) === null)
  const ended: BundleOutcome[] = []
  for (const outcome of done) {
    if (outcome.kind !== 'refreshed' || outcome.begunAt === undefined) ended.push(outcome)
    else await endBegun(sql, outcome.surveyId, outcome.begunAt)
  }
  const condition = conditionOnSurveys(sql.account, surveyIdsOf(ended))
  await sql.run(`DELETE FROM ${qualified(tasks)} WHERE ${condition.on('survey_id')}`, condition.parameters)
}

/**
 * Ends the task of a survey that was read in parts. If a change was listed since the first part, the parts may not have the change, so the
 * task stays.
 */
const endBegun = async (sql: AccountSql, surveyId: number, begunAt: Instant): Promise<void> => {
  const own = 'WHERE account = $1 AND survey_id = $2'
  await sql.run(`DELETE FROM ${qualified(tasks)} ${own} AND coalesce(queued_again_at <= $3, true)`, [
    sql.account,
    surveyId,
    begunAt,
  ])
  await sql.run(
    `UPDATE ${qualified(tasks)} SET unfinished = NULL, unfinished_at = NULL, last_error = NULL, failed_at = NULL ${own}`,
    [sql.account, surveyId],
  )
}

export const keepTasks = async (
  sql: AccountSql,
  outcomes: readonly BundleOutcome[],
  runId: string,
): Promise<void> => {
  for (const outcome of outcomes) {
    const { surveyId, at } = outcome
    const failure = failureOf(outcome)
    if (outcome.kind === 'oversized') {
      const isStuck = outcome.parts?.isLonger === false
      await sql.run(
        `UPDATE ${qualified(tasks)} SET requests_needed = $3, last_error = coalesce($4, last_error),
            unfinished = CASE WHEN $5 THEN unfinished END
          WHERE account = $1 AND survey_id = $2`,
        [sql.account, surveyId, outcome.requestsNeeded, failure?.error ?? null, isStuck],
      )
    } else if (failure !== null)
      await sql.run(
        `UPDATE ${qualified(tasks)} SET attempts = attempts + 1, last_error = $3, failed_at = $6, last_run_id = $4,
            refusals = CASE WHEN $5 THEN coalesce(refusals, 0) + 1 ELSE refusals END,
            refused_at = CASE WHEN $5 THEN $6 ELSE refused_at END,
            unfinished = NULL, unfinished_at = CASE WHEN $7 THEN unfinished_at END
          WHERE account = $1 AND survey_id = $2`,
        [sql.account, surveyId, failure.error, runId, failure.isRefused, at, outcome.kind === 'failed'],
      )
  }
}
