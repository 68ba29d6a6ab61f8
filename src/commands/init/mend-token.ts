/** `init` if the settings file exists: asks for the token alone, and writes the token file again. */
import { existsSync } from 'node:fs'
import { realpath } from 'node:fs/promises'
import { Secret } from '../../base/secret.js'
import { throwIfAborted } from '../../base/signals.js'
import { readTextFile } from '../../base/text-file.js'
import { loadSettings } from '../../settings/load-settings.js'
import { SettingsError } from '../../settings/problems.js'
import type { CliContext } from '../context.js'
import { type NewToken, QUESTIONS, type Question } from './answers.js'
import { writeNewFile } from './files.js'
import { askToken, openPrompt } from './questions.js'

export interface Written {
  /** Absolute path. */
  readonly tokenFile: string
  readonly newToken: NewToken | null
}

/**
 * The token file of a settings file that exists, to type the token again; null without a settings file, if the settings do not have exactly
 * one account with a token file, or if flags give other answers.
 */
export const tokenFileOf = async (
  { signal }: CliContext,
  flags: Readonly<Partial<Record<Question, string | undefined>>>,
  out: string,
): Promise<string | null> => {
  if (!existsSync(out) || QUESTIONS.some((question) => flags[question] !== undefined)) return null
  const files = new Set<string>()
  const readFile = (path: string) => {
    if (path === out) return readTextFile(path, signal)
    files.add(path)
    return 'token'
  }
  try {
    const { accounts } = await loadSettings({ env: {}, flags: { config: out }, signal, readFile })
    const [file] = files
    return accounts.length === 1 && files.size === 1 && file !== undefined ? file : null
  } catch (error) {
    if (error instanceof SettingsError) return null
    throw error
  }
}

/** Asks for the token alone, and writes its file. The settings file stays as it is. */
export const mendToken = async (context: CliContext, tokenFile: string, out: string): Promise<Written> => {
  const prompt = openPrompt(context.stdin(), context.stderr, context.signal)
  prompt.say(
    `${out} exists and stays as it is. Type the token again. Ctrl-C stops; --force asks for everything.`,
  )
  const text = await askToken(prompt)
  context.protect([new Secret(text)])
  throwIfAborted(context.signal)
  // A link to it stays a link.
  const path = await realpath(tokenFile).catch(() => tokenFile)
  await writeNewFile(path, `${text}\n`, { mode: 0o600, mayReplace: true })
  return { tokenFile, newToken: { path: tokenFile, text } }
}
