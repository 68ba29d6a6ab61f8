/**
 * Brings the Delta log of every table to a manifest. A log may lag several versions, because its run died or the format was switched off
 * for a while: then one commit catches up. Nothing here needs the lease. A commit is a put-if-absent at the number after the highest one,
 * and a run that loses reads the log again.
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
  /** The objects below `data/` now. Without them each log is listed, which takes more requests than one listing of all. */
  readonly objects?: readonly ListedObject[]
  readonly clock: Clock
  readonly log: Log
}

/** Tries every table, and then rejects with the first error. A table that was up to date is not written. */
export const commitDelta = async (committing: DeltaCommitting): Promise<void> => {
  const limit = pLimit(TABLES_AT_ONCE)
  const manifests = new Map<string, Promise<Manifest | null>>()
  const readManifest: DeltaCommitting['readManifest'] = (key, signal) => {
    const reading = manifests.get(key) ?? committing.readManifest(key, signal)
    manifests.set(key, reading)
    return reading
  }
  const shared = { ...committing, readManifest, checkpoints: { left: CHECKPOINTS_A_PUBLISH_MAX } }
  const { tables } = committing.manifest
  const results = await Promise.allSettled(tables.map((table) => limit(() => commitTable(shared, table))))
  throwIfAborted(committing.signal)
  for (const result of results) if (result.status === 'rejected') throw result.reason
}

const TABLES_AT_ONCE = 8
/**
 * Enough for 30 tables of which each is changed by every publish. A checkpoint takes two puts. Logs that grow together need not all get a
 * checkpoint in the same night: the other tables get theirs in the next nights.
 */
const CHECKPOINTS_A_PUBLISH_MAX = 3

/** The options of a commit, with the state that all tables of a publish share. */
interface Committing extends DeltaCommitting {
  readonly checkpoints: { left: number }
}

/** The input of a commit to one table. */
interface TableCommitting extends Committing, Projection {}

const commitTable = async (shared: Committing, table: ManifestTable): Promise<void> => {
  const directory = directoryOf(table)
  const committing: TableCommitting = { ...shared, table, directory }
  for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt += 1) {
    throwIfAborted(committing.signal)
    // After a lost commit, the log is listed again.
    const files =
      attempt === 1 && committing.objects !== undefined
        ? logIn(committing.objects, directory)
        : await listLog(committing, directory)
    const changes = await missingChanges(committing, files)
    const number = changes === null ? nextNumber(files) - 1 : nextNumber(files)
    if (changes !== null && !(await putCommit(committing, changes, number))) continue
    return await keepUp(committing, files, number)
  }
  throw new ObjectStoreError(
    `${committing.store.address}/${directory}: ${ATTEMPTS_MAX} Delta commits were not accepted, because others write this table. Let only one program write it; the next run tries again`,
  )
}

/** More attempts than runs that could catch up at the same time. */
const ATTEMPTS_MAX = 5

/** The key of the table's directory. */
export const directoryOf = ({ schema, name }: Pick<ManifestTable, 'schema' | 'name'>): string =>
  schema === 'main' ? `data/${name}` : `data/${schema}/${name}`

/** The changes from the log to the manifest; null if the log needs no commit. */
const missingChanges = async (committing: TableCommitting, files: LogFiles) => {
  const { directory, manifest, manifestKey } = committing
  const created = { id: randomUUID(), nowMs: committing.clock.nowMs() }
  const highest = nextNumber(files) - 1
  if (highest === -1) return changesTo(committing, null, created)
  const at = manifestOfCommit(await requireCommit(committing, directory, highest))
  if (at?.key === manifestKey) return null
  if (at !== null && at.version >= manifest.version)
    throw unusable(
      committing.store,
      directory,
      `it is at version ${at.version}, and this is ${manifest.version}`,
    )
  const earlier = at === null ? null : await committing.readManifest(at.key, committing.signal)
  const known = earlier === null ? null : tableOfManifest(committing, earlier)
  if (known !== null) return changesTo(committing, known, created)
  // A commit without changes ties the log to this manifest, so that the next run need not read the whole log.
  return changesTo(committing, await readState(committing, directory, files, highest), created) ?? []
}

/** False if the number is taken by a commit to another manifest. */
const putCommit = async (committing: TableCommitting, changes: readonly Action[], number: number) => {
  const { store, clock, signal, directory, manifestKey } = committing
  const body = Buffer.from(toLines(commitOf(committing, changes, clock.nowMs())))
  const put = { store, key: commitKey(directory, number), body, replaces: null, signal, putsMax: 1 }
  const isOurs = await putOwned(put, async (failure) => {
    const commit = await readCommit(committing, directory, number)
    if (commit === null && failure !== null) return null
    return commit !== null && manifestOfCommit(commit)?.key === manifestKey
  })
  return isOurs !== false
}

/**
 * Keeps a Delta log short: writes a checkpoint, from which readers start, after ten commits or a few more, and deletes files that no reader
 * needs. The commit is valid without this, so a failure is only logged, and the next run tries again. `number` is the last commit; `files`
 * were listed before it.
 */
const keepUp = async (committing: TableCommitting, files: LogFiles, number: number): Promise<void> => {
  const { directory } = committing
  try {
    const isDue = number - Math.max(0, checkpointIn(files)) >= COMMITS_PER_CHECKPOINT
    if (isDue && committing.checkpoints.left > 0) {
      committing.checkpoints.left -= 1
      await addCheckpoint(committing, files, number)
    }
    const outdated = outdatedKeys(files)
    if (outdated.length > 0) await committing.store.delete(outdated, committing.signal)
  } catch (error) {
    if (isStop(error) || committing.signal.aborted) throw error
    committing.log.warn(
      { directory, problem: messageOf(error) },
      'the Delta log got no checkpoint, or old commits could not be deleted; the next run tries again',
    )
  }
}

const COMMITS_PER_CHECKPOINT = 10

const addCheckpoint = async (committing: TableCommitting, files: LogFiles, number: number): Promise<void> => {
  const { store, directory, database, scratch, clock, signal } = committing
  const state = await readState(committing, directory, files, number)
  const actions = checkpointActions(state, clock.nowMs(), LOG_RETENTION_MS)
  await withTemporary(scratch, async (file) => {
    await writeCheckpoint(database, actions, file)
    // A lost put is no failure: another run has written the same checkpoint.
    await store.putIfAbsent(checkpointKey(directory, number), { file }, signal)
  })
  const key = lastCheckpointKey(directory)
  const pointer = Buffer.from(JSON.stringify({ version: number, size: actions.length }))
  const replaces = (await store.get(key, signal))?.etag ?? null
  await putOwnedBytes({ store, key, body: pointer, replaces, signal })
}
