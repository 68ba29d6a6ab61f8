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
  readonly texts: QuestionTexts
}

/** Throws a `SettingsError` for wrong flags before the first question. */
export const askMissing = async (prompt: Prompt, given: Partial<Answers>, target: Target): Promise<Asked> => {
  const { signal } = prompt
  const tokenFile = given['token-file']
  const isNew = tokenFile !== undefined && tokenFile !== '' && !existsSync(tokenFile)
  const { 'token-file': _, ...others } = given
  const problems = await problemsOf(isNew ? others : given, signal)
  if (problems.length > 0) throw new SettingsError(problems)
  prompt.say(`This writes the settings file ${target.out} after the last answer. Ctrl-C stops.\n`)
  const answerTo = async (question: Question) => given[question] ?? (await askOne(prompt, question, target))
  const answers: Answers = {
    'base-url': await answerTo('base-url'),
    id: await answerTo('id'),
    warehouse: await answerTo('warehouse'),
    'token-file': await answerTo('token-file'),
  }
  const path = resolve(answers['token-file'])
  const newToken = existsSync(path) ? null : { path, text: await askToken(prompt, path) }
  prompt.say('')
  return { answers, newToken }
}

const askOne = async (prompt: Prompt, question: Question, { out, texts }: Target): Promise<string> => {
  const byDefault = defaultOf(question, out)
  const text = `${texts[question].describe}${byDefault === null ? '' : ` [${byDefault}]`}: `
  for (;;) {
    const answer = inHome((await prompt.ask(text)) || (byDefault ?? ''))
    const problem = await problemWith(question, answer, prompt.signal)
    if (problem === null) return answer
    prompt.say(`  ${problem}`)
  }
}

const defaultOf = (question: Question, out: string): string | null => {
  if (question === 'warehouse') return resolve('warehouse')
  return question === 'token-file' ? join(dirname(out), 'fieldwork-token') : null
}

/** The shell does not see the answers, so it does not expand `~`. */
const inHome = (answer: string): string =>
  /^~(\/|$)/.test(answer) ? join(homedir(), answer.slice(1)) : answer

const problemWith = async (
  question: Question,
  answer: string,
  signal: AbortSignal,
): Promise<string | null> => {
  if (question === 'token-file' && answer !== '' && !existsSync(answer)) {
    const why = await whyNotCreatable(resolve(answer))
    return why === null ? null : `${answer} does not exist, and cannot be created: ${why}`
  }
  const [problem] = await problemsOf({ [question]: answer }, signal)
  if (problem === undefined) return null
  return problem.text.startsWith('the ') ? `The ${problem.text.slice(4)}` : `It ${problem.text}`
}

const askToken = async (prompt: Prompt, path: string): Promise<string> => {
  prompt.say(`\n${path} does not exist yet. It will be created, and only you can read it.`)
  for (;;) {
    const token = await prompt.ask('Secret token (it is not shown): ', true)
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
