/**
 * Reads the text files that a user names: settings, tokens, faults. Such a file may be a pipe that nobody writes to, a device without
 * an end, or on a file system that does not answer. So reading is asynchronous, bounded, and ended by a signal. Files of ours are read
 * here too, because another user may have put something else in their place.
 */
import { constants, createReadStream, fstat, open } from 'node:fs'
import { open as openFile } from 'node:fs/promises'
import { Socket } from 'node:net'
import { addAbortSignal, type Readable } from 'node:stream'
import { isatty, ReadStream } from 'node:tty'
import { promisify } from 'node:util'
import { messageOf } from './errors.js'
import { unlessAborted } from './signals.js'

const BYTES_MAX = 1_048_576

/** The whole text, without a byte order mark. Throws an error that `whyUnreadable` explains, or the reason of the signal. */
export const readTextFile = async (path: string, signal: AbortSignal): Promise<string> => {
  const bytes = await unlessAborted(signal, readBytes(path, signal))
  return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
}

/**
 * The text of a file that we wrote. Null if a pipe is in its place, whose reader would wait for ever, or a device. Throws the errors of the
 * system.
 */
export const readOwnText = async (path: string): Promise<string | null> => {
  await using file = await openFile(path, UNBLOCKED)
  return (await file.stat()).isFile() ? await file.readFile('utf8') : null
}

/** Without O_NONBLOCK, opening a pipe waits for its writer, and nothing can end that. */
export const UNBLOCKED = constants.O_RDONLY | constants.O_NONBLOCK

const readBytes = async (path: string, signal: AbortSignal): Promise<Uint8Array> => {
  const file = await promisify(open)(path, UNBLOCKED)
  const stream = addAbortSignal(signal, await streamOf(file))
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of stream) {
    chunks.push(chunk)
    bytes += chunk.length
    // Leaving the loop closes the file.
    if (bytes > BYTES_MAX) throw Object.assign(new Error('the file is too large'), { code: 'EFBIG' })
  }
  return Buffer.concat(chunks)
}

/** A stream that owns the open file. Pipes and terminals wait in the event loop, not in a thread. */
const streamOf = async (file: number): Promise<Readable> => {
  if (isatty(file)) return new ReadStream(file)
  const isPipe = (await promisify(fstat)(file)).isFIFO()
  return isPipe
    ? new Socket({ fd: file, readable: true, writable: false })
    : createReadStream('', { fd: file })
}

/** The reason why a file cannot be read. Messages put it after the name of the file. */
export const whyUnreadable = (error: unknown): string => {
  const code = error instanceof Error && 'code' in error ? String(error.code) : messageOf(error)
  return REASONS[code] ?? `cannot be read (${code})`
}

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'does not exist',
  ENOTDIR: 'does not exist',
  EISDIR: 'is a directory, not a file',
  EACCES: 'cannot be read: permission denied',
  EPERM: 'cannot be read: permission denied',
  ELOOP: 'is a link that leads back to itself',
  ENXIO: 'is a socket, not a file or pipe',
  ERR_ENCODING_INVALID_ENCODED_DATA: 'is not UTF-8 text; is it the right file?',
  EFBIG: 'is larger than 1 MiB; is it the right file?',
}
