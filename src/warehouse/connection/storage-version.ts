/** The pinned format of DuckDB's files (docs/decisions/publish.md#0042-the-format-of-the-published-file-is-pinned). */
import { open } from 'node:fs/promises'

/** This version of DuckDB and every later one can read our files. */
export const STORAGE_COMPATIBILITY = 'v0.10.2'

/** The format number in the header of such a file. */
export const STORAGE_VERSION = 64n

/** Reads the format number of a file. The header is a checksum of 8 bytes, `DUCK`, then the number in 8 bytes, little-endian. */
export const storageVersionOf = async (file: string): Promise<bigint> => {
  await using handle = await open(file, 'r')
  const { buffer } = await handle.read(Buffer.alloc(8), 0, 8, 12)
  return buffer.readBigUInt64LE()
}
