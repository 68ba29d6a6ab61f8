/** The command line: the list of commands, and the one place that reports their errors. */
import { EXIT_CODES, type ExitCode } from '../base/errors.js'
import { createRedactor, Secret } from '../base/secret.js'
import { nearest } from '../base/suggest.js'
import { packageVersion } from '../base/version.js'
import { checkCommand } from './check/command.js'
import { conformanceCommand } from './conformance/command.js'
import type { CliContext, Command, Surroundings } from './context.js'
import { exportCommand } from './export/command.js'
import { COMMON_FLAGS, readFlags } from './flags.js'
import { helpOf, helpOfAll } from './help.js'
import { planCommand } from './plan/command.js'
import { referenceServerCommand } from './reference-server/command.js'
import { replayCommand } from './replay/command.js'
import { reportError } from './report-error.js'
import { schemaCommand } from './schema/command.js'
import { statusCommand } from './status/command.js'
import { syncCommand } from './sync/command.js'
import { tokenIn, UsageError, wantsJson } from './usage.js'

/** Every command, in the order of `--help`. */
export const COMMANDS: readonly Command[] = [
  syncCommand,
  planCommand,
  checkCommand,
  statusCommand,
  exportCommand,
  replayCommand,
  schemaCommand,
  conformanceCommand,
  referenceServerCommand,
]

/** Runs the command in `argv` (without `node` and the script). Resolves to the exit code and never rejects. */
export const runCommandLine = async (
  argv: readonly string[],
  surroundings: Surroundings,
): Promise<number> => {
  let exitCode: ExitCode = EXIT_CODES.complete
  // An error may quote a token before the settings are read, so we redact the tokens of argv and environment from the start.
  const secrets = [surroundings.env.FIELDWORK_SYNC_API_TOKEN, tokenIn(argv)].map(
    (token) => new Secret(token ?? ''),
  )
  const context: CliContext = {
    ...surroundings,
    exit: (code) => {
      exitCode = code
    },
    protect: (more) => {
      secrets.push(...more)
    },
  }
  try {
    if (argv.length === 0) {
      surroundings.stderr.write(helpOfAll(COMMANDS, surroundings.stdout.columns))
      return EXIT_CODES.usage
    }
    await run(argv[0] === 'help' ? ['--help', ...argv.slice(1)] : argv, context)
    return exitCode
  } catch (error) {
    const redact = createRedactor(secrets)
    const reported = reportError(error)
    surroundings.stderr.write(redact(reported.text))
    if (wantsJson(argv)) surroundings.stdout.write(`${redact(JSON.stringify(reported.json))}\n`)
    return reported.exitCode
  }
}

const run = async (argv: readonly string[], context: CliContext): Promise<void> => {
  const { stdout } = context
  const place = argv.findIndex((word) => commandNamed(word) !== undefined)
  const command = commandNamed(argv[place])
  if (command === undefined) {
    const { help, version } = readFlags(withoutCommand(argv), 'fieldwork-sync', {
      ...COMMON_FLAGS,
      json: { type: 'boolean', describe: '' },
    })
    if (version === true) stdout.write(`${packageVersion()}\n`)
    else if (help === true) stdout.write(helpOfAll(COMMANDS, stdout.columns))
    else throw new UsageError('say which command to run')
    return
  }
  const { help, version, ...flags } = readFlags(argv.toSpliced(place, 1), command.name, {
    ...command.flags,
    ...COMMON_FLAGS,
  })
  if (version === true) stdout.write(`${packageVersion()}\n`)
  else if (help === true) stdout.write(helpOf(command, stdout.columns))
  else await command.run(context, flags)
}

const commandNamed = (word: string | undefined): Command | undefined =>
  COMMANDS.find(({ name }) => name === word)

/** The words of a command line that names no command. Throws a `UsageError` if it names an unknown one. */
const withoutCommand = (argv: readonly string[]): readonly string[] => {
  const [word] = argv.filter((one) => !one.startsWith('-'))
  if (word === undefined) return argv
  const meant = nearest(
    word,
    COMMANDS.map(({ name }) => name),
  )
  throw new UsageError(`there is no command ${word}${meant === null ? '' : `: did you mean ${meant}?`}`)
}
