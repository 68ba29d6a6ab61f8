/** What several commands say about runs: a line for each data problem and each published file, and words for requests. */
import { EXIT_CODES } from '../../base/errors.js'
import { counted, humanBytes, humanCount, humanDuration } from '../../base/human.js'
import { driftName, onOneLine } from '../../model/data-problem-names.js'
import { formatInstant } from '../../model/instant.js'
import type { RequestKind, RequestReason } from '../../model/request-usage.js'
import type { DataProblems, PublishReport, RunReport, SyncReport } from '../../model/run.js'

/** The unknown fields and values. */
export const driftLines = ({ drift, driftEvents }: DataProblems): readonly string[] =>
  withRest(
    drift.map((event) => {
      const since = event.isNew ? 'new' : `since ${formatInstant(event.firstSeenAt)}`
      return `${driftName(event)}: ${since}, seen ${counted(event.occurrences, 'time')}`
    }),
    driftEvents - drift.length,
  )

/** Why rows are rejected. */
export const rejectionLines = ({ rejections, rejectedRows }: DataProblems): readonly string[] =>
  withRest(
    rejections.map(
      ({ endpoint, problem, rows }) => `${endpoint}: ${onOneLine(problem)} (${counted(rows, 'row')})`,
    ),
    rejections.reduce((rest, { rows }) => rest - rows, rejectedRows),
  )

/** Why surveys could not be read: `survey 12 "Brand tracker", tried 3 times: …`. */
export const failingLines = ({ failing, failingSurveys }: RunReport): readonly string[] =>
  withRest(
    failingSurveys.map(({ surveyId, title, attempts, error }) => {
      const name = title === null ? '' : ` ${JSON.stringify(onOneLine(title))}`
      return `survey ${surveyId}${name}, tried ${counted(attempts, 'time')}: ${onOneLine(error)}`
    }),
    failing - failingSurveys.length,
  )

const withRest = (lines: readonly string[], rest: number): readonly string[] =>
  lines.length > 0 && rest > 0 ? [...lines, `and ${humanCount(rest)} more`] : lines

/** The reasons of the accounts that decided the exit code, on one line; null without any. With several accounts, each is named. */
export const reasonOf = ({ accounts, exitCode, publishError }: SyncReport): string | null => {
  const reasons = accounts
    .filter((run) => run.exitCode === exitCode && run.reason !== null)
    .map(({ account, reason }) => `${accounts.length > 1 ? `${account}: ` : ''}${withoutStop(reason ?? '')}`)
  const why = withoutStop(publishError ?? '')
  // After a failed publish, the reason of each account already contains the error.
  const isSaid = why === '' || reasons.some((reason) => reason.includes(why))
  if (!isSaid && (reasons.length === 0 || exitCode === EXIT_CODES.warehouse))
    reasons.unshift(`not published: ${why}`)
  return reasons.length === 0 ? null : [...new Set(reasons)].join('; ').replaceAll(/\s*\n\s*/g, ' ')
}

/** The stable code of the error that decided the exit code; null without one. */
export const errorCodeOf = ({
  accounts,
  exitCode,
}: Pick<SyncReport, 'accounts' | 'exitCode'>): string | null =>
  accounts.find((run) => run.exitCode === exitCode && run.errorCode !== null)?.errorCode ?? null

const withoutStop = (sentence: string): string => sentence.replace(/\.$/, '')

/**
 * The published files of a run, and how long it took. The reason of the run says why something is not published, or published and not
 * sure to stay.
 */
export const publishSection = (
  { published, publishError }: SyncReport,
  elapsedMs?: number,
  inAll = '',
): string => {
  const files = published.map(
    ({ format, path, bytes }: PublishReport) => `published ${format}: ${path} (${humanBytes(bytes)})`,
  )
  if (files.length === 0 && publishError !== null) files.push('published nothing')
  if (elapsedMs !== undefined) files.push(`took ${humanDuration(elapsedMs)}${inAll}`)
  return files.join('\n')
}

/** The kinds and reasons of requests. */
export const REQUEST_USAGE_WORDS: Readonly<Record<RequestKind | RequestReason, string>> = {
  surveys: 'pages',
  sample_sources: 'sources',
  survey_progress: 'progress',
  sample_source_progress: 'by source',
  daily_progress: 'by day',
  listing: 'listing',
  left_over: 'left over',
  changed: 'changed or new',
  active: 'active',
  inactive: 'inactive',
  missing: 'not listed',
  reconstructed: 'reconstructed',
  requested: 'requested',
  not_due: 'not due',
  excluded: 'excluded',
}
