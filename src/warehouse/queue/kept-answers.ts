/** The answers about surveys that are read in parts, `_sync.kept_answers`, and the attempts to read them. */
import { z } from 'zod'
import type { KeptAnswer } from '../../base/allowance.js'
import { parse } from '../../base/parse.js'
import { instantFromMs, msBetween } from '../../model/instant.js'
import { keptAnswers, tasks } from '../../model/sync-tables.js'
import type { Stamp } from '../../model/warehouse.js'
import { timestamptzCell, varcharCell } from '../connection/cells.js'
import type { AccountSql } from '../connection/database.js'
import { qualified } from '../connection/ddl.js'
import { conditionOnSurveys } from '../merge/merge.js'

/** The task counts as unfinished until the run itself ends the attempt. */
export const beginParts = (sql: AccountSql, surveyId: number, { runId, at }: Stamp): Promise<void> =>
  sql.run(
    `UPDATE ${qualified(tasks)} SET attempts = attempts + 1, unfinished = coalesce(unfinished, 0) + 1, unfinished_at = $3,
        last_run_id = $4, last_error = 'a run began to read it in parts, and was killed'
      WHERE account = $1 AND survey_id = $2`,
    [sql.account, surveyId, at, runId],
  )

const keptRow = z.object({ request: varcharCell, answer: varcharCell, answered_at: timestamptzCell })

export const readKept = async (
  sql: AccountSql,
  surveyId: number,
): Promise<ReadonlyMap<string, KeptAnswer>> => {
  const kept = new Map<string, KeptAnswer>()
  const query = `SELECT request, answer, answered_at FROM ${qualified(keptAnswers)}
    WHERE account = $1 AND survey_id = $2 ORDER BY rowid`
  await sql.each(keptRow, query, [sql.account, surveyId], ({ request, answer, answered_at: at }) =>
    kept.set(request, {
      text: parse(z.string(), JSON.parse(answer), 'a kept answer'),
      dateMs: msBetween(0n, at),
    }),
  )
  return kept
}

/**
 * If a request has two answers, the later one counts. The text is stored as a JSON string, which can hold characters that are not Unicode.
 */
export const keep = (
  sql: AccountSql,
  surveyId: number,
  answers: ReadonlyMap<string, KeptAnswer>,
  runId: string,
): Promise<void> =>
  sql.insert(
    keptAnswers,
    Array.from(answers, ([request, { text, dateMs }]) => ({
      account: sql.account,
      survey_id: surveyId,
      request,
      answer: JSON.stringify(text),
      answered_at: instantFromMs(dateMs),
      run_id: runId,
    })),
  )

export const dropKept = (sql: AccountSql, surveyIds: readonly number[]): Promise<void> => {
  const condition = conditionOnSurveys(sql.account, surveyIds)
  return sql.run(
    `DELETE FROM ${qualified(keptAnswers)} WHERE ${condition.on('survey_id')}`,
    condition.parameters,
  )
}
