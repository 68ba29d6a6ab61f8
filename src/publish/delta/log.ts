/**
 * The Delta log of a table as a projection of the manifest: which actions lead from one state of a table to the next, and which state
 * a log describes. Pure; `commit.ts` reads and writes the logs.
 */
import type { Column } from '../../model/columns.js'
import type { Manifest, ManifestTable } from '../parquet/manifest.js'
import { type Action, type Add, type MetaData, PROTOCOL, type Remove, type Txn } from './actions.js'

/** The content of a table in the log. */
interface LoggedTable {
  /** Null if the metadata equals the new manifest's. */
  readonly metaData: MetaData | null
  /** The active files by their paths in the log. */
  readonly files: ReadonlyMap<string, Add>
}

export interface Projection {
  readonly manifest: Manifest
  readonly manifestKey: string
  readonly table: ManifestTable
  /** The key of the table's directory, without a slash at its end. */
  readonly directory: string
}

/** The actions that turn `before` into the table of the manifest; null if nothing changes. `before` is null without a log. */
export const changesTo = (
  projection: Projection,
  before: LoggedTable | null,
  created: { readonly id: string; readonly nowMs: number },
): readonly Action[] | null => {
  const { table } = projection
  const after = filesOf(projection)
  const metaData = metaDataOf(table, before?.metaData ?? { id: created.id, createdTime: created.nowMs })
  const isNewMetaData = before === null || (before.metaData !== null && !isSame(before.metaData, metaData))
  const removed = [...(before?.files.values() ?? [])].filter(({ path }) => !after.has(path))
  const added = [...after.values()].filter(({ path }) => before?.files.has(path) !== true)
  if (!isNewMetaData && removed.length + added.length === 0) return null
  return [
    ...(before === null ? [{ protocol: PROTOCOL }] : []),
    ...(isNewMetaData ? [{ metaData }] : []),
    ...removed.map(({ path, partitionValues, size }) => {
      const file = { dataChange: true, extendedFileMetadata: true, partitionValues, size }
      return { remove: { path, deletionTimestamp: created.nowMs, ...file } }
    }),
    ...added.map((add) => ({ add })),
  ]
}

/** The actions of a commit. The first two name the manifest, so that no run commits a manifest twice. */
export const commitOf = (
  { manifest, manifestKey }: Pick<Projection, 'manifest' | 'manifestKey'>,
  changes: readonly Action[],
  nowMs: number,
): readonly Action[] => [
  {
    commitInfo: {
      timestamp: nowMs,
      operation: 'WRITE',
      operationParameters: { mode: 'Overwrite', manifest: manifestKey },
      engineInfo: `fieldwork-sync/${manifest.program}`,
      userMetadata: `version ${manifest.version}, run ${manifest.run_id ?? 'none'}`,
    },
  },
  { txn: { appId: APP_ID, version: manifest.version, lastUpdated: nowMs } },
  ...changes,
]

const APP_ID = 'fieldwork-sync'

/** The manifest to which a commit brought the table; null if somebody else wrote the commit. */
export const manifestOfCommit = (
  actions: readonly Action[],
): { readonly version: number; readonly key: string } | null => {
  const txn = actions.find((action) => action.txn?.appId === APP_ID)?.txn
  const key = actions.find(({ commitInfo }) => commitInfo)?.commitInfo?.operationParameters?.manifest
  return txn && key !== undefined ? { version: txn.version, key } : null
}

/** The table as an earlier manifest describes it; null if its metadata differs, because only the log has the whole metadata. */
export const tableOfManifest = (projection: Projection, earlier: Manifest): LoggedTable | null => {
  const { schema, name } = projection.table
  const table = earlier.tables.find((other) => other.schema === schema && other.name === name)
  if (table === undefined || table.comment !== projection.table.comment) return null
  if (schemaString(table) !== schemaString(projection.table)) return null
  return { metaData: null, files: filesOf({ ...projection, manifest: earlier, table }) }
}

/**
 * The files with rows, by their paths in the log. The file of an empty table is left out: it would show readers a partition that does not
 * exist.
 *
 * The only statistic is the number of rows. With bounds for some columns only, deltalake's pyarrow dataset skips files that hold the wanted
 * rows, and bounds of texts and doubles are easily wrong. A reader still skips files by account and month.
 */
const filesOf = ({ table, manifest, directory }: Projection): ReadonlyMap<string, Add> =>
  new Map(
    table.files
      .filter(({ rows }) => rows > 0)
      .map(({ path: key, account, created_month, bytes, rows }) => {
        const path = encodeURI(key.slice(directory.length + 1))
        const add: Add = {
          path,
          partitionValues: partitionColumns(table).length === 0 ? {} : { account, created_month },
          size: bytes,
          modificationTime: Date.parse(manifest.published_at),
          dataChange: true,
          stats: JSON.stringify({ numRecords: rows }),
        }
        return [path, add]
      }),
  )

const metaDataOf = (table: ManifestTable, { id, createdTime }: Pick<MetaData, 'id' | 'createdTime'>) => ({
  id,
  name: table.name,
  description: table.comment,
  format: { provider: 'parquet', options: {} },
  schemaString: schemaString(table),
  partitionColumns: [...partitionColumns(table)],
  configuration: CONFIGURATION,
  createdTime: createdTime ?? 0,
})

/** With this, a VACUUM by another program keeps the files that retained manifests name. */
const CONFIGURATION = {
  'delta.deletedFileRetentionDuration': 'interval 30 days',
  'delta.logRetentionDuration': 'interval 30 days',
}

const isSame = (a: MetaData, b: MetaData): boolean =>
  a.schemaString === b.schemaString &&
  a.description === b.description &&
  JSON.stringify(a.partitionColumns) === JSON.stringify(b.partitionColumns)

/** The state that a log describes. */
export interface LogState {
  readonly protocol: typeof PROTOCOL | null
  readonly metaData: MetaData | null
  readonly txns: ReadonlyMap<string, Txn>
  readonly files: ReadonlyMap<string, Add>
  /** Removed files with the time of their removal, for a VACUUM. */
  readonly removed: ReadonlyMap<string, Remove>
}

/** The state after actions, in their order: the actions of a checkpoint, if there is one, and of the commits after it. */
export const stateAfter = (actions: Iterable<Action>): LogState => {
  let protocol: LogState['protocol'] = null
  let metaData: MetaData | null = null
  const txns = new Map<string, Txn>()
  const files = new Map<string, Add>()
  const removed = new Map<string, Remove>()
  for (const action of actions) {
    protocol = action.protocol ?? protocol
    metaData = action.metaData ?? metaData
    if (action.txn) txns.set(action.txn.appId, action.txn)
    if (action.remove) {
      files.delete(action.remove.path)
      removed.set(action.remove.path, action.remove)
    }
    if (action.add) {
      removed.delete(action.add.path)
      files.set(action.add.path, action.add)
    }
  }
  return { protocol, metaData, txns, files, removed }
}

/** The rows of a checkpoint. Files that were removed longer ago than `retentionMs` are left out. */
export const checkpointActions = (state: LogState, nowMs: number, retentionMs: number): readonly Action[] => [
  ...(state.protocol === null ? [] : [{ protocol: state.protocol }]),
  ...(state.metaData === null ? [] : [{ metaData: state.metaData }]),
  ...[...state.txns.values()].map((txn) => ({ txn })),
  ...[...state.files.values()].map((add) => ({ add: { ...add, dataChange: false } })),
  ...[...state.removed.values()]
    .filter(({ deletionTimestamp }) => (deletionTimestamp ?? 0) > nowMs - retentionMs)
    .map((remove) => ({ remove: { ...remove, dataChange: false } })),
]

// Describes a published table as Delta does: its schema as JSON text, and its partition columns. Pure. All of our Parquet columns are
// optional, and Delta allows a field `nullable: false` over an optional column.

/** Readers prune files by these columns. The values are only in the log and in the paths, not in the files. */
const PARTITION_COLUMNS = ['account', 'created_month'] as const

/** Empty for tables of `_sync` and for most views, which are one file. */
export const partitionColumns = ({ files }: Pick<ManifestTable, 'files'>): readonly string[] =>
  files.some(({ account }) => account !== null) ? PARTITION_COLUMNS : []

const TYPES = {
  BIGINT: 'long',
  VARCHAR: 'string',
  DOUBLE: 'double',
  BOOLEAN: 'boolean',
  TIMESTAMPTZ: 'timestamp',
  DATE: 'date',
  // Published as text.
  JSON: 'string',
} as const satisfies Readonly<Record<Column['type'], string>>

export const schemaString = (table: Pick<ManifestTable, 'columns' | 'files'>): string => {
  const declared = new Set(table.columns.map(({ name }) => name))
  const fields = [
    ...table.columns.map(({ name, type, nullable, comment }) => {
      return { name, type: TYPES[type], nullable, metadata: { comment } }
    }),
    ...partitionColumns(table)
      .filter((name) => !declared.has(name))
      .map((name) => ({ name, type: 'string', nullable: false, metadata: { comment: MONTH_COMMENT } })),
  ]
  return JSON.stringify({ type: 'struct', fields })
}

const MONTH_COMMENT = 'Month in which the survey was created (UTC), or `unknown`'
