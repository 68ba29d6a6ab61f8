/** A reader without a lease: pointer, manifest, files, as slowly as it likes. */
import { parseJson } from '../../../src/base/parse.js'
import { pointerSchema } from '../../../src/storage/bucket/documents.js'
import type { Random } from '../random.js'
import type { Schedule } from './machine.js'
import { LIMITS, type Oracle } from './oracle.js'
import { objectsOf } from './versions.js'

const WAIT_MS_MAX = 20 * 60_000

export const readOnce = async (schedule: Schedule, oracle: Oracle, random: Random): Promise<void> => {
  const wait = () =>
    new Promise<void>((resolve) => {
      schedule.after(random.chance(0.5) ? 100 : random.whole(0, WAIT_MS_MAX), resolve)
    })
  const { objects } = oracle.model
  const body = objects.get('current.json')?.body
  const pointer = body === undefined ? null : parseJson(pointerSchema, body)
  if (pointer === null || pointer.manifest === null) return
  const { manifest: key, version } = pointer
  const published = oracle.versions.findLast((one) => one.manifest === key)
  if (published === undefined) return
  const { manifestAtMs, databaseAtMs } = published
  /**
   * A version that is neither young nor one of the newest three may be removed while it is read, and so may the files of a version
   * whose manifest was damaged.
   */
  const mayBeGone = () =>
    oracle.damaged.has(key) ||
    (oracle.pointer.version >= version + 3 && schedule.nowMs - manifestAtMs >= LIMITS.keepMs)
  await wait()
  const manifest = oracle.manifest(key)
  if (manifest === null) {
    if (!mayBeGone()) oracle.fail(`a reader misses ${key}`)
    return
  }
  for (const object of objectsOf(manifest)) {
    await wait()
    if (!(oracle.isWhole(object) || oracle.damaged.has(object.key) || mayBeGone()))
      oracle.fail(`a reader of version ${version} finds ${object.key} missing or cut`)
  }
  const isOld = oracle.pointer.version >= version + 3 && schedule.nowMs - databaseAtMs >= LIMITS.sweepAfterMs
  const { database } = manifest
  if (!(oracle.isWhole(database) || oracle.damaged.has(database.key) || oracle.damaged.has(key) || isOld))
    oracle.fail(`a reader of version ${version} finds its database missing or cut`)
}
