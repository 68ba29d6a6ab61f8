/** What both test files of write-version-changed-files use. */
import { readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Manifest } from '../../../../src/publish/parquet/manifest.js'
import { writeChangedFiles } from '../../../../src/publish/parquet/write-version.js'
import { NEVER } from '../../../support/storage/bucket.js'
import { instantOf } from '../../../support/time/instants.js'
import { testClock } from '../../../support/time/test-clock.js'
import type { TestWarehouse } from '../../../support/warehouse/warehouse.js'

export const JANUARY = { created_at: instantOf('2026-01-31T23:59:59.999999Z') }
export const FEBRUARY = { created_at: instantOf('2026-02-01T00:00:00Z') }

export const filesIn = ({ tables }: Manifest) => tables.flatMap(({ files }) => files)

export const VIEWS = ['surveys_today'] as const

/** Writes the files of version `number` into a directory of their own. The run is named after the number. */
export const writeFiles = async (
  warehouse: Pick<TestWarehouse, 'database' | 'directory'>,
  { number, base = null, signal = NEVER }: { number: number; base?: Manifest | null; signal?: AbortSignal },
) => {
  const { database } = warehouse
  const directory = join(warehouse.directory, `upload-${number}`)
  const run = { number, runId: `run-${number}`, clock: testClock(), signal, views: VIEWS }
  const writing = { database, base, directory, ...run }
  return { ...(await writeChangedFiles(writing)), directory }
}

export const writeFirst = async (warehouse: TestWarehouse) => {
  const { manifest, upload, directory } = await writeFiles(warehouse, { number: 7 })
  const contents = new Map<string, Buffer>()
  for (const { key, file } of upload) contents.set(key, await readFile(file))
  await rm(directory, { recursive: true })
  return { manifest, contents }
}
