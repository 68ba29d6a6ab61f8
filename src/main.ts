#!/usr/bin/env node
/**
 * The entry point: runs the command of argv and sets the exit code. The first SIGTERM or SIGINT makes the command stop, and
 * the process ends by itself. A second one ends the process at once. Nothing else calls `process.exit`.
 */

import { StoppedError } from './base/errors.js'
import { processEnvironment } from './settings/environment.js'

const SIGNAL_EXITS = { SIGINT: 130, SIGTERM: 143 } as const

const stop = new AbortController()

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.on(signal, () => {
    if (stop.signal.aborted) process.exit(SIGNAL_EXITS[signal])
    stop.abort(new StoppedError(`stopped by ${signal}`))
  })
}
// A reader that closes the pipe early (`| head`) is not a failure of the command.
process.stdout.on('error', () => undefined)

const { runCommandLine } = await import('./commands/command-line.js')
process.exitCode = await runCommandLine(process.argv.slice(2), {
  signal: stop.signal,
  env: processEnvironment(),
  stdout: process.stdout,
  stderr: process.stderr,
})
