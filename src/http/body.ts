/**
 * The body of an answer as text. undici hands out the bytes of the body as they came, so decompression is ours, and with it
 * the limit: it counts the bytes after decompression, or a few kilobytes of gzip could fill the memory.
 */
import { isUtf8 as isValidUtf8 } from 'node:buffer'
import { pipeline, type Readable } from 'node:stream'
import { toUSVString } from 'node:util'
import { createGunzip } from 'node:zlib'

/** What is read of an error body, bytes. */
const EXCERPT_BODY_BYTES_MAX = 16_384
const EXCERPT_LENGTH_MAX = 200

/**
 * Stands in a text for bytes that are not UTF-8. Half a surrogate pair is in no text that was decoded, so whoever keeps
 * a string can tell these places from a U+FFFD that was sent.
 */
const NOT_UTF8 = '\udfff'
const REPLACEMENT = '\ufffd'
const STAND_IN = '\ufdd0'
const BYTE_ORDER_MARK = '\ufeff'

export type BodyText =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'too_large' }
  | { readonly kind: 'invalid'; readonly problem: string }

/**
 * Reads a body of UTF-8 text to its end. A byte order mark is dropped. Bytes that are not UTF-8 become lone surrogates
 * (`isUtf8`). Rejects with what the stream fails with: a broken connection, or the abort of its request.
 */
export const readText = async (
  body: Readable,
  encoding: string | null,
  bytesMax: number,
): Promise<BodyText> => {
  const coding = encoding?.trim().toLowerCase() ?? ''
  if (!['', 'identity', 'gzip', 'x-gzip'].includes(coding)) {
    discard(body)
    return { kind: 'invalid', problem: 'it came in an encoding that was not asked for' }
  }
  const chunks: Uint8Array[] = []
  let bytes = 0
  try {
    for await (const chunk of coding.endsWith('gzip') ? gunzip(body) : body) {
      if (!(chunk instanceof Uint8Array)) continue
      bytes += chunk.byteLength
      if (bytes > bytesMax) return { kind: 'too_large' }
      chunks.push(chunk)
    }
    return { kind: 'text', text: textOf(Buffer.concat(chunks)) }
  } catch (error) {
    const problem = contentProblem(error)
    if (problem === null) throw error
    return { kind: 'invalid', problem }
  } finally {
    discard(body)
  }
}

/** Whether all bytes of a body that was read as `text` were UTF-8. */
export const isUtf8 = (text: string): boolean => !text.includes(NOT_UTF8)

const textOf = (bytes: Buffer): string => {
  const text = isValidUtf8(bytes) ? bytes.toString() : markedTextOf(bytes)
  return text.startsWith(BYTE_ORDER_MARK) ? text.slice(1) : text
}

/**
 * A U+FFFD that was sent is another character while the rest is decoded: every one that comes out was no UTF-8. The other
 * one is a noncharacter, which no text should have. Where one has it, each U+FFFD is taken for replaced.
 */
const markedTextOf = (bytes: Buffer): string => {
  const lenient = new TextDecoder('utf-8', { ignoreBOM: true })
  if (bytes.includes(STAND_IN)) return lenient.decode(bytes).replaceAll(REPLACEMENT, NOT_UTF8)
  const [first, second, third] = Buffer.from(REPLACEMENT)
  const standIn = Buffer.from(STAND_IN)
  for (let at = 0; at < bytes.length; at++)
    if (bytes[at] === first && bytes[at + 1] === second && bytes[at + 2] === third) standIn.copy(bytes, at)
  // Where there are millions of them, to split is three times as quick as to replace.
  return lenient.decode(bytes).split(REPLACEMENT).join(NOT_UTF8).split(STAND_IN).join(REPLACEMENT)
}

/** A short piece of an error body, on one line; empty when there is none to be had. */
export const readExcerpt = async (
  body: Readable,
  encoding: string | null,
  redact: (text: string) => string,
): Promise<string> => {
  const read = await readText(body, encoding, EXCERPT_BODY_BYTES_MAX).catch(() => null)
  return read?.kind === 'text' ? excerptOf(read.text, redact) : ''
}

/**
 * One line of printable text, redacted before it is cut: half a secret would pass the redactor. So would one in UTF-16,
 * which reads as a NUL beside each character: NULs are taken out first.
 */
export const excerptOf = (
  text: string,
  redact: (text: string) => string,
  lengthMax = EXCERPT_LENGTH_MAX,
): string => {
  const line = redact(text.replaceAll('\0', ''))
    .replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\s]+/gu, ' ')
    .trim()
  // The cut may go through a character of two halves, and bytes that were not UTF-8 are halves.
  return toUSVString(line.length > lengthMax ? `${line.slice(0, lengthMax)}…` : line)
}

const gunzip = (body: Readable): Readable => {
  const unpacked = createGunzip()
  // The error reaches whoever reads `unpacked`.
  pipeline(body, unpacked, () => undefined)
  return unpacked
}

/** Ends a body that is not read to its end; its connection goes with it. */
const discard = (body: Readable): void => {
  if (body.destroyed) return
  body.on('error', () => undefined)
  body.destroy()
}

/** What is wrong with the content itself; null when the transport failed. */
const contentProblem = (error: unknown): string | null => {
  if (!(error instanceof Error) || !('code' in error) || typeof error.code !== 'string') return null
  return error.code.startsWith('Z_') ? `it cannot be decompressed (${error.code})` : null
}
