/**
 * The process of a command: runs the command of argv and sets the exit code. The first SIGTERM or SIGINT makes the command stop, and the
 * process ends by itself. A second signal, or an error that nothing catches, ends the process at once. No other code calls `process.exit`.
 */
import { EXIT_CODES, StoppedError } from './base/errors.js'
import { runCommandLine } from './commands/command-line.js'
import { endLine } from './commands/end-line.js'
import { reportError } from './commands/report-error.js'
import { createStderr } from './logging/stderr.js'
import { processEnvironment } from './settings/environment.js'

const SIGNAL_EXITS = { SIGINT: 130, SIGTERM: 143 } as const
type Signal = keyof typeof SIGNAL_EXITS

/**
 * Seconds in which the process of a stopped command has to end by itself. If it takes longer, a file system does not answer. The seconds
 * are counted one by one, so that a suspended machine does not use them up.
 */
const END_SECONDS_MAX = 10

const stop = new AbortController()
const received: Signal[] = []
let isDone = false

/**
 * Ends the process by the default action of the signal. `process.exit` waits for a query that runs (measured: 31 s), and for ever for a
 * file system that does not answer. We call it only for process 1 of a container, which no signal of its own ends.
 */
const endBy = (signal: Signal): never => {
  process.removeAllListeners(signal)
  process.kill(process.pid, signal)
  process.exit(SIGNAL_EXITS[signal])
}

/** Ends the process after `END_SECONDS_MAX`, if something holds it. Otherwise the exit code of the command stays. */
const endLater = (signal: Signal): void => {
  let seconds = 0
  setInterval(() => {
    seconds += 1
    if (seconds === END_SECONDS_MAX) endBy(signal)
  }, 1_000).unref()
}

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.on(signal, () => {
    if (received.length > 0) endBy(signal)
    received.push(signal)
    stop.abort(new StoppedError(`stopped by ${signal}`))
    if (isDone) endLater(signal)
  })
}
// A process also ends when nothing is left to wait for. If the command has not ended by then, this is no success.
process.once('exit', (code) => {
  if (isDone || code !== 0) return
  process.exitCode = EXIT_CODES.bug
  const reason = 'the command waits for what never comes'
  process.stderr.write(`fieldwork-sync: this is a bug in fieldwork-sync, please report it: ${reason}\n`)
  const [, , command = ''] = process.argv
  const line = endLine({ command, exitCode: EXIT_CODES.bug, level: 'info', reason }, new Date())
  if (!process.stderr.isTTY) process.stderr.write(`${line}\n`)
})
// An error in a callback of a library reaches no caller.
process.once('uncaughtException', (error) => {
  const { text, exitCode } = reportError(error)
  createStderr().write(`${text}\n`)
  isDone = true
  process.exit(exitCode)
})
// undici warns that its decompression may change. Its version is pinned, and the user of the command can do nothing about the warning.
const printers = process.listeners('warning')
process.removeAllListeners('warning')
process.on('warning', (warning) => {
  if (warning.name !== 'ExperimentalWarning') for (const print of printers) print(warning)
})
// A terminal that is gone is not a failure of the command.
process.stderr.on('error', () => undefined)

const run = async (): Promise<void> => {
  process.exitCode = await runCommandLine(process.argv.slice(2), {
    signal: stop.signal,
    env: processEnvironment(),
    stdin: () => process.stdin,
    stdout: process.stdout,
    stderr: process.stderr,
    endNow: () => endBy(received[0] ?? 'SIGTERM'),
  })
  isDone = true
  const [signal] = received
  if (signal !== undefined) endLater(signal)
}

void run()
