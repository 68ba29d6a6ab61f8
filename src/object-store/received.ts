/** What every client makes of an answer: the age of an object, its whole body, a new file. */
import { open, rm } from 'node:fs/promises'
import type { Readable } from 'node:stream'
import { messageOf } from '../base/errors.js'
import { throwIfAborted } from '../base/signals.js'
import { ObjectStoreError } from './object-store.js'
import { failure, type Sender } from './send.js'

/** Never negative: both times are whole seconds of one clock. */
export const ageMs = (lastModified: Date | undefined, nowMs: number | null): number | null =>
  lastModified === undefined || nowMs === null ? null : Math.max(0, nowMs - lastModified.getTime())

/** Called with each body: what was read before it is void. Returns how many bytes it has read. */
export type Read = (chunks: AsyncIterable<Uint8Array>) => Promise<number>

/** How often a body is requested before it has failed. */
const BODIES_MAX = 3

interface Receive<Answer> {
  readonly sender: Sender
  readonly key: string
  readonly signal: AbortSignal
  /** Null if there is no such object. */
  readonly request: () => Promise<Answer | null>
  readonly bodyOf: (answer: Answer) => { readonly body: Readable; readonly length: number | undefined }
}

/** No client repeats every body that breaks off, and a short body must never pass for the whole. Null if there is no such object. */
export const receiveBody = async <Answer>(
  { sender, key, signal, request, bodyOf }: Receive<Answer>,
  read: Read,
): Promise<Answer | null> => {
  for (let attempt = 1; ; attempt += 1) {
    const answer = await request()
    if (answer === null) return null
    try {
      const { body, length } = bodyOf(answer)
      const bytes = await read(body).catch((error: unknown) => {
        body.destroy()
        throw error
      })
      if (length === undefined || bytes === length) return answer
      throw new Error(`the object broke off after ${bytes} of ${length} bytes`)
    } catch (error) {
      throwIfAborted(signal)
      if (error instanceof ObjectStoreError || attempt === BODIES_MAX)
        throw failure(sender, `read ${key}`, error)
    }
  }
}

/** Writes what `receive` reads to a new file. `receive` returns whether there is such an object. Without the whole object there is no file. */
export const receiveToFile = async (
  path: string,
  receive: (read: Read) => Promise<boolean>,
): Promise<boolean> => {
  const locally = <Value>(work: Promise<Value>): Promise<Value> =>
    work.catch((error: unknown) => {
      throw new ObjectStoreError(`cannot write ${path}: ${messageOf(error)}`, { cause: error })
    })
  // A file that is there already is somebody else's: it stays.
  const file = await locally(open(path, 'ax'))
  let isWhole = false
  try {
    isWhole = await receive(async (chunks) => {
      let bytes = 0
      // Every write appends, also after the file was emptied.
      await locally(file.truncate(0))
      for await (const chunk of chunks) {
        await locally(file.appendFile(chunk))
        bytes += chunk.length
      }
      return bytes
    })
    return isWhole
  } finally {
    await file.close()
    if (!isWhole) await rm(path, { force: true })
  }
}
