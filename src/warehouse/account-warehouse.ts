/** The work database of one account's run. Every method that writes is one transaction. No other statement runs during a transaction. */
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
  const write = <Result>(work: (sql: AccountSql) => Promise<Result>) =>
    database.transaction((sql) => work({ ...sql, account }))
  const read = <Result>(work: (sql: AccountSql) => Promise<Result>) =>
    database.transaction((sql) => work({ ...sql, account }))
  let surveysAdded = 0
  return {
    account,
    startRun: (run) => write((sql) => startRun(sql, run)),
    finishRun: (report) => write((sql) => finishRun(sql, report)),
    position: () => read(readPosition),
    startListing: (start) => write((sql) => startListing(sql, start)),
    countListed: (page) => read((sql) => countListed(sql, page)),
    commitListingPages: async (pages) => {
      const rows = await write((sql) => commitListingPages(sql, pages))
      surveysAdded += rows.added
      if (surveysAdded >= CHECKPOINT_SURVEYS) {
        surveysAdded = 0
        await read((sql) => sql.run('CHECKPOINT'))
      }
      return rows
    },
    agreesWithTotal: (totalCount, at) => write((sql) => agreesWithTotal(sql, totalCount, at)),
    dropListing: (kind) => write((sql) => dropListing(sql, kind)),
    enqueue: async (tasks, { runId, at }) => {
      const queued = tasks.map(({ surveyId, reason }) => ({ surveyId, reason, at }))
      if (tasks.length > 0) await write((sql) => queue.enqueue(sql, queued, runId))
    },
    surveyTotals: () => read(surveyTotals),
    eachPlannedSurvey: (selection, use) => read((sql) => eachPlannedSurvey(sql, selection, use)),
    pastRuns: (overlapMs) => read((sql) => pastRuns(sql, overlapMs)),
    hasTasks: () => read(queue.hasTasks),
    storeExclusions: (rules) => write((sql) => storeExclusions(sql, rules)),
    storedBundles: (surveyIds) => read((sql) => readStoredBundles(sql, surveyIds)),
    storedDays: (surveyId) => read((sql) => readStoredDays(sql, surveyId)),
    firstReadings: (at) => read((sql) => readFirstReadings(sql, at)),
    commitReconstructed: (read, runId) => write((sql) => commitReconstructed(sql, read, runId)),
    compactProgress: (before, at) => write((sql) => compactProgress(sql, before, at)),
    runFacts: (runId, only) => read((sql) => readRunFacts(sql, runId, only)),
    quarantined: () => quarantinedRows(read),
    commitReplay: (rows, replay) => write((sql) => commitReplay(sql, rows, replay)),
    waitingRows: () => read(readWaiting),
    commitBundles: (outcomes, runId) => write((sql) => commitBundles(sql, outcomes, runId)),
    beginParts: (surveyId, at) => write((sql) => beginParts(sql, surveyId, at)),
    keptAnswers: (surveyId) => read((sql) => readKept(sql, surveyId)),
    keepAnswers: (surveyId, answers, runId) => write((sql) => keep(sql, surveyId, answers, runId)),
    answeredSurveys: (kind) => read((sql) => queue.answeredSurveys(sql, kind)),
    forgetRefusals: (runId) => write((sql) => queue.forgetRefusals(sql, runId)),
  }
}

/**
 * New rows stay in memory until a checkpoint, which compresses them. While a listing only adds rows, a checkpoint rewrites hardly anything
 * else.
 */
const CHECKPOINT_SURVEYS = 50_000
