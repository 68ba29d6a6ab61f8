/** The command line: the list of commands, and the one place that reports their errors. */
import yargs, { type Argv } from 'yargs'
import { EXIT_CODES, EXITS, type ExitCode } from '../base/errors.js'
import { createRedactor, Secret } from '../base/secret.js'
import { packageVersion } from '../base/version.js'
import { checkCommand } from './check/command.js'
import { conformanceCommand } from './conformance/command.js'
import type { CliContext, Surroundings } from './context.js'
import { exportCommand } from './export/command.js'
import { planCommand } from './plan/command.js'
import { referenceServerCommand } from './reference-server/command.js'
import { replayCommand } from './replay/command.js'
import { reportError } from './report-error.js'
import { schemaCommand } from './schema/command.js'
import { statusCommand } from './status/command.js'
import { syncCommand } from './sync/command.js'
import { refuseUnknown, tokenIn, UsageError, wantsJson, YARGS_STRINGS } from './usage.js'

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
    const parser = commandLine(argv, context)
    if (argv.length === 0) {
      surroundings.stderr.write(`${await parser.getHelp()}\n`)
      return EXIT_CODES.usage
    }
    await parser.parseAsync()
    return exitCode
  } catch (error) {
    const redact = createRedactor(secrets)
    const reported = reportError(error)
    surroundings.stderr.write(redact(reported.text))
    if (wantsJson(argv)) surroundings.stdout.write(`${redact(JSON.stringify(reported.json))}\n`)
    return reported.exitCode
  }
}

/** Every command, in the order of `--help`. */
export const commandsIn = (context: CliContext) =>
  [
    syncCommand(context),
    planCommand(context),
    checkCommand(context),
    statusCommand(context),
    exportCommand(context),
    replayCommand(context),
    schemaCommand(context),
    conformanceCommand(context),
    referenceServerCommand(context),
  ] as const

const commandLine = (argv: readonly string[], context: CliContext): Argv => {
  const commands = commandsIn(context)
  refuseUnknown(argv, commands)
  const [sync, plan, check, status, exportTables, replay, schema, conformance, referenceServer] = commands
  return yargs([...argv])
    .scriptName('fieldwork-sync')
    .usage(
      '$0 <command>\n\nSyncs surveys, sample sources and fieldwork progress from the API into DuckDB and Parquet, within its request cap.',
    )
    .command(sync)
    .command(plan)
    .command(check)
    .command(status)
    .command(exportTables)
    .command(replay)
    .command(schema)
    .command(conformance)
    .command(referenceServer)
    .updateStrings(YARGS_STRINGS)
    .parserConfiguration({ 'duplicate-arguments-array': false, 'boolean-negation': false })
    .demandCommand(1, 1, 'say which command to run', 'give only one command')
    .strict()
    .version(packageVersion())
    .help()
    .alias('help', 'h')
    .wrap(Math.min(110, context.stdout.columns ?? 110))
    .epilogue(EXIT_CODES_HELP)
    .exitProcess(false)
    .fail((message, error) => {
      // yargs reports a missing value with its own error class.
      throw error === null || error === undefined || error.name === 'YError' ? new UsageError(message) : error
    })
}

const EXIT_CODES_HELP = [
  'Exit codes:',
  ...Object.entries(EXITS).map(([code, { meaning }]) => `  ${code}  ${meaning}`),
].join('\n')
