/**
 * A value that must never be seen. It prints as `[redacted]` wherever it is logged, inspected or serialized;
 * `reveal()` is the only way to the text and is called in one place, where the request headers are written.
 */
import { inspect } from 'node:util'

export class Secret {
  readonly #text: string

  constructor(text: string) {
    this.#text = text
  }

  reveal(): string {
    return this.#text
  }

  toString(): string {
    return REDACTED
  }

  toJSON(): string {
    return REDACTED
  }

  [inspect.custom](): string {
    return REDACTED
  }
}

/** Shorter passwords are words like any other, and taking them out would leave holes in sentences. */
const PASSWORD_LENGTH_MIN = 8

/**
 * The credentials in a URL: `user:password@` as it stands there, and the password as it is sent too. Of a URL without a
 * password nothing is secret: its address may be told.
 */
export const secretsInUrl = (url: Secret): readonly Secret[] => {
  const text = url.reveal()
  const { username, password } = new URL(text)
  if (password === '') return []
  const written = /^[^/?#]*\/\/([^/?#]*@)/.exec(text)?.[1] ?? ''
  const passwords = [password, unescaped(password)].filter((one) => one.length >= PASSWORD_LENGTH_MIN)
  return [written, `${username}:${password}@`, ...passwords].map((one) => new Secret(one))
}

/** The text behind percent-encoding; as it is where that is broken. */
export const unescaped = (text: string): string => {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

export const REDACTED = '[redacted]'

/**
 * Replaces every occurrence of the secrets in a text, also in their JSON- and URL-escaped forms (some servers escape
 * the slash in JSON, most do not): a server may echo a header in an error body, and a driver may put it into an exception.
 */
export const createRedactor = (secrets: readonly Secret[]): ((text: string) => string) => {
  const needles = [
    ...new Set(
      secrets.flatMap((secret) => {
        const text = secret.reveal()
        const inJson = JSON.stringify(text).slice(1, -1)
        return [text, inJson, inJson.replaceAll('/', '\\/'), encodeURIComponent(text)]
      }),
    ),
  ]
    .filter((needle) => needle !== '')
    .sort((a, b) => b.length - a.length)
  return (text) => needles.reduce((redacted, needle) => redacted.replaceAll(needle, REDACTED), text)
}
