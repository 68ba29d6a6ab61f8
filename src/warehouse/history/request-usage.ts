/** The request usage of runs, `_sync.requests`. */
import { z } from 'zod'
import { REQUEST_KINDS, REQUEST_REASONS, type RequestUsage } from '../../model/request-usage.js'
import type { RunReport } from '../../model/run.js'
import { requests } from '../../model/sync-tables.js'
import { bigintCell, timestamptzCell, varcharCell } from '../connection/cells.js'
import type { Sql } from '../connection/database.js'
import { qualified } from '../connection/ddl.js'
import { NUMBERED_RUNS } from './run-order.js'

/** Replaces the usage of a run that is recorded again. */
export const storeRequestUsage = async (
  sql: Sql,
  { runId, account, requestUsage }: RunReport,
): Promise<void> => {
  await sql.run(`DELETE FROM ${qualified(requests)} WHERE run_id = $1 AND account = $2`, [runId, account])
  const key = { run_id: runId, account }
  await sql.insert(
    requests,
    requestUsage.map(({ kind, reason, requests: made, saved }) => ({ ...key, reason, kind, made, saved })),
  )
}

const runRow = z.object({
  run_id: varcharCell,
  account: varcharCell,
  started_at: timestamptzCell,
  requests: bigintCell.nullable(),
  requests_estimated: bigintCell.nullable(),
})
const usageRow = z.object({
  kind: z.enum(REQUEST_KINDS),
  reason: z.enum(REQUEST_REASONS),
  requests: bigintCell,
  saved: bigintCell,
})

/** A run of an account and its requests. */
export type RunRequestUsage = z.output<typeof runRow> & { readonly requestUsage: readonly RequestUsage[] }

/** The last ended sync of each account, with its request usage. */
export const lastRequestUsage = async (sql: Sql): Promise<readonly RunRequestUsage[]> => {
  const runs = await sql.rows(
    runRow,
    `SELECT run_id, account, started_at, requests, requests_estimated FROM ${NUMBERED_RUNS}
      WHERE command = 'sync' AND ended_at IS NOT NULL
      QUALIFY row_number() OVER (PARTITION BY account ORDER BY run_number DESC) = 1 ORDER BY account`,
  )
  return await Promise.all(
    runs.map(async (run) => ({
      ...run,
      requestUsage: await sql.rows(
        usageRow,
        `SELECT kind, reason, made AS requests, saved
          FROM _sync.requests WHERE run_id = $1 AND account = $2 ORDER BY reason, kind`,
        [run.run_id, run.account],
      ),
    })),
  )
}
