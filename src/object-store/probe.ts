/**
 * Finds out whether a store keeps the conditions of writes. Some servers ignore If-None-Match or If-Match, and then two runs at
 * once would overwrite each other. No documentation tells this as surely as an attempt.
 */
import { randomUUID } from 'node:crypto'
import type { ObjectStore } from './object-store.js'

export interface ConditionalWrites {
  readonly hold: boolean
  /** What went wrong, one line; null if they hold. */
  readonly problem: string | null
}

/** Writes and deletes an object below `check/`. Rejects like the verbs of the store. */
export const probeConditionalWrites = async (
  store: ObjectStore,
  signal: AbortSignal,
): Promise<ConditionalWrites> => {
  const key = `check/${randomUUID()}`
  const problemOf = async (): Promise<string | null> => {
    const first = await store.putIfAbsent(key, Buffer.from('first'), signal)
    // A repeated request loses against itself, so a new object may be `lost` as well.
    if (first.kind === 'lost' && (await store.get(key, signal)) === null)
      return 'it refuses to create an object with If-None-Match'
    if ((await store.putIfAbsent(key, Buffer.from('second'), signal)).kind === 'written')
      return 'it ignores If-None-Match'
    const found = await store.get(key, signal)
    if (found === null) return 'it does not return an object that it has just stored'
    if ((await store.putIfMatch(key, Buffer.from('third'), otherThan(found.etag), signal)).kind === 'written')
      return 'it ignores If-Match'
    const replaced = await store.putIfMatch(key, Buffer.from('fourth'), found.etag, signal)
    if (replaced.kind === 'lost' && (await store.get(key, signal))?.etag === found.etag)
      return 'it refuses to replace an object with If-Match and the current ETag'
    return null
  }
  const problem = await problemOf().catch(async (error: unknown) => {
    // The first error says what is wrong. What stays below `check/` harms nobody.
    await store.delete([key], signal).catch(() => undefined)
    throw error
  })
  await store.delete([key], signal)
  return { hold: problem === null, problem: problem === null ? null : line(store, problem) }
}

const line = ({ address }: ObjectStore, problem: string): string =>
  `${address}: the store has no reliable conditional writes: ${problem}. Two runs at once could overwrite each other; use another store, or a newer version of its server`

/** An ETag of the same form, which no object has. */
const otherThan = (etag: string): string =>
  etag.replaceAll(/[0-9a-f]/gi, '0') === etag ? '"1"' : etag.replaceAll(/[0-9a-f]/gi, '0')
