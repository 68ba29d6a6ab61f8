/** The document of `verify --json`: every row that differs, and counts of all rows. */
import { COMPARED_TABLES } from '../../verify/sample/verdict.js'
import { countsOf } from './counts.js'
import type { AccountSample, VerifyReport } from './report.js'

export const verifyToJson = ({ exitCode, local, sample }: VerifyReport) => ({
  exitCode,
  local,
  sample: sample === null ? null : { seed: sample.seed, accounts: sample.accounts.map(accountToJson) },
})

const accountToJson = (sample: AccountSample) => ({
  account: sample.account,
  surveys: sample.surveys,
  chosen: sample.chosen,
  compared: sample.compared,
  chanceToFindOnePercent: sample.chanceToFindOnePercent,
  requests: sample.requests,
  stopped: sample.stopped,
  unread: sample.unread,
  tables: COMPARED_TABLES.map((table) => ({
    table,
    ...countsOf(sample.rows.filter((row) => row.table === table)),
  })),
  findings: sample.rows.filter(({ verdict }) => verdict !== 'equal').map(({ fields: _, ...row }) => row),
})
