/**
 * The conditions before a run writes into a bucket: all runs divide the bucket into the same shards (`layout.json`), and the store checks
 * the conditions of writes (`conditional-writes.json`).
 */
import { randomUUID } from 'node:crypto'
import { ExpectedError, WarehouseError } from '../../base/errors.js'
import { parseJson } from '../../base/parse.js'
import { type ObjectStore, ObjectStoreError } from '../../object-store/object-store.js'
import { documentBody, putDocument, readDocument } from '../../object-store/owned-document.js'
import { LAYOUT_KEY, layoutSchema, POINTER_KEY, PROOF_KEY, proofSchema } from './documents.js'

/**
 * The first run decides the division. `store` is the root of the bucket's prefix. Throws an error `other_bucket` if the bucket has another
 * division.
 */
export const agreeOnLayout = async (store: ObjectStore, shards: number | null, signal: AbortSignal) => {
  if (await hasLayout(store, shards, signal)) return
  await store.putIfAbsent(LAYOUT_KEY, documentBody({ format: 1, shards }), signal)
  // Another run may have written the layout first.
  const problem = `${store.address}/${LAYOUT_KEY} was deleted while it was being written`
  if (!(await hasLayout(store, shards, signal))) throw new WarehouseError('bucket_damaged', problem)
}

/** False if no run has divided the bucket yet. Throws an error `other_bucket` if it has another division. */
export const hasLayout = async (store: ObjectStore, shards: number | null, signal: AbortSignal) => {
  const layout = (await readDocument(store, LAYOUT_KEY, layoutSchema, signal))?.document
  const division = layout === undefined ? await usedDivision(store, signal) : layout.shards
  if (division === undefined || division === shards) return layout !== undefined
  throw new ExpectedError(
    'other_bucket',
    `${store.address} is divided into ${divisionName(division)}, but the settings say ${divisionName(shards)}. Use the same division, or another prefix`,
  )
}

/** The division by the place of a pointer, because the layout may have been deleted. Undefined without a pointer. */
const usedDivision = async (store: ObjectStore, signal: AbortSignal): Promise<number | null | undefined> => {
  if ((await store.get(POINTER_KEY, signal)) !== null) return null
  for await (const { key } of store.list('shard=', signal)) {
    const [, count] = POINTER_OF_SHARD.exec(key) ?? []
    if (count !== undefined) return Number(count)
  }
  return undefined
}

const POINTER_OF_SHARD = /^shard=\d+-of-(\d+)\/current\.json$/

const divisionName = (shards: number | null): string =>
  shards === null ? 'no shards' : shards === 1 ? '1 shard' : `${shards} shards`

// In a store that ignores the conditions of writes, two runs at once would overwrite each other, and neither lease nor pointer would show
// it. So no run goes on before a proof has succeeded. Only a success is remembered: after a proof that failed, or was interrupted, the next
// run tries again.

/** The proof is repeated after this time, because a new version of a server, or a new gateway, may ignore conditions. */
const PROOF_MS_MAX = 7 * 24 * 3_600_000

/**
 * Call it with the lease, and before anything else is written. `endpoint` is the address of the server; null for AWS. Throws an
 * `ObjectStoreError` if the store ignores conditions.
 */
export const proveConditionalWrites = async (
  store: ObjectStore,
  endpoint: string | null,
  signal: AbortSignal,
): Promise<void> => {
  const tried = `${endpoint ?? 'AWS'} ${store.address}`
  const stored = await store.get(PROOF_KEY, signal)
  const isRecent = stored !== null && (stored.ageMs === null || stored.ageMs <= PROOF_MS_MAX)
  if (isRecent && parseJson(proofSchema, stored.body)?.store === tried) return
  await requireConditionalWrites(store, signal)
  const proof = { format: 1, store: tried }
  await putDocument(store, PROOF_KEY, proof, stored?.etag ?? null, signal).catch((error: unknown) => {
    // If the proof is not written, the next run repeats it.
    if (!(error instanceof ObjectStoreError)) throw error
  })
}

/**
 * Tries conditional writes on an object below `check/`: some servers ignore If-None-Match or If-Match, and an attempt is surer than any
 * documentation. Throws an `ObjectStoreError` if the store ignores conditions. Does not write the proof.
 */
export const requireConditionalWrites = async (store: ObjectStore, signal: AbortSignal): Promise<void> => {
  const key = `check/${randomUUID()}`
  const raced = Array.from({ length: RACES }, (_, race) => `${key}-${race}`)
  const problems = async () =>
    (await problemOf(store, key, signal)) ?? (await problemOfRaces(store, raced, signal))
  const problem = await problems().catch(async (error: unknown) => {
    // The first error says what is wrong. Objects that stay below `check/` do no harm.
    await store.delete([key, ...raced], signal).catch(() => undefined)
    throw error
  })
  await store.delete([key, ...raced], signal)
  if (problem !== null)
    throw new ObjectStoreError(
      `${store.address}: the store has no reliable conditional writes: ${problem}. Two runs at once could overwrite each other; use another store, or a newer version of its server`,
    )
}

/** Of eight writes at once with one ETag, s3proxy 4.1.0 lets several win in 15 of 20 races, although the same writes one by one hold. */
const RACES = 3
const WRITERS = 8

const problemOfRaces = async (
  store: ObjectStore,
  keys: readonly string[],
  signal: AbortSignal,
): Promise<string | null> => {
  for (const key of keys) {
    const isWritten = writesTo(store, key, signal)
    for (const header of ['If-None-Match', 'If-Match']) {
      const etag = header === 'If-Match' ? ((await store.get(key, signal))?.etag ?? null) : null
      const writes = Array.from({ length: WRITERS }, (_, writer) => isWritten(`${header} ${writer}`, etag))
      // No write may arrive after the deletion.
      await Promise.allSettled(writes)
      const winners = (await Promise.all(writes)).filter((wins) => wins).length
      if (winners > 1) return `of ${WRITERS} writes at once with ${header}, ${winners} win`
    }
  }
  return null
}

const writesTo =
  (store: ObjectStore, key: string, signal: AbortSignal) =>
  async (text: string, replaces: string | null): Promise<boolean> => {
    const body = Buffer.from(text)
    const outcome = await (replaces === null
      ? store.putIfAbsent(key, body, signal)
      : store.putIfMatch(key, body, replaces, signal))
    return outcome.kind === 'written'
  }

/** What the store did wrong; null if it checks the conditions. */
const problemOf = async (store: ObjectStore, key: string, signal: AbortSignal): Promise<string | null> => {
  const isWritten = writesTo(store, key, signal)
  // A repeated request loses against itself, so a new object may be `lost` as well.
  if (!(await isWritten('first', null)) && (await store.get(key, signal)) === null)
    return 'it refuses to create an object with If-None-Match'
  if (await isWritten('second', null)) return 'it ignores If-None-Match'
  const stored = await store.get(key, signal)
  if (stored === null) return 'it does not return an object that it has just stored'
  if (await isWritten('third', otherThan(stored.etag))) return 'it ignores If-Match'
  if (!(await isWritten('fourth', stored.etag)) && (await store.get(key, signal))?.etag === stored.etag)
    return 'it refuses to replace an object with If-Match and the current ETag'
  return null
}

/** An ETag of the same form, which no object has. */
const otherThan = (etag: string): string =>
  etag.replaceAll(/[0-9a-f]/gi, '0') === etag ? '"1"' : etag.replaceAll(/[0-9a-f]/gi, '0')
