/** The work database of one account's run. Every method that writes is one transaction. Nothing else runs meanwhile. */
import type { AccountWarehouse } from '../model/warehouse.js'
import type { Database } from './connection/database.js'
import { compactProgress } from './history/compaction.js'
import { readDataProblems, readWaiting } from './history/data-problems.js'
import { commitReplay, quarantinedRows } from './history/replay.js'
import { finishRun, startRun } from './history/runs.js'
import { commitBundles } from './merge/bundles.js'
import { commitListingPages } from './merge/listing-pages.js'
import { createKeptRows } from './merge/stored-surveys.js'
import { countListed, dropListing, readPosition, startListing } from './queue/listing.js'
import { eachPlannedSurvey, pastRuns, surveyTotals } from './queue/planned-surveys.js'
import { readStoredDays } from './queue/stored-days.js'
import {
  answeredSurveys,
  countTasks,
  enqueue,
  failingSurveys,
  forgetRefusals,
  hasTasks,
} from './queue/tasks.js'

export const accountWarehouse = (database: Database, account: string): AccountWarehouse => {
  const kept = createKeptRows(account)
  return {
    account,
    startRun: (run) => database.transaction((sql) => startRun(sql, account, run)),
    finishRun: (report) => database.transaction((sql) => finishRun(sql, report)),
    position: () => database.exclusively((sql) => readPosition(sql, account)),
    startListing: (start) => database.transaction((sql) => startListing(sql, account, start)),
    countListed: (page) => database.exclusively((sql) => countListed(sql, account, page)),
    commitListingPages: (pages) => {
      kept.forget()
      return database.transaction((sql) => commitListingPages(sql, account, pages))
    },
    dropListing: () => database.transaction((sql) => dropListing(sql, account)),
    enqueue: async (tasks, { runId, at }) => {
      const surveys = tasks.map(({ surveyId, reason }) => ({ surveyId, reason, at }))
      if (tasks.length > 0) await database.transaction((sql) => enqueue(sql, account, surveys, runId))
    },
    surveyTotals: () => database.exclusively((sql) => surveyTotals(sql, account)),
    eachPlannedSurvey: (selection, use) =>
      database.exclusively((sql) => eachPlannedSurvey(sql, account, selection, use)),
    pastRuns: (overlapMs) => database.exclusively((sql) => pastRuns(sql, account, overlapMs)),
    hasTasks: () => database.exclusively((sql) => hasTasks(sql, account)),
    countTasks: () => database.exclusively((sql) => countTasks(sql, account)),
    failingSurveys: () => database.exclusively((sql) => failingSurveys(sql, account)),
    storedBundles: (surveyIds) => database.exclusively((sql) => kept.read(sql, surveyIds)),
    storedDays: (surveyId) => database.exclusively((sql) => readStoredDays(sql, account, surveyId)),
    compactProgress: (before, at) => database.transaction((sql) => compactProgress(sql, account, before, at)),
    dataProblems: (runId) => database.exclusively((sql) => readDataProblems(sql, account, runId)),
    quarantined: () => quarantinedRows(database, account),
    commitReplay: (rows, replay) => {
      kept.forget()
      return database.transaction((sql) => commitReplay(sql, account, rows, replay))
    },
    waitingRows: () => database.exclusively((sql) => readWaiting(sql, account)),
    commitBundles: (outcomes, runId) =>
      database.transaction((sql) => commitBundles(sql, account, { outcomes, runId, kept })),
    answeredSurveys: (kind) => database.exclusively((sql) => answeredSurveys(sql, account, kind)),
    forgetRefusals: (runId) => database.transaction((sql) => forgetRefusals(sql, account, runId)),
  }
}
