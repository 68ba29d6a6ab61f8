/** The log and the progress of a command, on stderr. */
import { systemClock } from '../../base/clock.js'
import type { Log } from '../../base/log.js'
import { createRedactor } from '../../base/secret.js'
import { createLog } from '../../logging/log.js'
import { createProgressBar, createProgressLog, type Progress, type UsageOf } from '../../logging/progress.js'
import { createStatusLine } from '../../logging/status-line.js'
import { createStderr } from '../../logging/stderr.js'
import { terminalFeatures } from '../../settings/environment.js'
import { type Settings, type SettingsWithSecrets, secretsOf } from '../../settings/settings.js'
import type { CliContext } from '../context.js'

export interface CommandTelemetry {
  readonly log: Log
  /** Shows the progress of a run: a bar on a terminal, log lines elsewhere. */
  progress(usage: UsageOf): Progress
  /** Whether stdout may be coloured. */
  readonly colour: boolean
}

/** After this call, tokens of the settings are redacted in the log and in reported errors. */
export const openTelemetry = async (
  settings: SettingsWithSecrets & Pick<Settings, 'logLevel' | 'json'>,
  context: CliContext,
): Promise<CommandTelemetry> => {
  const secrets = secretsOf(settings)
  context.protect(secrets)
  const { redraw, colour } = terminalFeatures(context.env, context.stderr)
  const line = createStatusLine(createStderr())
  const log = createLog({
    level: settings.logLevel,
    stream: line,
    pretty: context.stderr.isTTY ? (await import('../../logging/pretty.js')).prettyLines(colour) : null,
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
