/** What is reported about a run to people: a few lines of text. */
import { toUSVString } from 'node:util'
import { counted, humanDuration } from '../../base/human.js'
import type { RunEnd } from '../../model/monitoring.js'
import type { RunCommand, RunReport } from '../../model/run.js'

/** Accounts that are not complete come first, so they are among these. */
const ACCOUNTS_MAX = 20
/** A reason may quote an answer of the API. */
const LINE_LENGTH_MAX = 400

export const startText = (command: RunCommand, version: string, host: string): string =>
  `fieldwork-sync ${command} started (version ${version}) on ${host}\n`

/** The first line has the outcome and the exit code. */
export const endText = ({ command, host, status, exitCode, durationMs, report, error }: RunEnd): string => {
  const head = `fieldwork-sync ${command} on ${host}: ${status} (exit ${exitCode}) after ${humanDuration(durationMs)}`
  const accounts = report === null ? [] : [...report.accounts].toSorted((a, b) => rank(a) - rank(b))
  const left = accounts.length - ACCOUNTS_MAX
  return [
    head,
    ...(error === null ? [] : [error.message]),
    ...(report === null || report.publishError === null ? [] : [`not published: ${report.publishError}`]),
    ...accounts.slice(0, ACCOUNTS_MAX).map(accountLine),
    ...(left > 0 ? [`and ${counted(left, 'more account')}`] : []),
  ]
    .map((line) => `${shortened(line)}\n`)
    .join('')
}

const rank = ({ status }: RunReport): number => ['failed', 'partial', 'complete'].indexOf(status)

const accountLine = (run: RunReport): string => {
  const facts =
    run.replayed === null
      ? [
          `${counted(run.surveysRefreshed, 'survey')} refreshed`,
          counted(run.requests, 'request'),
          run.leftOver === 0 ? 'nothing left over' : `${counted(run.leftOver, 'survey')} left over`,
          ...(run.rejectedRows === 0 ? [] : [`${counted(run.rejectedRows, 'row')} rejected`]),
          ...(run.refusals === 0 ? [] : [`${counted(run.refusals, 'refusal')} with 429`]),
        ]
      : [
          `${counted(run.replayed.merged + run.replayed.queued + run.replayed.outdated, 'row')} replayed`,
          `${counted(run.replayed.waiting, 'row')} waiting`,
        ]
  const reason = run.reason === null ? '' : `; ${run.reason}`
  return `${run.account}: ${run.status}; ${facts.join(', ')}${reason}`
}

const shortened = (line: string): string => {
  const text = line.replaceAll(/\s*\n\s*/g, '; ')
  return text.length > LINE_LENGTH_MAX ? toUSVString(`${text.slice(0, LINE_LENGTH_MAX)}…`) : text
}
