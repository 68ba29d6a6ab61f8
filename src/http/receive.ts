/**
 * Sends a request, and reads the body of its answer as text. The limit counts decompressed bytes, because a small gzip body could fill the
 * memory.
 */
import { isUtf8 as isValidUtf8 } from 'node:buffer'
import { setImmediate } from 'node:timers/promises'
import { toUSVString } from 'node:util'
import type { Dispatcher } from 'undici'
import { throwIfAborted, unlessAborted } from '../base/signals.js'
import { declaredCodings, type HeaderFields } from './decompress.js'

/** The part of an error body that is read, bytes. */
const EXCERPT_BODY_BYTES_MAX = 16_384
const EXCERPT_LENGTH_MAX = 200

/** Marks bytes that are not UTF-8. Decoded text never has a lone surrogate, so the mark differs from a U+FFFD that was sent. */
const NOT_UTF8 = '\udfff'
const REPLACEMENT = '\ufffd'
const STAND_IN = '\ufdd0'
const BYTE_ORDER_MARK = '\ufeff'

export interface Received {
  readonly status: number
  /** Names in lower case. */
  readonly headers: HeaderFields
  /** The body, read once. Null if it has more than `bytesMax` bytes. Rejects when the connection breaks or the signal aborts. */
  readonly read: (bytesMax: number) => Promise<Buffer | null>
  /** Breaks the connection of a body that was not read to its end. */
  readonly [Symbol.dispose]: () => void
}

/** By lower-case name; null if it is missing. The first value of a repeated header. */
export const headerOf = ({ headers }: Pick<Received, 'headers'>, name: string): string | null => {
  const value = headers[name]
  return (Array.isArray(value) ? value[0] : value) ?? null
}

/**
 * Resolves when the response headers arrive. An abort ends the request, or the body; both reject with the signal's reason then, also while
 * undici connects, when it cannot end a request.
 */
export const receive = async (
  dispatcher: Dispatcher,
  request: Dispatcher.RequestOptions,
  signal: AbortSignal,
): Promise<Received> => {
  throwIfAborted(signal)
  const sent = dispatcher.request({ ...request, signal })
  const { statusCode, headers, body } = await unlessAborted(signal, sent)
  // The connection may break before the body is read. Then reading the body reports the error.
  body.on('error', () => undefined)
  return {
    status: statusCode,
    headers,
    read: (bytesMax) => readBody(body, bytesMax),
    [Symbol.dispose]: () => void body.destroy(),
  }
}

const readBody = async (body: AsyncIterable<Buffer>, bytesMax: number): Promise<Buffer | null> => {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of body) {
    bytes += chunk.length
    // Leaving the loop breaks the connection.
    if (bytes > bytesMax) return null
    chunks.push(chunk)
  }
  // undici frees the connection in an immediate after the last byte. A request before that would open another connection.
  await setImmediate()
  return Buffer.concat(chunks)
}

export type BodyText =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'too_large' }
  | { readonly kind: 'invalid'; readonly problem: string }

type Body = Pick<Received, 'headers' | 'read'>

/**
 * Reads a body of UTF-8 text to its end, without a byte order mark. Other bytes become lone surrogates (`isUtf8`). A problem may quote the
 * `Content-Encoding` as it came. Rejects like `read`.
 */
export const readText = async (body: Body, bytesMax: number): Promise<BodyText> => {
  const { codings, problem } = declaredCodings(body.headers)
  if (problem !== null) return invalid(problem)
  try {
    const bytes = await body.read(bytesMax)
    return bytes === null ? { kind: 'too_large' } : { kind: 'text', text: textOf(bytes) }
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : ''
    if (!OF_ZLIB.test(code)) throw error
    return invalid(`it cannot be decompressed as ${codings.join(', ')}, its content encoding (${code})`)
  }
}

/** The codes of gzip and deflate, and of Brotli. */
const OF_ZLIB = /^(?:Z_|ERR_(?:BROTLI)?_)/

const invalid = (problem: string): BodyText => ({ kind: 'invalid', problem })

/** Whether all bytes of a body were UTF-8. `text` is the result of `readText`. */
export const isUtf8 = (text: string): boolean => !text.includes(NOT_UTF8)

const textOf = (bytes: Buffer): string => {
  const text = isValidUtf8(bytes) ? bytes.toString() : markedTextOf(bytes)
  return text.startsWith(BYTE_ORDER_MARK) ? text.slice(1) : text
}

/**
 * A noncharacter stands in for each U+FFFD that was sent, so every U+FFFD after decoding marks invalid bytes. If a text contains that
 * noncharacter itself, every U+FFFD counts as invalid bytes.
 */
const markedTextOf = (bytes: Buffer): string => {
  const lenient = new TextDecoder('utf-8', { ignoreBOM: true })
  if (bytes.includes(STAND_IN)) return lenient.decode(bytes).replaceAll(REPLACEMENT, NOT_UTF8)
  const [first, second, third] = Buffer.from(REPLACEMENT)
  const standIn = Buffer.from(STAND_IN)
  for (let at = 0; at < bytes.length; at++)
    if (bytes[at] === first && bytes[at + 1] === second && bytes[at + 2] === third) standIn.copy(bytes, at)
  // With millions of replacements, split and join is three times as fast as replaceAll.
  return lenient.decode(bytes).split(REPLACEMENT).join(NOT_UTF8).split(STAND_IN).join(REPLACEMENT)
}

/** The beginning of an error body, on one line; empty if the body cannot be read. */
export const readExcerpt = async (body: Body, redact: (text: string) => string): Promise<string> => {
  const read = await readText(body, EXCERPT_BODY_BYTES_MAX).catch(() => null)
  return read?.kind === 'text' ? excerptOf(read.text, redact) : ''
}

/**
 * One line of printable text. It is redacted before it is cut, because half a secret is not found. NULs are removed first, because a secret
 * in UTF-16 has a NUL beside each character.
 */
export const excerptOf = (
  text: string,
  redact: (text: string) => string,
  lengthMax = EXCERPT_LENGTH_MAX,
): string => {
  const line = redact(text.replaceAll('\0', ''))
    .replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\s]+/gu, ' ')
    .trim()
  // The cut may split a surrogate pair, and invalid bytes have become lone surrogates.
  return toUSVString(line.length > lengthMax ? `${line.slice(0, lengthMax)}…` : line)
}
