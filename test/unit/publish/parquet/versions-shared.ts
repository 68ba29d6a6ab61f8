/** What both test files of versions use. */
import { cp, readdir, rm, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { createLacks, type FileSystemLacks } from '../../../../src/publish/file-system-lacks.js'
import { minute } from '../../../support/time/instants.js'
import { currentOf, parquetOf, publishedCopies } from '../../../support/warehouse/parquet.js'
import { bundle, list, progress, source, survey } from '../../../support/warehouse/rows.js'
import type { TestWarehouse } from '../../../support/warehouse/warehouse.js'

export const publishedOnce = publishedCopies(async ({ account }) => {
  await list(account, [survey(1)], minute(0), 'full')
  await account.commitBundles([bundle(1, minute(1), [source(11)], progress(5))], 'run-1')
})

/** One more night changes the title of the survey, and so one file. */
export const night = ({ run }: TestWarehouse, number: number): Promise<void> =>
  run(`UPDATE surveys SET title = 'night ${number}'`)

export const titleIn = async (warehouse: TestWarehouse, version: string) =>
  (await warehouse.rows(`SELECT title FROM read_parquet('${version}/surveys/**/*.parquet')`)).map(
    ({ title }) => title,
  )

export const versionsIn = async (warehouse: TestWarehouse): Promise<readonly string[]> =>
  (await readdir(join(parquetOf(warehouse), 'versions'))).toSorted()

export const versionOf = (warehouse: TestWarehouse, name: string): string =>
  join(parquetOf(warehouse), 'versions', name)

type Attempt = FileSystemLacks['attempt']

/** A file system with other operations of these kinds. */
export const fileSystem = (
  { log }: TestWarehouse,
  others: { [Lack in Parameters<Attempt>[0]]?: Parameters<Attempt>[1] },
) => {
  const lacks = createLacks(log)
  const attempt: Attempt = (lack, real) => lacks.attempt(lack, others[lack] ?? real)
  return { ...lacks, attempt }
}

export const lacking = (code: string) => () =>
  Promise.reject(Object.assign(new Error(`${code}: no`), { code }))

/** A published warehouse whose version 1 is kept as version 2 too. */
export const publishedTwice = async (): Promise<TestWarehouse> => {
  const warehouse = await publishedOnce()
  await cp(versionOf(warehouse, '000001'), versionOf(warehouse, '000002'), { recursive: true })
  await rm(currentOf(warehouse))
  await symlink('versions/000002', currentOf(warehouse))
  return warehouse
}
