/** Damage that can happen to the files of a warehouse between two runs. */
import { open, rm, stat, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Chance } from '../suite/chance.js'

export interface Damage {
  readonly what: string
  do(directory: string, chance: Chance): Promise<void>
}

/** DuckDB's file: three headers of 4 KiB, then blocks of 256 KiB. */
const HEADERS_BYTES = 3 * 4_096
const BLOCK_BYTES = 262_144

const work = (directory: string) => join(directory, 'work.duckdb')
const log = (directory: string) => join(directory, 'work.duckdb.wal')

const sizeOf = (file: string): Promise<number> =>
  stat(file).then(
    ({ size }) => size,
    () => 0,
  )

export const blocksOf = async (file: string): Promise<number> =>
  Math.max(0, Math.floor(((await sizeOf(file)) - HEADERS_BYTES) / BLOCK_BYTES))

/** Overwrites a range of bytes. A missing or shorter file stays unchanged. */
export const scribble = async (file: string, at: number, bytes: number): Promise<void> => {
  if ((await sizeOf(file)) < at + bytes) return
  await using handle = await open(file, 'r+')
  await handle.write(Buffer.alloc(bytes, 7), 0, bytes, at)
}

/** Overwrites the middle of a block. The damage appears only when that block is read. */
export const scribbleBlock = (file: string, block: number): Promise<void> =>
  scribble(file, HEADERS_BYTES + block * BLOCK_BYTES + 100, 100)

const cutAt = async (file: string, fraction: number): Promise<void> => {
  const size = await sizeOf(file)
  if (size > 0) await truncate(file, Math.floor(size * fraction))
}

export const DAMAGES: readonly Damage[] = [
  { what: 'the work database is deleted', do: (directory) => rm(work(directory), { force: true }) },
  {
    what: 'the work database is deleted with its log',
    do: async (directory) => {
      await rm(work(directory), { force: true })
      await rm(log(directory), { force: true })
    },
  },
  { what: 'the log is deleted', do: (directory) => rm(log(directory), { force: true }) },
  ...[0, 0.001, 0.02, 0.5, 0.999].map((fraction) => ({
    what: `the work database is cut to ${fraction} of its length`,
    do: (directory: string) => cutAt(work(directory), fraction),
  })),
  {
    what: 'the work database is cut at random',
    do: (directory, chance) => cutAt(work(directory), chance.fraction()),
  },
  { what: 'garbage in the first header', do: (directory) => scribble(work(directory), 0, 64) },
  {
    what: 'garbage in the second and third header',
    do: async (directory) => {
      await scribble(work(directory), 4_096, 64)
      await scribble(work(directory), 8_192, 64)
    },
  },
  {
    what: 'garbage in a block',
    do: async (directory, chance) => {
      const file = work(directory)
      await scribbleBlock(file, chance.below(await blocksOf(file)))
    },
  },
  {
    what: 'garbage in the log',
    do: async (directory, chance) => {
      const size = await sizeOf(log(directory))
      if (size > 16) await scribble(log(directory), chance.below(size - 16), 16)
    },
  },
  { what: 'the log is cut at random', do: (directory, chance) => cutAt(log(directory), chance.fraction()) },
  {
    what: 'the log is garbage from the first byte',
    do: (directory) => writeFile(log(directory), 'garbage '.repeat(500)),
  },
]
