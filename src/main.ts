#!/usr/bin/env node
/**
 * The entry point: runs the command of argv and sets the exit code. The first SIGTERM or SIGINT makes the command stop, and
 * the process ends by itself. A second one ends the process at once. Nothing else calls `process.exit`.
 */
import * as nodeModule from 'node:module'
import { fileURLToPath } from 'node:url'
import { StoppedError } from './base/errors.js'
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
// A reader that closes the pipe early (`| head`) is not a failure of the command.
process.stdout.on('error', () => undefined)

// From Node 22.8 on, the next start finds the code of the later chunks compiled. The cache is beside the code, where only those
// who may change the code can write it. Where nobody can, there is no cache.
if ('enableCompileCache' in nodeModule && typeof nodeModule.enableCompileCache === 'function')
  nodeModule.enableCompileCache(fileURLToPath(new URL('compile-cache', import.meta.url)))

process.exitCode = await runCommandLine(process.argv.slice(2), {
  signal: stop.signal,
  env: processEnvironment(),
  stdin: () => process.stdin,
  stdout: process.stdout,
  stderr: process.stderr,
})
