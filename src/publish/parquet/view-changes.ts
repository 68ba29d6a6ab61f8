/** Compares what a view reads with the base of a version. Pure. */
import { sum } from 'd3-array'
import { packageVersion } from '../../base/version.js'
import { surveysHistory } from '../../model/tables.js'
import { type Manifest, type ManifestTable, tableIn } from './manifest.js'
import { tablesOf } from './stage-views.js'
import { isHistory, isOfSurveys, nameOf, type Partition, type PublishedTable } from './tables.js'

/** `tables` are those of the new version, and `base` is the manifest whose files may be kept. */
interface Versions {
  readonly tables: readonly ManifestTable[]
  readonly base: Manifest | null
}

/** Whether the base lacks the view in its present form, or a table that it reads has other rows there. */
export const hasChanged = (view: PublishedTable, versions: Versions): boolean =>
  lacks(view, versions) || tablesOf(view).some((table) => differs(table, versions))

/** A partition in which a view may have rows. */
export interface ViewPartition extends Partition {
  /** The most rows that a table of the view has there, of histories alone if the view is one, and of other tables if it is not. */
  readonly rows: number
  readonly isChanged: boolean
}

/**
 * The partitions of a view. One has changed if a table that the view reads has other rows in it: the rows of a survey follow from rows of
 * that survey, which are in the same partition of every table, and from the first listing of its account. So all partitions of an account
 * have changed if `firstListed`, the partition of the survey that was listed first, has other versions of surveys. All have changed if a
 * table has that is not of surveys.
 */
export const partitionsOfView = (
  view: PublishedTable,
  versions: Versions,
  firstListed: readonly Partition[],
): readonly ViewPartition[] => {
  const { tables, base } = versions
  const isNew =
    lacks(view, versions) || tablesOf(view).some((table) => !isOfSurveys(table) && differs(table, versions))
  const read = tablesOf(view).filter(isOfSurveys)
  const counted = filesOf(
    read.filter((table) => isHistory(table) === isHistory(view)),
    tables,
  )
  const [now, before] = [filesOf(read, tables), filesOf(read, base?.tables ?? [])]
  const history = read.filter(({ declaration }) => declaration === surveysHistory)
  const [versionsNow, versionsBefore] = [filesOf(history, tables), filesOf(history, base?.tables ?? [])]
  const relisted = firstListed.filter(
    (partition) =>
      versionsNow.get(nameOf(partition))?.digest !== versionsBefore.get(nameOf(partition))?.digest,
  )
  return [...now].map(([name, { account, created_month, digest }]) => ({
    account,
    created_month,
    rows: counted.get(name)?.rows ?? 0,
    isChanged:
      isNew || before.get(name)?.digest !== digest || relisted.some((first) => first.account === account),
  }))
}

/** The partitions in which one of the tables has rows, with the digests of all of them. */
const filesOf = (tables: readonly PublishedTable[], published: readonly ManifestTable[]) => {
  const partitions = new Map<string, Partition & { readonly rows: number; readonly digest: string }>()
  for (const table of tables)
    for (const file of tableIn({ tables: published }, table)?.files ?? []) {
      const known = partitions.get(nameOf(file))
      const digest = `${known?.digest ?? ''} ${table.directory} ${file.rows} ${file.digest}`
      if (file.rows > 0)
        partitions.set(nameOf(file), { ...file, rows: Math.max(file.rows, known?.rows ?? 0), digest })
    }
  return partitions
}

/** A base of a bucket does not list files that the bucket has lost. Another program may evaluate the same SQL differently. */
const lacks = (view: PublishedTable, { base }: Versions): boolean => {
  const known = base === null ? undefined : tableIn(base, view)
  return (
    base?.program !== packageVersion() ||
    known?.layout !== view.layout ||
    sum(known.files, ({ bytes }) => bytes) !== known.bytes
  )
}

const differs = (table: PublishedTable, { tables, base }: Versions): boolean => {
  const [now, before] = [tableIn({ tables }, table), tableIn(base ?? { tables: [] }, table)]
  return now?.layout !== before?.layout || digestsOf(now) !== digestsOf(before)
}

const digestsOf = (table: ManifestTable | undefined): string =>
  JSON.stringify(table?.files.map((file) => [nameOf(file), file.rows, file.digest]))
