/**
 * The known surveys that a full listing does not show: they have gone, or the list leaves them out although they still answer
 * (docs/decisions/listing-and-cursor.md#0089-a-short-list-marks-nothing-by-itself).
 */
import { z } from 'zod'
import type { Instant } from '../../model/instant.js'
import type { Stamp } from '../../model/warehouse.js'
import { areManyAtOnce } from '../../rules/vanished.js'
import { bigintCell } from '../connection/cells.js'
import { type AccountSql, countOf } from '../connection/database.js'
import { enqueue } from './tasks.js'

/** Whether the list leaves out the survey of the row `f` of `freshness`, although it still answers, in SQL. */
export const LEAVES_OUT = 'f.refreshed_at >= f.unlisted_since'

export const requireFullListing = (sql: AccountSql): Promise<void> =>
  sql.run('UPDATE _sync.cursors SET full_listing_due = true WHERE account = $1', [sql.account])

/** Queues the surveys that the full listing did not show, to find out whether they have gone. */
export const queueNotListed = async (sql: AccountSql, { runId, at }: Stamp): Promise<void> => {
  const rows = await sql.rows(
    z.object({ id: bigintCell }),
    `SELECT s.id FROM main.surveys s WHERE s.account = $1 AND s._missing_since IS NULL
      AND NOT EXISTS (SELECT 1 FROM _sync.listed_ids l WHERE l.account = s.account AND l.kind = 'full' AND l.survey_id = s.id)`,
    [sql.account],
  )
  const surveys = rows.map(({ id }) => ({ surveyId: id, reason: 'missing' as const, at }))
  await enqueue(sql, surveys, runId)
  const vanished = await noteUnlisted(sql, at)
  const known = await countOf(
    sql,
    'SELECT count(*) AS "Count" FROM main.surveys WHERE account = $1 AND _missing_since IS NULL',
    [sql.account],
  )
  const areMany = areManyAtOnce(vanished, known)
  await sql.run('UPDATE _sync.cursors SET vanished_at = $2 WHERE account = $1', [
    sql.account,
    areMany ? at : null,
  ])
  if (areMany) await requireFullListing(sql)
}

/** Notes the surveys that the listing did not show. Returns how many were not noted before. A time ahead of now is replaced. */
const noteUnlisted = async (sql: AccountSql, at: Instant): Promise<number> => {
  await sql.run(
    `UPDATE main.freshness f SET unlisted_since = $2 FROM main.surveys s
      WHERE f.account = $1 AND s.account = f.account AND s.id = f.survey_id AND s._missing_since IS NULL
        AND (f.unlisted_since IS NULL OR f.unlisted_since > $2)
        AND NOT EXISTS (FROM _sync.listed_ids l WHERE l.account = s.account AND l.kind = 'full' AND l.survey_id = s.id)`,
    [sql.account, at],
  )
  return await countOf(
    sql,
    'SELECT count(*) AS "Count" FROM main.freshness WHERE account = $1 AND unlisted_since = $2',
    [sql.account, at],
  )
}

/** The surveys that vanished from the list with many others, and for which no further full listing was made yet. */
export const unconfirmed = async (sql: AccountSql): Promise<ReadonlySet<number>> => {
  const rows = await sql.rows(
    z.object({ id: bigintCell }),
    `SELECT f.survey_id AS id FROM main.freshness f JOIN _sync.cursors c USING (account)
      JOIN main.surveys s ON s.account = f.account AND s.id = f.survey_id
      WHERE f.account = $1 AND f.unlisted_since = c.vanished_at AND s._missing_since IS NULL`,
    [sql.account],
  )
  return new Set(rows.map(({ id }) => id))
}

/** Forgets gone surveys of which no row could be typed, so that only their rows in quarantine remain. */
export const forgetNeverTyped = (sql: AccountSql): Promise<void> =>
  sql.run(
    `DELETE FROM main.freshness f WHERE account = $1 AND refreshed_at IS NULL
      AND NOT EXISTS (SELECT 1 FROM main.surveys s WHERE s.account = f.account AND s.id = f.survey_id)
      AND NOT EXISTS (SELECT 1 FROM _sync.listed_ids l WHERE l.account = f.account AND l.kind = 'full' AND l.survey_id = f.survey_id)`,
    [sql.account],
  )
