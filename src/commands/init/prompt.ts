/**
 * Questions on a terminal, by Node's readline: it edits the line, and sees Ctrl-C and Ctrl-D. Prompt libraries add lists and
 * menus, which four questions do not need.
 */
import { createInterface } from 'node:readline/promises'
import { Writable } from 'node:stream'
import { messageOf, StoppedError } from '../../base/errors.js'

export interface Terminal {
  readonly input: NodeJS.ReadStream
  readonly output: NodeJS.WriteStream
  readonly signal: AbortSignal
}

export interface Prompt extends Disposable {
  /** The signal of the command. */
  readonly signal: AbortSignal
  say(text: string): void
  /** The answer without white space around it. Rejects with a `StoppedError` at Ctrl-C, Ctrl-D and a signal. */
  ask(question: string, isHidden?: boolean): Promise<string>
}

/** Dispose of it, or the terminal stays in raw mode. */
export const openPrompt = ({ input, output, signal }: Terminal): Prompt => {
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
  const answerTo = async (question: string, hidden: boolean): Promise<string> => {
    if (!hidden) return await Promise.race([lines.question(question), ended])
    output.write(question)
    isHidden = true
    try {
      return await Promise.race([lines.question(''), ended])
    } finally {
      isHidden = false
      output.write('\n')
    }
  }
  return {
    signal,
    say: (text) => void output.write(`${text}\n`),
    ask: async (question, hidden = false) => {
      try {
        return (await answerTo(question, hidden)).trim()
      } catch (error) {
        if (!hidden) output.write('\n')
        throw error
      }
    },
    [Symbol.dispose]: () => lines.close(),
  }
}
