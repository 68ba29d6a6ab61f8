/** The requests about a run, at its start and at its end: pings and webhooks, with a few lines of text for people. */
import { toUSVString } from 'node:util'
import { EXIT_CODES } from '../base/errors.js'
import { counted, humanDuration } from '../base/human.js'
import type { NotifyTargets, RunEnd, Target } from '../model/monitoring.js'
import type { RunReport } from '../model/run.js'
import type { Delivery } from './deliver.js'

const PLAIN = 'text/plain; charset=utf-8'
export const JSON_TYPE = 'application/json'

export type RunStart = Pick<RunEnd, 'runId' | 'command' | 'version' | 'host' | 'startedMs'>

/** No request if the setting is absent. */
const post = (target: Target | null, contentType: string, body: string): Delivery[] =>
  target === null ? [] : [{ target, method: 'POST', contentType, body }]

export const startDeliveries = (
  target: Target | null,
  { command, version, host }: Pick<RunStart, 'command' | 'version' | 'host'>,
): Delivery[] => post(target, PLAIN, `fieldwork-sync ${command} started (version ${version}) on ${host}\n`)

/**
 * Whether nothing failed. A budget or a signal may have ended the run. A run that a signal stopped before it had a report has done nothing,
 * and is no success.
 */
export const isSuccess = ({ exitCode, report }: Pick<RunEnd, 'exitCode' | 'report'>): boolean =>
  exitCode === EXIT_CODES.complete ||
  (exitCode === EXIT_CODES.partial &&
    report !== null &&
    report.accounts.every(({ hasFailures }) => !hasFailures))

/** `redact` removes secrets from a text; `document` is the end of the run in JSON. */
export const endDeliveries = (
  targets: NotifyTargets,
  end: RunEnd,
  { redact, document }: { readonly redact: (text: string) => string; readonly document: string },
): readonly Delivery[] => {
  const text = redact(endText(end))
  const { success, failure, webhook } = targets
  return [...post(isSuccess(end) ? success : failure, PLAIN, text), ...post(webhook, JSON_TYPE, document)]
}

/** The most accounts of a message. Accounts that are not complete come first. */
const ACCOUNTS_MAX = 20
/** The longest line. A reason may quote a long answer of the API. */
const LINE_LENGTH_MAX = 400

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
          ...(run.rateLimited === 0 ? [] : [`${counted(run.rateLimited, 'refusal')} with 429`]),
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
