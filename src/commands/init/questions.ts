/** Asks on a terminal for the answers that the flags do not give. A wrong answer is explained, and the question repeated. */
import { addAbortListener } from 'node:events'
import { existsSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { log, password, text, updateSettings } from '@clack/prompts'
import { messageOf, StoppedError } from '../../base/errors.js'
import { secretToken } from '../../settings/credentials.js'
import { SettingsError } from '../../settings/problems.js'
import { readAs } from '../../settings/readers.js'
import { wrapped } from '../text/text-table.js'
import { type Answers, type NewToken, problemsOf, type Question } from './answers.js'
import { whyNotCreatable } from './files.js'

export interface Answered {
  readonly answers: Answers
  readonly newToken: NewToken | null
}

/** The question of each answer: the text of its flag. */
export type QuestionTexts = Readonly<Record<Question, { readonly describe: string }>>

interface Target {
  /** Absolute path of the settings file. */
  readonly out: string
  /** Whether files that exist may be replaced. */
  readonly mayReplace: boolean
  readonly texts: QuestionTexts
}

/** Throws a `SettingsError` for wrong flags before the first question. */
export const askMissing = async (
  prompt: Prompt,
  fromFlags: Partial<Answers>,
  target: Target,
): Promise<Answered> => {
  const { signal } = prompt
  const { 'token-file': tokenFile, ...others } = fromFlags
  const isNew = tokenFile !== undefined && tokenFile !== '' && !existsSync(tokenFile)
  const problems = [...(await problemsOf(isNew ? others : fromFlags, signal))]
  if (isNew && looksLikeToken(tokenFile)) problems.push({ where: '--token-file', text: LOOKS_LIKE_TOKEN })
  if (problems.length > 0) throw new SettingsError(problems)
  prompt.say(`This writes the settings file ${target.out} after the last answer. Ctrl-C stops.`)
  const answerTo = async (question: 'base-url' | 'id' | 'warehouse') =>
    fromFlags[question] ??
    (await askOne(
      prompt,
      { message: target.texts[question].describe, byDefault: defaultOf(question) },
      (answer) => problemWith(question, answer, signal),
    ))
  const [baseUrl, id] = [await answerTo('base-url'), await answerTo('id')]
  const { path, newToken } = await askForToken(prompt, tokenFile, target)
  const warehouse = await answerTo('warehouse')
  return { answers: { 'base-url': baseUrl, id, warehouse, 'token-file': path }, newToken }
}

/** The token comes before its file: a token that is pasted into a question for a path would be shown and stored. */
const askForToken = async (prompt: Prompt, flag: string | undefined, target: Target) => {
  if (flag !== undefined) {
    if (existsSync(flag)) return { path: flag, newToken: null }
    prompt.say(`${flag} does not exist yet. It will be created, and only you can read it.`)
    return { path: flag, newToken: { path: resolve(flag), text: await askToken(prompt) } }
  }
  const byDefault = join(dirname(target.out), 'fieldwork-token')
  const token = await askToken(prompt, true)
  if (token === '') {
    const message = target.texts['token-file'].describe
    const path = await askOne(prompt, { message, byDefault }, (answer) =>
      problemWith('token-file', answer, prompt.signal),
    )
    return { path, newToken: null }
  }
  const path = await askOne(
    prompt,
    { message: 'File to write it to, which only you can read', byDefault },
    (answer) =>
      answer === token || looksLikeToken(answer) ? LOOKS_LIKE_TOKEN : whyNotNew(answer, target.mayReplace),
  )
  return { path, newToken: { path: resolve(path), text: token } }
}

interface OneQuestion {
  readonly message: string
  readonly byDefault: string | null
}

const askOne = async (
  prompt: Prompt,
  question: OneQuestion,
  problemIn: (answer: string) => string | null | Promise<string | null>,
): Promise<string> => {
  for (;;) {
    const answer = inHome(await prompt.ask(question))
    const problem = await problemIn(answer)
    if (problem === null) return answer
    prompt.refuse(problem)
  }
}

const defaultOf = (question: Question): string | null =>
  question === 'warehouse' ? resolve('warehouse') : null

/** The shell does not see the answers, so it does not expand `~`. */
const inHome = (answer: string): string =>
  /^~(\/|$)/.test(answer) ? join(homedir(), answer.slice(1)) : answer

/**
 * Whether a path may be a token that was pasted into the wrong question: a long name without a slash and without an ending, with a digit
 * or in one piece. `./` before it says that it is a path.
 */
export const looksLikeToken = (path: string): boolean =>
  /^[^/~]{16,}$/.test(path) && !/\.[a-z]{2,5}$/i.test(path) && (/\d/.test(path) || !/[-_.]/.test(path))

const LOOKS_LIKE_TOKEN =
  'It looks like a token, not like a path. Nothing of it is kept, but this screen shows it. Write ./ before the name of a file'

const problemWith = async (
  question: Question,
  answer: string,
  signal: AbortSignal,
): Promise<string | null> => {
  const isPath = question === 'warehouse' || question === 'token-file'
  if (isPath && !existsSync(answer) && looksLikeToken(answer)) return LOOKS_LIKE_TOKEN
  const [problem] = await problemsOf({ [question]: answer }, signal)
  if (problem === undefined) return null
  return problem.text.startsWith('the ') ? `The ${problem.text.slice(4)}` : `It ${problem.text}`
}

/** Why no new file can be written at the path; null if it can. */
const whyNotNew = async (answer: string, mayReplace: boolean): Promise<string | null> => {
  if (existsSync(answer) && !mayReplace)
    return 'It exists already. Name another file. To use this one, stop by Ctrl-C, and leave the token empty'
  const why = await whyNotCreatable(resolve(answer))
  return why === null ? null : `It cannot be created: ${why}`
}

/** The token, typed without an echo. Empty only if `mayBeEmpty`. */
export const askToken = async (prompt: Prompt, mayBeEmpty = false): Promise<string> => {
  const ifNone = mayBeEmpty ? '; leave it empty if a file has it already' : ''
  for (;;) {
    const token = await prompt.askSecret(`Secret token (it is not shown${ifNone})`)
    if (token === '' && mayBeEmpty) return ''
    const read = readAs(secretToken, token)
    if (read.ok) return token
    prompt.refuse(`It ${read.problem}`)
  }
}

type Prompt = ReturnType<typeof openPrompt>

/** Ctrl-D ends a question, as Ctrl-C and Escape do. */
updateSettings({ aliases: { '\u0004': 'cancel' } })

/** Questions reject with a `StoppedError` at these keys and at a signal. Answers have no white space around them. */
export const openPrompt = (input: NodeJS.ReadStream, output: NodeJS.WriteStream, signal: AbortSignal) => {
  /** A question closes its terminal at its signal even after the answer, so each has its own. */
  const answerOf = async (ask: (signal: AbortSignal) => Promise<string | symbol>): Promise<string> => {
    const stop = new AbortController()
    using _ = addAbortListener(signal, () => stop.abort())
    const answer = await ask(stop.signal)
    if (typeof answer === 'string') return answer.trim()
    const reason = signal.aborted ? messageOf(signal.reason) : 'stopped at a question'
    throw new StoppedError(`${reason}; nothing was written`)
  }
  const streams = { input, output }
  const inLines = (message: string) => wrapped(message, (output.columns || COLUMNS) - GUIDE.length, '')
  return {
    /** The signal of the command. */
    signal,
    say: (message: string): void => log.message(inLines(message), { output }),
    /** Says why an answer cannot be used. */
    refuse: (problem: string): void => log.warn(inLines(problem), { output }),
    ask: ({ message, byDefault }: OneQuestion): Promise<string> =>
      answerOf((signal) => text({ message, ...streams, signal, ...defaultsTo(byDefault) })),
    /** Nothing that is typed is shown. */
    askSecret: (message: string): Promise<string> =>
      answerOf((signal) => password({ message, ...streams, signal, mask: '' })),
  }
}

/** The width of a terminal that does not report its width. */
const COLUMNS = 80
/** What the library writes before each line. */
const GUIDE = '│  '

const defaultsTo = (value: string | null) =>
  value === null ? {} : { placeholder: value, defaultValue: value }
