/**
 * What `init` does: reads flags or answers, writes the settings file and a new token file, makes the checks, and prints what to type next.
 * If the settings file exists, `init` asks for the token alone.
 */
import { rm } from 'node:fs/promises'
import { basename, delimiter, dirname, relative, resolve } from 'node:path'
import { type ErrorCode, EXIT_CODES } from '../base/errors.js'
import { Secret } from '../base/secret.js'
import { throwIfAborted } from '../base/signals.js'
import { createStderr } from '../logging/stderr.js'
import type { Environment } from '../settings/environment.js'
import { SETTING_NAMES } from '../settings/names.js'
import { failedChecks, renderChecks, runChecks } from './check.js'
import type { CliContext } from './context.js'
import { usageError } from './flags.js'
import { type Answers, fileOf, QUESTIONS, type Question, readAnswers } from './init/answers.js'
import { requirePlace, writeNewFile } from './init/files.js'
import { mendToken, tokenFileOf, type Written } from './init/mend-token.js'
import { type Answered, askMissing, openPrompt, type QuestionTexts } from './init/questions.js'
import { jsonOf } from './text/json.js'

interface InitFlags extends Readonly<Partial<Record<Question, string | undefined>>> {
  /** The settings file. */
  readonly out: string
  readonly force?: boolean | undefined
  readonly 'no-check'?: boolean | undefined
  readonly 'log-level'?: string | undefined
  readonly json?: boolean | undefined
}

const unsaid = () => Promise.resolve(true)

/** With `--json`, the one JSON value is all that is printed. */
const UNSAID = { print: unsaid, tell: unsaid }

export const init = async (context: CliContext, flags: InitFlags, texts: QuestionTexts): Promise<void> => {
  const { out: file, force = false, json = false, 'log-level': logLevel, 'no-check': noCheck } = flags
  if (file === '') throw usageError('--out needs the path of a file', 'init')
  const out = resolve(file)
  const isTerminal = context.stderr.isTTY && context.stdin().isTTY
  const fromFlags = isTerminal ? null : required(flags)
  const mended = isTerminal && !force ? await tokenFileOf(context, flags, out) : null
  if (mended === null) await requirePlace(out, force)
  const askAll = async () =>
    fromFlags === null ? await ask(context, flags, texts) : { answers: fromFlags, newToken: null }
  const { tokenFile, newToken } =
    mended === null
      ? await writeAll(context, await askAll(), out, force)
      : await mendToken(context, mended, out)
  const { print, tell } = json ? UNSAID : context
  if (mended === null) await print(`wrote ${out}\n`)
  if (newToken !== null) await print(`wrote ${newToken.path}, which only you can read\n`)
  warnOfVariables(context)
  const result =
    noCheck === true ? null : await runChecks(context, { config: out, 'log-level': logLevel, json })
  const { checks = null, exitCode = EXIT_CODES.complete, failed = null } = result ?? {}
  const isComplete = exitCode === EXIT_CODES.complete
  const commandLine = (...words: readonly string[]) => nextCommand(words, process.argv[1], context.env)
  const next = commandLine(checks !== null && isComplete ? 'sync' : 'check', '--config', file)
  context.exit(exitCode, { reason: failedChecks(checks), errorCode: failed })
  if (checks !== null) await tell(`\n${renderChecks(checks)}`)
  const again = `${commandLine('init', '--out', file)} rewrites ${tokenFile} and keeps all else`
  await print(`\n${isComplete ? `next: ${next}` : mending(failed, file, again, next)}\n`)
  if (!json) return
  const written = { settingsFile: out, tokenFile, tokenFileCreated: newToken !== null }
  await context.print(`${jsonOf({ exitCode, ...written, checks, next })}\n`)
}

/** The advice after a failed check. */
const mending = (failed: ErrorCode | null, file: string, again: string, next: string): string =>
  failed === 'credentials_refused'
    ? `if the token is wrong, type it again: ${again}\nif the identifier is wrong, correct it in ${file}, then: ${next}`
    : `correct what failed in ${file}, then: ${next}`

/** Without a terminal nobody answers. */
const required = (flags: InitFlags): Answers => {
  const { 'base-url': baseUrl, id, 'token-file': tokenFile, warehouse = 'warehouse' } = flags
  if (baseUrl !== undefined && id !== undefined && tokenFile !== undefined)
    return { 'base-url': baseUrl, id, 'token-file': tokenFile, warehouse }
  const missing = (['base-url', 'id', 'token-file'] as const).flatMap((flag) =>
    flags[flag] === undefined ? [`--${flag}`] : [],
  )
  throw usageError(`init can ask only on a terminal; without one it also needs ${missing.join(', ')}`, 'init')
}

const ask = async (context: CliContext, flags: InitFlags, texts: QuestionTexts): Promise<Answered> => {
  const prompt = openPrompt(context.stdin(), context.stderr, context.signal)
  const fromFlags = Object.fromEntries(
    QUESTIONS.flatMap((question) => (flags[question] === undefined ? [] : [[question, flags[question]]])),
  )
  const answered = await askMissing(prompt, fromFlags, {
    out: resolve(flags.out),
    mayReplace: flags.force === true,
    texts,
  })
  if (answered.newToken !== null) context.protect([new Secret(answered.newToken.text)])
  return answered
}

/** Writes both files or none. */
const writeAll = async (
  { signal }: CliContext,
  { answers, newToken }: Answered,
  out: string,
  mayReplace: boolean,
): Promise<Written> => {
  const text = fileOf(await readAnswers(answers, newToken, signal), answers['token-file'])
  throwIfAborted(signal)
  if (newToken !== null) await writeNewFile(newToken.path, `${newToken.text}\n`, { mode: 0o600, mayReplace })
  try {
    await writeNewFile(out, text, { mode: 0o644, mayReplace })
  } catch (error) {
    if (newToken !== null && !mayReplace) await rm(newToken.path, { force: true })
    throw error
  }
  return { tokenFile: resolve(answers['token-file']), newToken }
}

/** A later command would use these values instead of the answers. */
const warnOfVariables = ({ env }: CliContext): void => {
  const set = SETTING_NAMES.flatMap(({ variable = '', path: [key] }) =>
    env[variable] !== undefined && ANSWERED.includes(String(key)) ? [variable] : [],
  )
  const [are, override] = set.length === 1 ? ['is', 'overrides'] : ['are', 'override']
  if (set.length > 0)
    createStderr().write(`${set.join(', ')} ${are} set in the environment and ${override} this file\n`)
}

const ANSWERED = ['base_url', 'id', 'token', 'token_file', 'warehouse', 'storage']

/** The command line to type next, as this one was typed. `script` is `process.argv[1]`: the file that Node runs, or a link to it. */
export const nextCommand = (words: readonly string[], script: string | undefined, env: Environment): string =>
  [...program(script ?? '', env), ...words].map(quoted).join(' ')

const program = (script: string, env: Environment): readonly string[] => {
  const name = basename(script)
  if (!name.endsWith('.js'))
    return [(env.PATH ?? '').split(delimiter).includes(dirname(script)) ? name : script]
  const path = relative(process.cwd(), script)
  return ['node', path.startsWith('..') ? script : path]
}

const quoted = (word: string): string =>
  /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`
