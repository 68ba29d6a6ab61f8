/** Runs a command line. No other module reports the errors of commands. */
import { EXIT_CODES, type ExitCode, worseOf } from '../base/errors.js'
import { createRedactor, Secret } from '../base/secret.js'
import { createStderr, type TextStream } from '../logging/stderr.js'
import { createStdout } from '../logging/stdout.js'
import type { CliContext, Surroundings } from './context.js'
import { type EndOfCommand, endLine } from './end-line.js'
import { reportError } from './report-error.js'
import { completionsOf, runYargs } from './yargs.js'

/** Runs the command in `argv` (without `node` and the script). Resolves to the exit code and never rejects. */
export const runCommandLine = async (
  argv: readonly string[],
  surroundings: Surroundings,
): Promise<number> => {
  let ended: ExitCode | null = null
  let end: EndOfCommand = {}
  let logging: Parameters<CliContext['logsAs']>[0] = { level: 'info' }
  const [print, stderr] = [
    createStdout(surroundings.signal, surroundings.stdout.isTTY === true),
    createStderr(),
  ]
  // An error may quote a token before the settings are read, so we redact the tokens of argv and environment from the start.
  const tokens = [surroundings.env.FIELDWORK_SYNC_API_TOKEN ?? '', ...tokensIn(argv)]
  const secrets = tokens.map((token) => new Secret(token))
  const context: CliContext = {
    ...surroundings,
    print,
    tell: async (text) => await print(await brokenFor(surroundings.stdout, text)),
    exit: (code, of = {}) => {
      ended = code
      end = of
    },
    logsAs: (log) => {
      logging = log
    },
    protect: (more) => void secrets.push(...more),
  }
  /** An error that comes after `exit` concerns the output only, and must not hide how the command ended. */
  const report = async (error: unknown): Promise<ExitCode> => {
    const redact = createRedactor(secrets)
    const { exitCode, text, json } = reportError(error)
    const after = ended === null ? '\n' : `. Apart from its output, the command ended with exit ${ended}\n`
    stderr.write(await brokenFor(surroundings.stderr, `${redact(text)}${after}`))
    const worst = ended === null ? exitCode : worseOf(ended, exitCode)
    if (worst !== ended) end = { ...end, reason: json.error.message, errorCode: json.error.code }
    if (ended !== null) return worst
    ended = exitCode
    try {
      if (wantsJson(argv)) await print(`${redact(JSON.stringify(json))}\n`)
      return exitCode
    } catch (unwritten) {
      return await report(unwritten)
    }
  }
  const code = await runOrHelp(argv, context, stderr).then(
    (help) => help ?? ended ?? EXIT_CODES.complete,
    report,
  )
  const line = endLine({ ...end, ...logging, command: argv[0] ?? '', exitCode: code }, new Date())
  const isCommand = argv.length > 0
  if (isCommand && line !== null && !surroundings.stderr.isTTY)
    stderr.write(`${createRedactor(secrets)(line)}\n`)
  return code
}

/** The exit code of a command line without a command, which gets the help; null after a command. */
const runOrHelp = async (
  argv: readonly string[],
  context: CliContext,
  stderr: TextStream,
): Promise<ExitCode | null> => {
  if (argv.length > 0) {
    await run(argv, context)
    return null
  }
  const toStderr = (text: string) => {
    stderr.write(text)
    return Promise.resolve(true)
  }
  await run(['--help'], { ...context, stdout: context.stderr, print: toStderr })
  return EXIT_CODES.usage
}

const run = async (argv: readonly string[], context: CliContext): Promise<void> => {
  if (argv[0] === '--get-yargs-completions') {
    const completions = await completionsOf(argv.slice(1))
    await context.print(completions.map((completion) => `${completion}\n`).join(''))
    return
  }
  const { columns } = context.stdout
  const text = await runYargs(argv, { columns, run: (command, flags) => command.run(context, flags) })
  if (text !== '') await context.print(`${text}\n`)
}

const brokenFor = async (stream: NodeJS.WriteStream, text: string): Promise<string> => {
  const { brokenAtWords } = await import('./text/text-table.js')
  return brokenAtWords(text, stream)
}

/** Whether `--json` is given. It reads argv, because an error may come before the flags are parsed. */
const wantsJson = (argv: readonly string[]): boolean => {
  const index = argv.findLastIndex((word) => /^--json(=true|=false)?$/.test(word))
  return index >= 0 && argv[index] !== '--json=false' && argv[index + 1] !== 'false'
}

/** The values of `--token`, which must be redacted in errors about the command line. */
const tokensIn = (argv: readonly string[]): readonly string[] =>
  argv.flatMap((word, at) => {
    if (word.startsWith('--token=')) return word.slice('--token='.length)
    return argv[at - 1] === '--token' ? word : []
  })
