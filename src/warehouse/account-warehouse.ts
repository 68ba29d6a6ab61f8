/** The work database of one account's run. Every method is one transaction. No other statement runs during a transaction. */
import type { AccountWarehouse } from '../model/warehouse.js'
import type { AccountSql, Database } from './connection/database.js'
import { compactProgress } from './history/compaction.js'
import { commitReplay, quarantinedRows } from './history/replay.js'
import { readRunFacts, readWaiting } from './history/run-facts.js'
import { finishRun, startRun } from './history/runs.js'
import { commitBundles, commitReconstructed } from './merge/bundles.js'
import { commitListingPages } from './merge/listing-pages.js'
import { readStoredBundles } from './merge/stored-surveys.js'
import { storeExclusions } from './queue/exclusions.js'
import { beginParts, keep, readKept } from './queue/kept-answers.js'
import { agreesWithTotal, countListed, dropListing, readPosition, startListing } from './queue/listing.js'
import { eachPlannedSurvey, pastRuns, surveyTotals } from './queue/planned-surveys.js'
import { readFirstReadings, readStoredDays } from './queue/stored-windows.js'
import * as queue from './queue/tasks.js'

export const accountWarehouse = (database: Database, account: string): AccountWarehouse => {
  const transact = <Result>(work: (sql: AccountSql) => Promise<Result>) =>
    database.transaction((sql) => work({ ...sql, account }))
  let surveysAdded = 0
  return {
    account,
    startRun: (run) => transact((sql) => startRun(sql, run)),
    finishRun: (report) => transact((sql) => finishRun(sql, report)),
    position: () => transact(readPosition),
    startListing: (start) => transact((sql) => startListing(sql, start)),
    countListed: (page) => transact((sql) => countListed(sql, page)),
    commitListingPages: async (pages) => {
      const rows = await transact((sql) => commitListingPages(sql, pages))
      surveysAdded += rows.added
      if (surveysAdded >= CHECKPOINT_SURVEYS) {
        surveysAdded = 0
        await database.exclusively((sql) => sql.run('CHECKPOINT'))
      }
      return rows
    },
    agreesWithTotal: (totalCount, at) => transact((sql) => agreesWithTotal(sql, totalCount, at)),
    dropListing: (kind) => transact((sql) => dropListing(sql, kind)),
    enqueue: async (tasks, { runId, at }) => {
      const queued = tasks.map(({ surveyId, reason }) => ({ surveyId, reason, at }))
      if (tasks.length > 0) await transact((sql) => queue.enqueue(sql, queued, runId))
    },
    surveyTotals: () => transact(surveyTotals),
    eachPlannedSurvey: (selection, use) => transact((sql) => eachPlannedSurvey(sql, selection, use)),
    pastRuns: (overlapMs) => transact((sql) => pastRuns(sql, overlapMs)),
    hasTasks: () => transact(queue.hasTasks),
    storeExclusions: (rules) => transact((sql) => storeExclusions(sql, rules)),
    storedBundles: (surveyIds) => transact((sql) => readStoredBundles(sql, surveyIds)),
    storedDays: (surveyId) => transact((sql) => readStoredDays(sql, surveyId)),
    firstReadings: (at) => transact((sql) => readFirstReadings(sql, at)),
    commitReconstructed: (readings, runId) => transact((sql) => commitReconstructed(sql, readings, runId)),
    compactProgress: (before, at) => transact((sql) => compactProgress(sql, before, at)),
    runFacts: (runId, only) => transact((sql) => readRunFacts(sql, runId, only)),
    quarantined: () => quarantinedRows(transact),
    commitReplay: (rows, replay) => transact((sql) => commitReplay(sql, rows, replay)),
    waitingRows: () => transact(readWaiting),
    commitBundles: (outcomes, runId) => transact((sql) => commitBundles(sql, outcomes, runId)),
    beginParts: (surveyId, at) => transact((sql) => beginParts(sql, surveyId, at)),
    keptAnswers: (surveyId) => transact((sql) => readKept(sql, surveyId)),
    keepAnswers: (surveyId, answers, runId) => transact((sql) => keep(sql, surveyId, answers, runId)),
    answeredSurveys: (kind) => transact((sql) => queue.answeredSurveys(sql, kind)),
    forgetRefusals: (runId) => transact((sql) => queue.forgetRefusals(sql, runId)),
  }
}

/**
 * New rows stay in memory until a checkpoint, which compresses them. While a listing only adds rows, a checkpoint rewrites hardly anything
 * else.
 */
const CHECKPOINT_SURVEYS = 50_000
