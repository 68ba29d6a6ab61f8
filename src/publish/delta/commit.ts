/**
 * Brings the Delta log of every table to a manifest. A log may be several versions behind, because its run died or the format was
 * switched off for a while: then one commit catches up. Nothing here needs the lease. A commit is a put-if-absent at the number
 * after the highest one, and a loser reads the log again.
 */
import { randomUUID } from 'node:crypto'
import pLimit from 'p-limit'
import type { Clock } from '../../base/clock.js'
import { isStop, messageOf } from '../../base/errors.js'
import type { Log } from '../../base/log.js'
import { throwIfAborted } from '../../base/signals.js'
import { type ListedObject, ObjectStoreError } from '../../object-store/object-store.js'
import { putOwned, putOwnedBytes } from '../../object-store/owned-document.js'
import type { Manifest, ManifestTable } from '../parquet/manifest.js'
import { type Action, toLines, withTemporary, writeCheckpoint } from './actions.js'
import {
  changesTo,
  checkpointActions,
  commitOf,
  manifestOfCommit,
  type Projection,
  tableOfManifest,
} from './log.js'
import {
  checkpointIn,
  checkpointKey,
  commitKey,
  LOG_RETENTION_MS,
  type LogFiles,
  type LogReading,
  lastCheckpointKey,
  listLog,
  logIn,
  nextNumber,
  outdatedKeys,
  readCommit,
  readState,
  requireCommit,
  unusable,
} from './read-log.js'

interface DeltaCommitting extends LogReading {
  readonly manifest: Manifest
  readonly manifestKey: string
  /** Null if there is no such manifest any more. Called once for each manifest. */
  readonly readManifest: (key: string, signal: AbortSignal) => Promise<Manifest | null>
  /** What is below `data/` now. Without it each log is listed, which takes more requests than one listing of all. */
  readonly objects?: readonly ListedObject[]
  readonly clock: Clock
  readonly log: Log
}

/** Tries every table, and then rejects with the first error. A table that was up to date is not written. */
export const commitDelta = async (given: DeltaCommitting): Promise<void> => {
  const limit = pLimit(TABLES_AT_ONCE)
  const manifests = new Map<string, Promise<Manifest | null>>()
  const readManifest: DeltaCommitting['readManifest'] = (key, signal) => {
    const found = manifests.get(key) ?? given.readManifest(key, signal)
    manifests.set(key, found)
    return found
  }
  const shared = { ...given, readManifest, checkpoints: { left: CHECKPOINTS_A_PUBLISH_MAX } }
  const { tables } = given.manifest
  const results = await Promise.allSettled(tables.map((table) => limit(() => commitTable(shared, table))))
  throwIfAborted(given.signal)
  for (const result of results) if (result.status === 'rejected') throw result.reason
}

const TABLES_AT_ONCE = 8
/**
 * Enough for 30 tables of which each is changed by every publish. A checkpoint takes two puts, and logs that grow together need none in
 * the same night: other tables get theirs in the next nights.
 */
const CHECKPOINTS_A_PUBLISH_MAX = 3

/** Also what all tables of a publish share. */
interface Committing extends DeltaCommitting {
  readonly checkpoints: { left: number }
}

/** What the commit to one table works with. */
interface TableCommitting extends Committing, Projection {}

const commitTable = async (shared: Committing, table: ManifestTable): Promise<void> => {
  const directory = directoryOf(table)
  const given: TableCommitting = { ...shared, table, directory }
  for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt += 1) {
    throwIfAborted(given.signal)
    // A commit that lost has to look again.
    const files =
      attempt === 1 && given.objects !== undefined
        ? logIn(given.objects, directory)
        : await listLog(given, directory)
    const changes = await missingChanges(given, files)
    const number = changes === null ? nextNumber(files) - 1 : nextNumber(files)
    if (changes !== null && !(await putCommit(given, changes, number))) continue
    return await keepUp(given, files, number)
  }
  throw new ObjectStoreError(
    `${given.store.address}/${directory}: ${ATTEMPTS_MAX} Delta commits were not accepted, because others write this table. Let only one program write it; the next run tries again`,
  )
}

/** More than all runs that could be catching up at once. */
const ATTEMPTS_MAX = 5

/** The key of the table's directory. */
export const directoryOf = ({ schema, name }: Pick<ManifestTable, 'schema' | 'name'>): string =>
  schema === 'main' ? `data/${name}` : `data/${schema}/${name}`

/** The changes from the log to the manifest; null if the log needs no commit. */
const missingChanges = async (given: TableCommitting, files: LogFiles) => {
  const { directory, manifest, manifestKey } = given
  const created = { id: randomUUID(), nowMs: given.clock.nowMs() }
  const highest = nextNumber(files) - 1
  if (highest === -1) return changesTo(given, null, created)
  const at = manifestOfCommit(await requireCommit(given, directory, highest))
  if (at?.key === manifestKey) return null
  if (at !== null && at.version >= manifest.version)
    throw unusable(given.store, directory, `it is at version ${at.version}, and this is ${manifest.version}`)
  const earlier = at === null ? null : await given.readManifest(at.key, given.signal)
  const known = earlier === null ? null : tableOfManifest(given, earlier)
  if (known !== null) return changesTo(given, known, created)
  // A commit without changes ties the log to this manifest, so that the next run need not read the whole log.
  return changesTo(given, await readState(given, directory, files, highest), created) ?? []
}

/** False if the number is taken by a commit to another manifest. */
const putCommit = async (given: TableCommitting, changes: readonly Action[], number: number) => {
  const { store, clock, signal, directory, manifestKey } = given
  const body = Buffer.from(toLines(commitOf(given, changes, clock.nowMs())))
  const put = { store, key: commitKey(directory, number), body, replaces: null, signal, putsMax: 1 }
  const isOurs = await putOwned(put, async (failure) => {
    const found = await readCommit(given, directory, number)
    if (found === null && failure !== null) return null
    return found !== null && manifestOfCommit(found)?.key === manifestKey
  })
  return isOurs !== false
}

/**
 * Keeps a Delta log short: a checkpoint after ten commits or a few more, from which readers start, and the deletion of what no
 * reader needs. The commit stands without it, so a failure is logged, and the next run tries again. `number` is the last commit; `files`
 * were listed before it.
 */
const keepUp = async (given: TableCommitting, files: LogFiles, number: number): Promise<void> => {
  const { directory } = given
  try {
    const isDue = number - Math.max(0, checkpointIn(files)) >= COMMITS_PER_CHECKPOINT
    if (isDue && given.checkpoints.left > 0) {
      given.checkpoints.left -= 1
      await addCheckpoint(given, files, number)
    }
    const outdated = outdatedKeys(files)
    if (outdated.length > 0) await given.store.delete(outdated, given.signal)
  } catch (error) {
    if (isStop(error) || given.signal.aborted) throw error
    given.log.warn(
      { directory, problem: messageOf(error) },
      'the Delta log got no checkpoint, or old commits could not be deleted; the next run tries again',
    )
  }
}

const COMMITS_PER_CHECKPOINT = 10

const addCheckpoint = async (given: TableCommitting, files: LogFiles, number: number): Promise<void> => {
  const { store, directory, database, scratch, clock, signal } = given
  const state = await readState(given, directory, files, number)
  const actions = checkpointActions(state, clock.nowMs(), LOG_RETENTION_MS)
  await withTemporary(scratch, async (file) => {
    await writeCheckpoint(database, actions, file)
    // A lost put is no failure: then another run has written the same checkpoint.
    await store.putIfAbsent(checkpointKey(directory, number), { file }, signal)
  })
  const key = lastCheckpointKey(directory)
  const pointer = Buffer.from(JSON.stringify({ version: number, size: actions.length }))
  const replaces = (await store.get(key, signal))?.etag ?? null
  await putOwnedBytes({ store, key, body: pointer, replaces, signal })
}
