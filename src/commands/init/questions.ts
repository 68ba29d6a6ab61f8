/**
 * Asks on a terminal for the answers that the flags do not give. A wrong answer is explained, and the question repeated. Node's
 * readline edits the line, and sees Ctrl-C and Ctrl-D. Prompt libraries add lists and menus, which four questions do not need.
 */
import { existsSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { createInterface } from 'node:readline/promises'
import { Writable } from 'node:stream'
import { messageOf, StoppedError } from '../../base/errors.js'
import { readToken } from '../../settings/credentials.js'
import { SettingsError } from '../../settings/problems.js'
import { type Answers, type NewToken, problemsOf, type Question } from './answers.js'
import { whyNotCreatable } from './files.js'

export interface Asked {
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
export const askMissing = async (prompt: Prompt, given: Partial<Answers>, target: Target): Promise<Asked> => {
  const { signal } = prompt
  const { 'token-file': tokenFile, ...others } = given
  const isNew = tokenFile !== undefined && tokenFile !== '' && !existsSync(tokenFile)
  const problems = [...(await problemsOf(isNew ? others : given, signal))]
  if (isNew && looksLikeToken(tokenFile)) problems.push({ where: '--token-file', text: LOOKS_LIKE_TOKEN })
  if (problems.length > 0) throw new SettingsError(problems)
  prompt.say(`This writes the settings file ${target.out} after the last answer. Ctrl-C stops.\n`)
  const answerTo = async (question: 'base-url' | 'id' | 'warehouse') =>
    given[question] ??
    (await askOne(
      prompt,
      { text: target.texts[question].describe, byDefault: defaultOf(question) },
      (answer) => problemWith(question, answer, signal),
    ))
  const [baseUrl, id] = [await answerTo('base-url'), await answerTo('id')]
  const { path, newToken } = await askForToken(prompt, tokenFile, target)
  const warehouse = await answerTo('warehouse')
  prompt.say('')
  return { answers: { 'base-url': baseUrl, id, warehouse, 'token-file': path }, newToken }
}

/** The token comes before its file: a token that is pasted into a question for a path would be shown and stored. */
const askForToken = async (prompt: Prompt, flag: string | undefined, target: Target) => {
  if (flag !== undefined) {
    if (existsSync(flag)) return { path: flag, newToken: null }
    prompt.say(`\n${flag} does not exist yet. It will be created, and only you can read it.`)
    return { path: flag, newToken: { path: resolve(flag), text: await askToken(prompt) } }
  }
  const byDefault = join(dirname(target.out), 'fieldwork-token')
  const token = await askToken(prompt, true)
  if (token === '') {
    const text = target.texts['token-file'].describe
    const path = await askOne(prompt, { text, byDefault }, (answer) =>
      problemWith('token-file', answer, prompt.signal),
    )
    return { path, newToken: null }
  }
  const path = await askOne(
    prompt,
    { text: 'File to write it to, which only you can read', byDefault },
    (answer) =>
      answer === token || looksLikeToken(answer) ? LOOKS_LIKE_TOKEN : whyNotNew(answer, target.mayReplace),
  )
  return { path, newToken: { path: resolve(path), text: token } }
}

interface OneQuestion {
  readonly text: string
  readonly byDefault: string | null
}

const askOne = async (
  prompt: Prompt,
  { text, byDefault }: OneQuestion,
  problemIn: (answer: string) => string | null | Promise<string | null>,
): Promise<string> => {
  for (;;) {
    const answer = inHome(
      (await prompt.ask(`${text}${byDefault === null ? '' : ` [${byDefault}]`}: `)) || (byDefault ?? ''),
    )
    const problem = await problemIn(answer)
    if (problem === null) return answer
    prompt.say(`  ${problem}`)
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

/** Why no new file can be written there; null if one can. */
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
    const token = await prompt.ask(`Secret token (it is not shown${ifNone}): `, true)
    if (token === '' && mayBeEmpty) return ''
    const read = readToken(token)
    if (read.ok) return token
    prompt.say(`  It ${read.problem}`)
  }
}

type Prompt = ReturnType<typeof openPrompt>

/** Dispose of it, or the terminal stays in raw mode. */
export const openPrompt = (input: NodeJS.ReadStream, output: NodeJS.WriteStream, signal: AbortSignal) => {
  let isHidden = false
  const echo = new Writable({
    write: (chunk: Buffer, _encoding, done) => {
      if (isHidden) done()
      else output.write(chunk, done)
    },
  })
  // Readline wraps long lines by the width of its output.
  Object.defineProperty(echo, 'columns', { get: () => output.columns })
  const lines = createInterface({ input, output: echo, terminal: true, historySize: 0 })
  const ended = new Promise<never>((_, reject) => {
    const stop = (reason: string) => reject(new StoppedError(`${reason}; nothing was written`))
    lines.once('SIGINT', () => stop('stopped by Ctrl-C'))
    lines.once('close', () => stop('the input ended before the last answer'))
    signal.addEventListener('abort', () => stop(messageOf(signal.reason)), { once: true })
  })
  // The end may come between two questions, when nothing waits for it.
  ended.catch(() => undefined)
  return {
    /** The signal of the command. */
    signal,
    say: (text: string): void => void output.write(`${text}\n`),
    /** The answer without white space around it. Rejects with a `StoppedError` at Ctrl-C, Ctrl-D and a signal. */
    ask: async (question: string, hidden = false): Promise<string> => {
      let isAnswered = false
      if (hidden) output.write(question)
      isHidden = hidden
      try {
        const answer = await Promise.race([lines.question(hidden ? '' : question), ended])
        isAnswered = true
        return answer.trim()
      } finally {
        isHidden = false
        // Only an answer that is seen ends its line.
        if (hidden || !isAnswered) output.write('\n')
      }
    },
    [Symbol.dispose]: (): void => lines.close(),
  }
}
