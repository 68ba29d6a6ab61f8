/**
 * The process of a command: runs the command of argv and sets the exit code. The first SIGTERM or SIGINT makes the command stop, and
 * the process ends by itself. A second one ends the process at once. Nothing else calls `process.exit`.
 */
import { EXIT_CODES, StoppedError } from './base/errors.js'
import { runCommandLine } from './commands/command-line.js'
import { processEnvironment } from './settings/environment.js'

const SIGNAL_EXITS = { SIGINT: 130, SIGTERM: 143 } as const
type Signal = keyof typeof SIGNAL_EXITS

/** A stopped command has this long to end the process by itself. More means that a file system does not answer. */
const END_MS_MAX = 1_000

const stop = new AbortController()
const received: Signal[] = []
let isDone = false

/**
 * Ends the process by the default action of the signal. `process.exit` waits for a query that runs (measured: 31 s), and for ever
 * for a file system that does not answer. It is for process 1 of a container, which no signal of its own ends.
 */
const endBy = (signal: Signal): never => {
  process.removeAllListeners(signal)
  process.kill(process.pid, signal)
  process.exit(SIGNAL_EXITS[signal])
}

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.on(signal, () => {
    if (isDone || received.length > 0) endBy(signal)
    received.push(signal)
    stop.abort(new StoppedError(`stopped by ${signal}`))
  })
}
// A process ends when nothing is left that it could wait for. Without the command's own end, that is no success.
process.once('exit', (code) => {
  if (isDone || code !== 0) return
  process.exitCode = EXIT_CODES.bug
  process.stderr.write(
    'fieldwork-sync: this is a bug in fieldwork-sync, please report it: the command waits for what never comes\n',
  )
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
  })
  isDone = true
  const [signal] = received
  if (signal !== undefined) setTimeout(() => endBy(signal), END_MS_MAX).unref()
}

void run()
