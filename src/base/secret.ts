/** A value that prints as `[redacted]` everywhere. Only `reveal()` has the text: to send it, to redact texts, to take an address apart. */
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

/** A shorter password may be an ordinary word. Redacting it would leave holes in messages. */
const PASSWORD_LENGTH_MIN = 8

/**
 * `user:password@` as written, the password as written and as sent, and both as a header has them, which a server may echo. A URL without a
 * password has no secret.
 */
export const secretsInUrl = (url: Secret): readonly Secret[] => {
  const text = url.reveal()
  const parts = new URL(text)
  const { username, password } = parts
  if (password === '') return []
  const written = /^[^/?#]*\/\/([^/?#]*@)/.exec(text)?.[1] ?? ''
  const passwords = [password, unescaped(password)].filter((one) => one.length >= PASSWORD_LENGTH_MIN)
  return [written, `${username}:${password}@`, basicCredentials(parts), ...passwords].map(
    (one) => new Secret(one),
  )
}

/** The credentials of a URL as the header `Authorization: Basic` has them. */
export const basicCredentials = ({ username, password }: URL): string =>
  Buffer.from(`${unescaped(username)}:${unescaped(password)}`).toString('base64')

/** `text` without percent-encoding; unchanged if the encoding is broken. */
const unescaped = (text: string): string => {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

export const REDACTED = '[redacted]'

/** Replaces the secrets in a text, also escaped for JSON (slash or not) and URLs: servers echo headers, drivers put them into errors. */
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
