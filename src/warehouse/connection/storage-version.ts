/**
 * The format of DuckDB's files. A reader opens what its own DuckDB or an older one writes, and nothing newer. So the
 * format is pinned: without the pin, the default of the next DuckDB would decide who can read.
 */
import { open } from 'node:fs/promises'

/** Files are written for this version of DuckDB, and so for every one since. */
export const STORAGE_COMPATIBILITY = 'v0.10.2'

/** The number that such a file bears. */
export const STORAGE_VERSION = 64n

/** The number in the header of a file: a checksum of 8 bytes, `DUCK`, then 8 bytes, little-endian. */
export const storageVersionOf = async (file: string): Promise<bigint> => {
  await using handle = await open(file, 'r')
  const { buffer } = await handle.read(Buffer.alloc(8), 0, 8, 12)
  return buffer.readBigUInt64LE()
}
