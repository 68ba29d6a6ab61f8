/** Writes the Parquet files of a version for a bucket, each version into a directory of its own. */
import type { Manifest } from '../../../src/publish/parquet/manifest.js'
import { writeChangedFiles } from '../../../src/publish/parquet/write-version.js'
import { temporaryDirectory } from '../files/temporary.js'
import { testClock } from '../time/test-clock.js'
import type { TestWarehouse } from './warehouse.js'

export interface FilesToWrite {
  readonly number: number
  readonly base?: Manifest
  readonly signal?: AbortSignal
}

/** The run is named after the number. */
export const writeFiles = async (
  { database }: Pick<TestWarehouse, 'database'>,
  { base, signal, ...writing }: FilesToWrite,
) => {
  const directory = await temporaryDirectory()
  const written = await writeChangedFiles({
    ...writing,
    database,
    base: base ?? null,
    directory,
    runId: `run-${writing.number}`,
    clock: testClock(),
    signal: signal ?? new AbortController().signal,
  })
  return { ...written, directory }
}
