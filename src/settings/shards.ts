/**
 * `--shard i/n` divides the accounts of one settings file among n jobs, each with its own warehouse. The shard of an account
 * follows from its name alone, by rendezvous hashing. So no account moves when others are added or removed, and its cursor and
 * history stay in one warehouse (docs/decisions/accounts-and-budgets.md#0052-the-shard-follows-from-the-accounts-name).
 */
import { createHash } from 'node:crypto'
import { bad, good, type Read, textAs } from './readers.js'

export interface Shard {
  /** From 0 to `count` - 1, as JOB_COMPLETION_INDEX of a Kubernetes Indexed Job counts. */
  readonly index: number
  readonly count: number
}

/** The most shards: as many as a settings file may have accounts. */
const SHARDS_MAX = 100

const NO_SHARD = `must be i/n, such as 0/4: n from 1 to ${SHARDS_MAX}, i from 0 to n-1`

/** `0/4`. */
export const shardText = textAs(NO_SHARD, (text): Read<Shard> => {
  const [, index, count] = /^(\d{1,3})\/(\d{1,3})$/.exec(text) ?? []
  const shard = { index: Number(index), count: Number(count) }
  return index !== undefined && shard.count >= 1 && shard.count <= SHARDS_MAX && shard.index < shard.count
    ? good(shard)
    : bad(NO_SHARD)
})

/** The shard of an account: the one whose index, hashed with the name, gives the largest value. */
export const shardOf = (account: string, count: number): number => {
  const scores = Array.from({ length: count }, (_, index) => scoreOf(account, index))
  return scores.reduce((best, score, index) => (score > (scores[best] ?? '') ? index : best), 0)
}

/** All scores have the same length, so that they compare as text. */
const scoreOf = (account: string, index: number): string =>
  createHash('sha256').update(`${index}:${account}`).digest('hex')

/** Whether the account belongs to the shard; always without a shard. */
export const isInShard = (account: string, shard: Shard | null): boolean =>
  shard === null || shardOf(account, shard.count) === shard.index

/**
 * The directory of a shard's warehouse, below the directory of the settings. Readers of partitioned files get the shard as a column from
 * this name.
 */
export const shardDirectory = ({ index, count }: Shard): string => `shard=${index}-of-${count}`

/** The shard of a directory with this name; null if it is not the directory of a shard. */
export const shardOfDirectory = (name: string): Shard | null => {
  const [, index, count] = /^shard=(\d{1,3})-of-(\d{1,3})$/.exec(name) ?? []
  return index === undefined ? null : { index: Number(index), count: Number(count) }
}
