/** Reads a body as text; undici does not decompress. The limit counts bytes after that, or a little gzip could fill the memory. */
import { isUtf8 as isValidUtf8 } from 'node:buffer'
import { promisify, toUSVString } from 'node:util'
import { gunzip, gunzipSync } from 'node:zlib'
import type { Dispatcher } from 'undici'
import { hasCode } from '../base/errors.js'
import { onAbort, throwIfAborted } from '../base/signals.js'

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
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  /** The body, read once. Null if it has more than `bytesMax` bytes. Rejects when the connection breaks or the signal aborts. */
  readonly read: (bytesMax: number) => Promise<Buffer | null>
  /** Breaks the connection of a body that was not read to its end. */
  readonly [Symbol.dispose]: () => void
}

/** By lower-case name; null if it is missing. If it is repeated: the first value, but the whole list of `content-encoding`. */
export const headerOf = ({ headers }: Pick<Received, 'headers'>, name: string): string | null => {
  const value = headers[name]
  if (!Array.isArray(value)) return value ?? null
  return name === 'content-encoding' ? value.join(', ') : (value[0] ?? null)
}

/**
 * Resolves when the response headers arrive. An abort ends the request, or the body; both reject with the signal's reason then, also while
 * undici connects, when it cannot end a request.
 * (docs/decisions/settings-and-http.md#0078-answers-are-read-from-the-events-of-undicis-dispatcher)
 */
export const receive = (
  dispatcher: Dispatcher,
  request: Dispatcher.DispatchOptions,
  signal: AbortSignal,
): Promise<Received> =>
  new Promise((resolve, reject) => {
    throwIfAborted(signal)
    const chunks: Uint8Array[] = []
    let bytes = 0
    let end: Error | 'complete' | null = null
    let changed = (): void => undefined
    let abortRequest = (_reason: Error): void => undefined
    const finish = (how: Error | 'complete') => {
      if (end !== null) return
      end = how
      listening[Symbol.dispose]()
      if (how !== 'complete') reject(how)
      changed()
    }
    const abort = (reason: Error) => {
      if (end !== null) return
      finish(reason)
      abortRequest(reason)
    }
    const listening = onAbort([signal], abort)
    const read = (bytesMax: number): Promise<Buffer | null> =>
      new Promise((resolveBody, rejectBody) => {
        changed = () => {
          if (bytes > bytesMax) {
            resolveBody(null)
            abort(NOT_NEEDED)
          } else if (end === 'complete') resolveBody(Buffer.concat(chunks))
          else if (end !== null) rejectBody(end)
        }
        changed()
      })
    dispatcher.dispatch(request, {
      onRequestStart: (controller) => {
        abortRequest = (reason) => controller.abort(reason)
        if (end instanceof Error) controller.abort(end)
      },
      // Informational answers come before the answer itself.
      onResponseStart: (_, status, headers) => {
        if (status >= 200) resolve({ status, headers, read, [Symbol.dispose]: () => abort(NOT_NEEDED) })
      },
      onResponseData: (_, chunk) => {
        chunks.push(chunk)
        bytes += chunk.byteLength
        changed()
      },
      // undici frees the connection in an immediate after the last byte. A request before that would open another connection.
      onResponseEnd: () => queueMicrotask(() => setImmediate(() => finish('complete'))),
      onResponseError: (_, error) => finish(error),
    })
  })

const NOT_NEEDED = new Error('the rest of the body is not needed')

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
  const codings = codingsOf(headerOf(body, 'content-encoding'))
  const unknown = codings.find((coding) => !GZIP.test(coding))
  if (unknown !== undefined)
    return invalid(`it has the content encoding "${unknown}", which was not requested`)
  if (codings.length > CODINGS_MAX) return invalid(`it is compressed more than ${CODINGS_MAX} times`)
  let bytes = await body.read(codings.length === 0 ? bytesMax : compressedMax(bytesMax))
  if (bytes === null) return { kind: 'too_large' }
  try {
    for (let left = codings.length - 1; left >= 0; left -= 1)
      bytes = await unpack(bytes, left === 0 ? bytesMax : compressedMax(bytesMax))
    return { kind: 'text', text: textOf(bytes) }
  } catch (error) {
    if (hasCode(error, 'ERR_BUFFER_TOO_LARGE')) return { kind: 'too_large' }
    const code = error instanceof Error && 'code' in error ? String(error.code) : ''
    if (!code.startsWith('Z_')) throw error
    return invalid(`it cannot be decompressed as gzip, its content encoding (${code})`)
  }
}

const invalid = (problem: string): BodyText => ({ kind: 'invalid', problem })

const codingsOf = (encoding: string | null): readonly string[] =>
  (encoding ?? '')
    .split(',')
    .map((coding) => coding.trim())
    .filter((coding) => coding !== '' && !UNCHANGED.test(coding))

const GZIP = /^(?:x-)?gzip$/i
/** No codings, except for the first: charsets and transfer encodings that misconfigured servers send. They change no byte. */
const UNCHANGED = /^(?:identity|none|utf-?8|(?:us-)?ascii|iso-8859-1|7bit|8bit|binary)$/i
/** More of them would only cost time. */
const CODINGS_MAX = 5

/** Compression makes no content longer than by this, even `CODINGS_MAX` times. */
const compressedMax = (bytesMax: number): number => Math.ceil(bytesMax * 1.01) + 1_024

/** A larger body is worth waking another thread. */
const UNPACKED_AT_ONCE_BYTES_MAX = 65_536

const unpack = (bytes: Buffer, bytesMax: number): Buffer | Promise<Buffer> => {
  const limit = { maxOutputLength: bytesMax }
  return bytes.length > UNPACKED_AT_ONCE_BYTES_MAX
    ? promisify(gunzip)(bytes, limit)
    : gunzipSync(bytes, limit)
}

/** Whether all bytes of a body were UTF-8. `text` is the result of `readText`. */
export const isUtf8 = (text: string): boolean => !text.includes(NOT_UTF8)

const textOf = (bytes: Buffer): string => {
  const text = isValidUtf8(bytes) ? bytes.toString() : markedTextOf(bytes)
  return text.startsWith(BYTE_ORDER_MARK) ? text.slice(1) : text
}

/** A stand-in, a noncharacter, replaces each sent U+FFFD, so others mark invalid bytes. If a text has it, every U+FFFD counts as such. */
const markedTextOf = (bytes: Buffer): string => {
  const lenient = new TextDecoder('utf-8', { ignoreBOM: true })
  if (bytes.includes(STAND_IN)) return lenient.decode(bytes).replaceAll(REPLACEMENT, NOT_UTF8)
  const [first, second, third] = Buffer.from(REPLACEMENT)
  const standIn = Buffer.from(STAND_IN)
  for (let at = 0; at < bytes.length; at++)
    if (bytes[at] === first && bytes[at + 1] === second && bytes[at + 2] === third) standIn.copy(bytes, at)
  // With millions of them, split and join is three times as fast as replaceAll.
  return lenient.decode(bytes).split(REPLACEMENT).join(NOT_UTF8).split(STAND_IN).join(REPLACEMENT)
}

/** The beginning of an error body, on one line; empty if the body cannot be read. */
export const readExcerpt = async (body: Body, redact: (text: string) => string): Promise<string> => {
  const read = await readText(body, EXCERPT_BODY_BYTES_MAX).catch(() => null)
  return read?.kind === 'text' ? excerptOf(read.text, redact) : ''
}

/**
 * One line of printable text. It is redacted before it is cut, because half a secret is not found. NULs are removed first: a secret in
 * UTF-16 has one beside each character.
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
