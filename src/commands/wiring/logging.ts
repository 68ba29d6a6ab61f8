/** The log and the progress of a command, on the terminal that it was started from. */
import { systemClock } from '../../base/clock.js'
import type { Log } from '../../base/log.js'
import { createRedactor } from '../../base/secret.js'
import { createLog } from '../../logging/log.js'
import { createProgressBar, createProgressLog, type Progress, type UsageOf } from '../../logging/progress.js'
import { createStatusLine } from '../../logging/status-line.js'
import { createStderr } from '../../logging/stderr.js'
import { terminalFeatures } from '../../settings/environment.js'
import { type Settings, secretsOf } from '../../settings/settings.js'
import type { CliContext } from '../context.js'

export interface CommandTelemetry {
  readonly log: Log
  /** Watches a run: a bar on a terminal, lines in the log elsewhere. */
  progress(usage: UsageOf): Progress
  /** Whether what is printed may be coloured. */
  readonly colour: boolean
}

/** From here on no token of the settings appears in anything that is printed. */
export const openTelemetry = (settings: Settings, context: CliContext): CommandTelemetry => {
  const secrets = secretsOf(settings.accounts)
  context.protect(secrets)
  const { redraw, colour } = terminalFeatures(context.env, context.stderr)
  const line = createStatusLine(createStderr())
  const log = createLog({
    level: settings.logLevel,
    stream: line,
    pretty: context.stderr.isTTY,
    colour,
    redact: createRedactor(secrets),
  })
  return {
    log,
    colour: terminalFeatures(context.env, context.stdout).colour,
    progress: (usage) =>
      redraw && !settings.json
        ? createProgressBar({
            line,
            clock: systemClock,
            usage,
            accounts: settings.accounts.map(({ name }) => name),
            columns: () => context.stderr.columns,
          })
        : createProgressLog({ log, clock: systemClock, usage }),
  }
}
