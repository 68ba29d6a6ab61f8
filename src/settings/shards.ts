/**
 * `--shard i/n`: the accounts of one settings file divided among n jobs, each with a warehouse of its own. Which account
 * is whose follows from its name alone (rendezvous hashing), so that no account moves when others come and go: its cursor
 * and its history are in the warehouse of its shard.
 */
import { createHash } from 'node:crypto'
import { bad, good, type Reader } from './readers.js'

export interface Shard {
  /** From 0 to `count` - 1, as JOB_COMPLETION_INDEX of a Kubernetes Indexed Job counts. */
  readonly index: number
  readonly count: number
}

/** As many as there may be accounts. */
const SHARDS_MAX = 100

export const readShard: Reader<Shard> = (value) => {
  const [, index, count] = /^(\d{1,3})\/(\d{1,3})$/.exec(String(value)) ?? []
  const shard = { index: Number(index), count: Number(count) }
  return index !== undefined && shard.count >= 1 && shard.count <= SHARDS_MAX && shard.index < shard.count
    ? good(shard)
    : bad(`must be i/n, such as 0/4: n from 1 to ${SHARDS_MAX}, i from 0 to n-1`)
}

/** The shard of an account: the one whose hash with the name is the largest. */
export const shardOf = (account: string, count: number): number => {
  const scores = Array.from({ length: count }, (_, index) => scoreOf(account, index))
  return scores.reduce((best, score, index) => (score > (scores[best] ?? '') ? index : best), 0)
}

/** Of equal length, so that they compare as text. */
const scoreOf = (account: string, index: number): string =>
  createHash('sha256').update(`${index}:${account}`).digest('hex')

/** The directory of a shard's warehouse, below that of the warehouse. Readers get the shard as a column from it. */
export const shardDirectory = ({ index, count }: Shard): string => `shard=${index}-of-${count}`

/** The shard that a directory of this name belongs to; null where it is no shard's. */
export const shardOfDirectory = (name: string): Shard | null => {
  const [, index, count] = /^shard=(\d{1,3})-of-(\d{1,3})$/.exec(name) ?? []
  return index === undefined ? null : { index: Number(index), count: Number(count) }
}
