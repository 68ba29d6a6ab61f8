/** One line for each data problem: the unknown field or value, why a row is rejected, why a survey could not be read. */

import { counted, humanCount } from '../../base/human.js'
import { driftName, onOneLine } from '../../model/data-problem-names.js'
import { formatInstant } from '../../model/instant.js'
import type { DataProblems, RunReport } from '../../model/run.js'

export const driftLines = ({
  drift,
  driftEvents,
}: Pick<DataProblems, 'drift' | 'driftEvents'>): readonly string[] =>
  withRest(
    drift.map((event) => {
      const since = event.isNew ? 'new' : `since ${formatInstant(event.firstSeenAt)}`
      return `${driftName(event)}: ${since}, seen ${counted(event.occurrences, 'time')}`
    }),
    driftEvents - drift.length,
  )

export const rejectionLines = ({
  rejections,
  rejectedRows,
}: Pick<DataProblems, 'rejections' | 'rejectedRows'>): readonly string[] =>
  withRest(
    rejections.map(
      ({ endpoint, problem, rows }) => `${endpoint}: ${onOneLine(problem)} (${counted(rows, 'row')})`,
    ),
    rejectedRows - rejections.reduce((sum, { rows }) => sum + rows, 0),
  )

/** `survey 12 "Brand tracker", tried 3 times: …`. */
export const failingLines = ({
  failing,
  failingSurveys,
}: Pick<RunReport, 'failing' | 'failingSurveys'>): readonly string[] =>
  withRest(
    failingSurveys.map(({ surveyId, title, attempts, error }) => {
      const name = title === null ? '' : ` ${JSON.stringify(onOneLine(title))}`
      return `survey ${surveyId}${name}, tried ${counted(attempts, 'time')}: ${onOneLine(error)}`
    }),
    failing - failingSurveys.length,
  )

const withRest = (lines: readonly string[], rest: number): readonly string[] =>
  lines.length > 0 && rest > 0 ? [...lines, `and ${humanCount(rest)} more`] : lines
