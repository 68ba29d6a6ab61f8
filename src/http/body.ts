/**
 * The body of an answer as text. undici hands out what came over the wire, so decompression is ours, and with it
 * the limit: it counts the bytes after decompression, or a few kilobytes of gzip could fill the memory.
 */
import { pipeline, type Readable } from 'node:stream'
import { toUSVString } from 'node:util'
import { createGunzip } from 'node:zlib'

/** What is read of an error body, bytes. */
const EXCERPT_BODY_BYTES_MAX = 16_384
const EXCERPT_LENGTH_MAX = 200

export type BodyText =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'too_large' }
  | { readonly kind: 'invalid'; readonly problem: string }

/**
 * Reads a body of UTF-8 text to its end. A byte order mark is dropped. Rejects with what the stream fails with:
 * a broken connection, or the abort of its request.
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
    return { kind: 'text', text: new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(chunks)) }
  } catch (error) {
    const problem = contentProblem(error)
    if (problem === null) throw error
    return { kind: 'invalid', problem }
  } finally {
    discard(body)
  }
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

/** One line of printable text, redacted before it is cut: half a secret would pass the redactor. */
export const excerptOf = (
  text: string,
  redact: (text: string) => string,
  lengthMax = EXCERPT_LENGTH_MAX,
): string => {
  const line = redact(text)
    .replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\s]+/gu, ' ')
    .trim()
  // The cut may go through a character of two halves.
  return line.length > lengthMax ? toUSVString(`${line.slice(0, lengthMax)}…`) : line
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
  if (error.code.startsWith('Z_')) return `it cannot be decompressed (${error.code})`
  return error.code === 'ERR_ENCODING_INVALID_ENCODED_DATA' ? 'it is not UTF-8' : null
}
