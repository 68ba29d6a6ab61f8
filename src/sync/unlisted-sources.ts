/**
 * The known sources that a complete list lacks. Their progress shows which sources have gone
 * (docs/decisions/listing-and-cursor.md#0089-a-short-list-marks-nothing-by-itself).
 */
import { UpstreamError } from '../base/errors.js'
import type { Progress } from '../model/fields.js'
import type { Reading } from '../model/survey-source.js'
import type { StoredBundle } from '../model/warehouse.js'
import { areManyAtOnce } from '../rules/vanished.js'
import { isNotFound, type Readings } from './readings.js'
import { someAtOnce } from './some-at-once.js'

interface ListedIds {
  /** Null if there may be others. */
  readonly listedIds: readonly number[] | null
}

export const unlistedIn = (
  { knownSourceIds }: Pick<StoredBundle, 'knownSourceIds'>,
  { listedIds }: ListedIds,
): readonly number[] => {
  const listed = new Set(listedIds)
  return listedIds === null ? [] : knownSourceIds.filter((id) => !listed.has(id))
}

export interface ReadSource {
  readonly id: number
  /** Null if the reading failed. */
  readonly reading: Reading<Progress> | null
}

/** Sources whose progress is not found are left out. */
export const readUnlisted = async (
  ids: readonly number[],
  readings: Readings,
  request: (id: number) => Promise<Reading<Progress>>,
): Promise<readonly ReadSource[]> => {
  const read = await someAtOnce(ids, async (id): Promise<readonly ReadSource[]> => {
    const reading = request(id)
    const isGone = await reading.then(() => false, isNotFound)
    return isGone ? [] : [{ id, reading: await readings.passOver('sample_source_progress', reading) }]
  })
  return read.flat()
}

export interface UnlistedSources {
  /** The sources that have not gone. */
  readonly ids: readonly number[]
  readonly answering: number
  /** The number of sources that are not found but have not gone, because another complete list has to agree. */
  readonly unconfirmed: number
}

/**
 * A source has gone if the list lacks it, and its progress is not found. Many sources at once have gone only if the previous complete list
 * lacked them too. `answered` are the sources whose progress is not a 404.
 */
export const compareUnlisted = (
  stored: Pick<StoredBundle, 'knownSourceIds' | 'unlistedSourceIds'>,
  list: ListedIds,
  answered: readonly ReadSource[],
): UnlistedSources => {
  const unlisted = unlistedIn(stored, list)
  const foundIds = new Set(answered.map(({ id }) => id))
  const notFound = unlisted.filter((id) => !foundIds.has(id))
  const before = new Set(stored.unlistedSourceIds)
  const unconfirmed = notFound.filter((id) => !before.has(id))
  const areMany = areManyAtOnce(unconfirmed.length, stored.knownSourceIds.length)
  const gone = new Set(areMany ? notFound.filter((id) => before.has(id)) : notFound)
  return {
    ids: unlisted.filter((id) => !gone.has(id)),
    answering: answered.filter(({ reading }) => reading !== null).length,
    unconfirmed: areMany ? unconfirmed.length : 0,
  }
}

export class VanishedError extends UpstreamError {
  constructor(surveyId: number, sources: number) {
    super(
      'unstable_list',
      `${sources} sources of survey ${surveyId} vanished from its list at once, and answer 404; they are missing when the next complete list agrees`,
    )
  }
}
