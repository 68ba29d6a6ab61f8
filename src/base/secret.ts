/**
 * A value that must never be visible. It prints as `[redacted]` wherever it is logged, inspected or serialized.
 * Only `reveal()` returns the text: to send a credential, to redact texts, and to take an address apart.
 */
import { inspect } from 'node:util'
import { replacerOf } from './encoded-secret.js'

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

/** Leaves out short texts, which may be ordinary words. Redacting them would leave holes in messages and rows. */
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

/** A shorter secret is no secret, and is a part of ordinary words. */
const REDACTED_LENGTH_MIN = 4

/**
 * Replaces every occurrence of the secrets in a text, because a server may echo a header in an error body, and a driver may put it into an
 * exception. `encoded-secret` lists the encodings in which it is found.
 */
export const createRedactor = (secrets: readonly Secret[]): ((text: string) => string) => {
  const texts = secrets.map((secret) => secret.reveal())
  return replacerOf(
    texts.filter((text) => text.length >= REDACTED_LENGTH_MIN),
    REDACTED,
  )
}
