/** Manifests of versions in a bucket, made by hand: the Delta log needs no data files. */
import type { Column } from '../../../src/model/columns.js'
import type { Manifest, ManifestTable, PublishedFile } from '../../../src/publish/parquet/manifest.js'

export const COLUMNS: readonly Column[] = [
  { name: 'account', type: 'VARCHAR', nullable: false, comment: 'Account' },
  { name: 'id', type: 'BIGINT', nullable: false, comment: 'Survey id' },
  { name: 'created_at', type: 'TIMESTAMPTZ', nullable: true, comment: 'Time of creation' },
]

export interface TableToMake {
  /** Rows by `account|month|version`, such as `acme|2026-01|v7`. The version is the one that wrote the file. */
  readonly files: Readonly<Record<string, number>>
  readonly columns?: readonly Column[]
}

export const tableOf = ({ files, columns = COLUMNS }: TableToMake): ManifestTable => {
  const made = Object.entries(files).map(([name, rows]): PublishedFile => {
    const [account = '', created_month = '', version = ''] = name.split('|')
    const directory = `account=${encodeURIComponent(account)}/created_month=${created_month}`
    return {
      path: `data/surveys/${directory}/${version}-run-0123456789abcdef.parquet`,
      ...{ account, created_month, rows, bytes: 1000 + rows, sha256: '0123456789abcdef'.repeat(4) },
      ...{ digest: '1:1', written_by: Number(version.slice(1)) },
    }
  })
  return {
    ...{ schema: 'main', name: 'surveys', comment: 'Surveys', layout: 'layout' },
    columns: columns.map(({ name, type, nullable, comment }) => ({ name, type, nullable, comment })),
    rows: made.reduce((sum, { rows }) => sum + rows, 0),
    bytes: made.reduce((sum, { bytes }) => sum + bytes, 0),
    files: made,
  }
}

/** The manifest of a version that has only the table `surveys`. */
export const manifestWith = (version: number, table: TableToMake): Manifest => {
  const made = tableOf(table)
  return {
    ...{ format: 1, version, published_at: new Date(Date.UTC(2026, 2, version)).toISOString() },
    ...{ program: '0.0.0', schema_version: 1, run_id: `run-${version}`, runs: version },
    ...{ rows: made.rows, bytes: made.bytes, tables: [made] },
  }
}

export const manifestKeyOf = ({ version, run_id }: Manifest): string =>
  `versions/${String(version).padStart(6, '0')}-${run_id}.json`
