/** The record of where the requests of runs went, `_sync.requests`. */
import { z } from 'zod'
import { SPENDING_KINDS, SPENDING_REASONS, type Spending } from '../../model/spending.js'
import { requests } from '../../model/sync-tables.js'
import { bigintCell, timestamptzCell, varcharCell } from '../connection/cells.js'
import type { Sql } from '../connection/database.js'
import { qualified } from '../connection/ddl.js'

/** A run that is recorded a second time says it anew. */
export const storeSpending = async (
  sql: Sql,
  run: { readonly runId: string; readonly account: string },
  spending: readonly Spending[],
): Promise<void> => {
  await sql.run(`DELETE FROM ${qualified(requests)} WHERE run_id = $1 AND account = $2`, [
    run.runId,
    run.account,
  ])
  await sql.insert(
    requests,
    spending.map(({ kind, reason, requests: made, saved }) => ({
      run_id: run.runId,
      account: run.account,
      reason,
      kind,
      made,
      saved,
    })),
  )
}

const runRow = z.object({
  run_id: varcharCell,
  account: varcharCell,
  started_at: timestamptzCell,
  requests: bigintCell.nullable(),
  requests_estimated: bigintCell.nullable(),
})
const spendingRow = z.object({
  kind: z.enum(SPENDING_KINDS),
  reason: z.enum(SPENDING_REASONS),
  requests: bigintCell,
  saved: bigintCell,
})

/** A run of an account and its requests. */
export type RunSpending = z.output<typeof runRow> & { readonly spending: readonly Spending[] }

/** The last sync of each account that has ended, with its requests; none of what was published before these were recorded. */
export const lastSpending = async (sql: Sql): Promise<readonly RunSpending[]> => {
  const [recorded] = await sql.rows(
    z.object({ tables: bigintCell }),
    `SELECT count(*) AS tables FROM duckdb_columns() WHERE schema_name = '_sync' AND table_name = 'requests' AND column_name = 'made'`,
  )
  if (recorded === undefined || recorded.tables === 0) return []
  const runs = await sql.rows(
    runRow,
    `SELECT run_id, account, started_at, requests, requests_estimated FROM _sync.runs
      WHERE command = 'sync' AND ended_at IS NOT NULL
      QUALIFY row_number() OVER (PARTITION BY account ORDER BY started_at > now(), started_at DESC, run_id DESC) = 1 ORDER BY account`,
  )
  return await Promise.all(
    runs.map(async (run) => ({
      ...run,
      spending: await sql.rows(
        spendingRow,
        'SELECT kind, reason, made AS requests, saved FROM _sync.requests WHERE run_id = $1 AND account = $2 ORDER BY reason, kind',
        [run.run_id, run.account],
      ),
    })),
  )
}
