#!/usr/bin/env node
import { StoppedError } from './base/errors.js'
/**
 * The entry: argv to command to exit code. The first SIGTERM or SIGINT asks the command to stop, a second one ends the
 * process at once, the only place where it is ended rather than left to end.
 */
import { runCommandLine } from './commands/command-line.js'
import { processEnvironment } from './settings/environment.js'

const SIGNAL_EXITS = { SIGINT: 130, SIGTERM: 143 } as const

const stop = new AbortController()

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.on(signal, () => {
    if (stop.signal.aborted) process.exit(SIGNAL_EXITS[signal])
    stop.abort(new StoppedError(`stopped by ${signal}`))
  })
}
// A reader that goes away (`| head`) is no failure of the job.
process.stdout.on('error', () => undefined)

process.exitCode = await runCommandLine(process.argv.slice(2), {
  signal: stop.signal,
  env: processEnvironment(),
  stdout: process.stdout,
  stderr: process.stderr,
})
