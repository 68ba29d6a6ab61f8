/**
 * The last line of stderr if stderr is not a terminal, as in a pod: one line of JSON that says how the command ended, why, and what to do
 * next. docs/reference/json.md has its fields.
 */
import { EXIT_CODES, type ExitCode, nextStep } from '../base/errors.js'
import { LOG_LEVELS } from '../base/log.js'

/** How a command ended, as the command reports it. */
export interface EndOfCommand {
  readonly reason?: string | null | undefined
  /** The stable code of the error that decided the exit code. */
  readonly errorCode?: string | null | undefined
  /** What to do next, if the exit code does not say it. */
  readonly next?: string | undefined
  /** Whether the command is a run. A run writes the line also after exit 0. */
  readonly isRun?: boolean | undefined
}

interface Ended extends EndOfCommand {
  readonly command: string
  readonly exitCode: ExitCode
  /** The level of the log. */
  readonly level: string
  /** The run that the log lines name. */
  readonly runId?: string | undefined
}

/** Null if nothing is written: a command without a run that succeeded, or a level that leaves the line out. */
export const endLine = (ended: Ended, now: Date): string | null => {
  const { command, exitCode, reason = null, errorCode = null, next, runId, isRun = false } = ended
  const status = STATUSES.get(exitCode) ?? { level: 'error', status: 'failed' }
  const levels: readonly string[] = LOG_LEVELS
  if (exitCode === EXIT_CODES.complete && !isRun) return null
  if (levels.indexOf(status.level) < levels.indexOf(ended.level)) return null
  return JSON.stringify({
    level: status.level,
    time: now.toISOString(),
    exit_code: exitCode,
    status: status.status,
    reason: reason?.replaceAll(/:\s*\n\s*/g, ': ').replaceAll(/\s*\n\s*/g, '; ') ?? null,
    next: next ?? nextStep(exitCode, errorCode),
    run_id: runId,
    msg: `${command} ended with exit ${exitCode}`,
  })
}

const STATUSES: ReadonlyMap<ExitCode, { readonly level: string; readonly status: string }> = new Map([
  [EXIT_CODES.complete, { level: 'info', status: 'complete' }],
  [EXIT_CODES.partial, { level: 'warn', status: 'partial' }],
])
