/** Asks for the answers that the flags do not give. A wrong answer is explained, and the question repeated. */
import { existsSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { readToken } from '../../settings/credentials.js'
import { SettingsError } from '../../settings/problems.js'
import { initOptions } from '../options.js'
import { type Answers, type NewToken, problemsOf, type Question } from './answers.js'
import { whyNotCreatable } from './files.js'
import type { Prompt } from './prompt.js'

export interface Asked {
  readonly answers: Answers
  readonly newToken: NewToken | null
}

/** Throws a `SettingsError` for wrong flags before the first question. */
export const askMissing = async (prompt: Prompt, given: Partial<Answers>, out: string): Promise<Asked> => {
  const { signal } = prompt
  const tokenFile = given['token-file']
  const isNew = tokenFile !== undefined && tokenFile !== '' && !existsSync(tokenFile)
  const { 'token-file': _, ...others } = given
  const problems = await problemsOf(isNew ? others : given, signal)
  if (problems.length > 0) throw new SettingsError(problems)
  prompt.say(`This writes the settings file ${out} after the last answer. Ctrl-C stops.\n`)
  const answerTo = async (question: Question) => given[question] ?? (await askOne(prompt, question, out))
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

const askOne = async (prompt: Prompt, question: Question, out: string): Promise<string> => {
  const byDefault = defaultOf(question, out)
  const text = `${initOptions[question].describe}${byDefault === null ? '' : ` [${byDefault}]`}: `
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
