/**
 * Sends a file in parts. Where another object of the store has the same bytes at the same place, the store copies them. A copy counts only
 * if the store's own checksum of it is that of the file's bytes: a part is never copied from a damaged object into the next.
 */
import { throwIfAborted } from '../base/signals.js'
import { allAtMost, PART_BYTES_MIN, PARTS_AT_ONCE } from './client.js'
import { type FileBody, ObjectStoreError } from './object-store.js'

export interface Part {
  /** From 1. */
  readonly number: number
  readonly position: number
  readonly bytes: number
}

interface PartLimits {
  readonly partsMax: number
  /** Parts of a file with a base: of smaller parts, more are equal. */
  readonly comparedBytes: number
}

/** The size of the parts of a file. */
export const partBytesOf = (
  size: number,
  { base }: FileBody,
  { partsMax, comparedBytes }: PartLimits,
): number => Math.max(base === undefined ? PART_BYTES_MIN : comparedBytes, Math.ceil(size / partsMax))

/** The parts of `size` bytes. All have `partBytes`, but the last, as some stores demand. */
export const partsOf = (size: number, partBytes: number): readonly Part[] =>
  Array.from({ length: Math.ceil(size / partBytes) }, (_, index) => {
    const position = index * partBytes
    return { number: index + 1, position, bytes: Math.min(partBytes, size - position) }
  })

/** A `FileHandle` is one. */
export interface OpenedFile {
  read(
    buffer: Buffer,
    offset: number,
    length: number,
    position: number,
  ): Promise<{ readonly bytesRead: number }>
}

export interface PartSender<Sent> {
  send(part: Part, body: Buffer, signal: AbortSignal): Promise<Sent>
  /** Copies the bytes of the same place of the object `copyOf`. Null: they are others. */
  copy(part: Part, body: Buffer, copyOf: string, signal: AbortSignal): Promise<Sent | null>
  /** Whether the store's checksum of the part is that of these bytes. */
  isProved(sent: Sent, body: Buffer): boolean
}

/** Returns what the store answered, in the order of the parts. The parts are read into few buffers, so memory does not grow with the file. */
export const sendParts = <Sent>(
  file: OpenedFile,
  parts: readonly Part[],
  { base, onSent }: Pick<FileBody, 'base' | 'onSent'>,
  { send, copy, isProved }: PartSender<Sent>,
  callerSignal: AbortSignal,
): Promise<readonly Sent[]> => {
  const free: Buffer[] = []
  let copied = base ?? null
  /** One failure is enough: the rest is sent. */
  const stopCopying = (problem: string): void => {
    if (copied !== null) copied.onRefused(problem)
    copied = null
  }
  const copyPart = async (part: Part, body: Buffer, signal: AbortSignal): Promise<Sent | null> => {
    if (copied === null || part.position + part.bytes > copied.bytes) return null
    try {
      const answer = await copy(part, body, copied.copyOf, signal)
      return answer !== null && isProved(answer, body) ? answer : null
    } catch (error) {
      throwIfAborted(signal)
      if (!(error instanceof ObjectStoreError)) throw error
      stopCopying(error.message)
      return null
    }
  }
  return allAtMost(PARTS_AT_ONCE, parts, callerSignal, async (part, signal) => {
    const buffer = free.pop() ?? Buffer.allocUnsafe(part.bytes)
    const body = await readPart(file, buffer.subarray(0, part.bytes), part.position)
    let answer = await copyPart(part, body, signal)
    if (answer === null) {
      answer = await send(part, body, signal)
      onSent?.(part.bytes)
      if (copied !== null && !isProved(answer, body)) stopCopying('the store gives no checksum of a part')
    }
    free.push(buffer)
    return answer
  })
}

/** Fills `buffer` from the file. */
const readPart = async (file: OpenedFile, buffer: Buffer, position: number): Promise<Buffer> => {
  for (let filled = 0; filled < buffer.length; ) {
    const { bytesRead } = await file.read(buffer, filled, buffer.length - filled, position + filled)
    if (bytesRead === 0) throw new ObjectStoreError('a file became shorter while it was uploaded')
    filled += bytesRead
  }
  return buffer
}
