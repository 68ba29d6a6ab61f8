/**
 * A value that must never be visible. It prints as `[redacted]` wherever it is logged, inspected or serialized.
 * Only `reveal()` returns the text: to send a credential, to redact texts, and to take an address apart.
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

const LENGTH_MIN = 8

/** Without shorter texts, which may be ordinary words and no credentials. Redacting them would leave holes in messages. */
export const withoutWords = (secrets: readonly Secret[]): readonly Secret[] =>
  secrets.filter((secret) => secret.reveal().length >= LENGTH_MIN)

/**
 * The credentials in a URL: `user:password@` as written, the password as written and as sent, and both as a header has
 * them, because a server may echo its headers. A URL without a password holds no secret and may be shown.
 */
export const secretsInUrl = (url: Secret): readonly Secret[] => {
  const text = url.reveal()
  const parts = new URL(text)
  const { username, password } = parts
  if (password === '') return []
  const written = /^[^/?#]*\/\/([^/?#]*@)/.exec(text)?.[1] ?? ''
  const passwords = [new Secret(password), new Secret(unescaped(password))]
  const pairs = [written, `${username}:${password}@`, basicCredentials(parts)]
  return [...pairs.map((pair) => new Secret(pair)), ...withoutWords(passwords)]
}

/** The credentials of a URL as the header `Authorization: Basic` has them. */
export const basicCredentials = ({ username, password }: URL): string =>
  Buffer.from(`${unescaped(username)}:${unescaped(password)}`).toString('base64')

/** `text` without percent-encoding; unchanged if the encoding is broken. */
export const unescaped = (text: string): string => {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

export const REDACTED = '[redacted]'

/**
 * Replaces every occurrence of the secrets in a text, in their JSON- and URL-escaped forms too. (Some servers escape the
 * slash in JSON, most do not.) A server may echo a header in an error body, and a driver may put it into an exception.
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
