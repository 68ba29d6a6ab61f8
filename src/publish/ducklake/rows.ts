/**
 * The rows of a DuckLake catalog as a projection of manifests. Each shown version is a snapshot. Each row is valid from the version that
 * adds it until the version that removes it. Pure; `write-catalog.ts` writes the rows.
 */
import { createHash } from 'node:crypto'
import type { Column } from '../../model/columns.js'
import { ALL_VIEWS } from '../../warehouse/views/all.js'
import { type Manifest, type ManifestTable, type PublishedFile, storedTables } from '../parquet/manifest.js'
import type { CatalogTable } from './tables.js'

/** Missing cells are null. */
export type CatalogRow = Record<string, string | number | boolean | null>

const TYPES = {
  BIGINT: 'int64',
  VARCHAR: 'varchar',
  DOUBLE: 'float64',
  BOOLEAN: 'boolean',
  TIMESTAMPTZ: 'timestamptz',
  DATE: 'date',
  // As in the files. With type JSON, DuckDB would check every text while it reads, and refuse the whole table for one text that it cannot
  // parse.
  JSON: 'varchar',
} as const satisfies Readonly<Record<Column['type'], string>>

const SCHEMAS = ['main', '_sync'] as const

export class CatalogRows {
  readonly #rows = new Map<CatalogTable, CatalogRow[]>()
  /** The rows that are valid in the last version, by their content. */
  readonly #facts = new Map<string, { readonly table: CatalogTable; readonly row: CatalogRow }>()
  readonly #objects: Ids = new Map(SCHEMAS.map((schema, id) => [schema, id]))
  readonly #columns = new Map<number, Ids>()
  /** The ids of mappings and files. */
  readonly #files = idsFromOne()
  readonly #rowsOf = new Map<number, number>()
  #schemaVersion = 0
  #atMs = Number.NEGATIVE_INFINITY

  of(table: CatalogTable): readonly CatalogRow[] {
    return this.#rows.get(table) ?? []
  }

  /** Adds a snapshot. Versions come in their order; some may be left out. */
  add(manifest: Manifest): void {
    const snapshot = manifest.version
    const changes = { schema: false, inserted: new Set<unknown>(), deleted: new Set<unknown>() }
    const held = new Set<string>()
    const changed = (table: CatalogTable, { table_id }: CatalogRow, files: Set<unknown>): void => {
      if (table === 'data_file') files.add(table_id)
      else changes.schema = true
    }
    const hold: Hold = (table, fact, more) => {
      const content = `${table} ${JSON.stringify(fact)}`
      held.add(content)
      if (this.#facts.has(content)) return
      const row = { ...fact, ...more?.(), begin_snapshot: snapshot, end_snapshot: null }
      this.#facts.set(content, { table, row })
      this.#push(table, row)
      changed(table, row, changes.inserted)
    }
    SCHEMAS.forEach((schema_name, schema_id) => {
      hold('schema', { schema_id, schema_uuid: uuidOf(schema_name), schema_name, ...AT_ROOT })
    })
    const tables = storedTables(manifest).map((table) => ({ ...table, id: this.#objectId(table) }))
    for (const table of tables) this.#holdTable(table, hold)
    for (const { schema, name, sql, comment } of ALL_VIEWS) {
      const view_id = this.#objectId({ schema, name })
      const view = {
        view_uuid: uuidOf(`${schema}.${name}`),
        schema_id: 0,
        view_name: name,
        column_aliases: '',
      }
      hold('view', { view_id, ...view, dialect: 'duckdb', sql })
      hold('tag', { object_id: view_id, key: 'comment', value: comment })
    }
    for (const [content, { table, row }] of this.#facts) {
      if (held.has(content)) continue
      row.end_snapshot = snapshot
      this.#facts.delete(content)
      changed(table, row, changes.deleted)
    }
    // Readers keep the schema of a version in memory.
    if (changes.schema) this.#schemaVersion += 1
    const schema_version = this.#schemaVersion
    for (const { id } of changes.schema ? tables : [])
      this.#push('schema_versions', { begin_snapshot: snapshot, schema_version, table_id: id })
    const changes_made = [
      ...[...changes.inserted].map((id) => `inserted_into_table:${id}`),
      ...[...changes.deleted].map((id) => `deleted_from_table:${id}`),
    ].join(',')
    this.#pushSnapshot(manifest, schema_version, changes_made)
  }

  #pushSnapshot(
    { version: snapshot_id, published_at, run_id }: Manifest,
    schema_version: number,
    changes_made: string,
  ) {
    // The clock may have been put back. Times of snapshots must grow, so that a time selects the last version up to it.
    this.#atMs = Math.max(Date.parse(published_at), this.#atMs + 1)
    const next = { next_catalog_id: this.#objects.size, next_file_id: this.#files.size }
    const snapshot_time = new Date(this.#atMs).toISOString()
    this.#push('snapshot', { snapshot_id, snapshot_time, schema_version, ...next })
    const author = { author: 'fieldwork-sync', commit_message: run_id }
    this.#push('snapshot_changes', { snapshot_id, changes_made, ...author })
  }

  #holdTable(table: ManifestTable & { readonly id: number }, hold: Hold): void {
    const { id: table_id, schema, name, columns, comment, files } = table
    const schema_id = SCHEMAS.indexOf(schema)
    hold('table', {
      table_id,
      table_uuid: uuidOf(`${schema}.${name}`),
      schema_id,
      table_name: name,
      ...AT_ROOT,
    })
    hold('tag', { object_id: table_id, key: 'comment', value: comment })
    const ids = this.#columnsOf(table_id)
    columns.forEach((column, column_order) => {
      const column_id = idOf(ids, column.name)
      const named = {
        column_name: column.name,
        column_type: TYPES[column.type],
        nulls_allowed: column.nullable,
      }
      hold('column', { column_id, table_id, column_order, ...named, ...NO_DEFAULT })
      hold('column_tag', { table_id, column_id, key: 'comment', value: column.comment })
    })
    // The file of an empty table is left out: its partition belongs to no account.
    for (const { path, rows, bytes, ...partition } of files.filter((file) => file.rows > 0))
      hold('data_file', { table_id, path, record_count: rows, file_size_bytes: bytes }, () => {
        const mapping_id = this.#mappingOf(table)
        const data_file_id = idOf(this.#files, `${path} ${this.#files.size}`)
        const row_id_start = this.#rowsOf.get(table_id) ?? 0
        this.#rowsOf.set(table_id, row_id_start + rows)
        for (const [column, bounds] of boundsOf(table, partition))
          this.#push('file_column_stats', {
            ...{ data_file_id, table_id, column_id: idOf(ids, column), value_count: rows, null_count: 0 },
            ...bounds,
          })
        return { data_file_id, path_is_relative: true, file_format: 'parquet', row_id_start, mapping_id }
      })
  }

  /** How readers find the columns in the files: by name, because the files have no field ids. The account is in the path. */
  #mappingOf({ id: table_id, schema, columns }: ManifestTable & { readonly id: number }): number {
    const names = columns.map(({ name }) => name)
    const before = this.#files.size
    const mapping_id = idOf(this.#files, `${table_id} ${JSON.stringify(names)}`)
    if (mapping_id < before) return mapping_id
    this.#push('column_mapping', { mapping_id, table_id, type: 'map_by_name' })
    names.forEach((source_name, column_id) => {
      const target_field_id = idOf(this.#columnsOf(table_id), source_name)
      const is_partition = schema === 'main' && source_name === 'account'
      this.#push('name_mapping', { mapping_id, column_id, source_name, target_field_id, is_partition })
    })
    return mapping_id
  }

  #objectId({ schema, name }: Pick<ManifestTable, 'schema' | 'name'>): number {
    return idOf(this.#objects, `${schema}.${name}`)
  }

  #columnsOf(table: number): Ids {
    const ids = this.#columns.get(table) ?? idsFromOne()
    this.#columns.set(table, ids)
    return ids
  }

  #push(table: CatalogTable, row: CatalogRow): void {
    const rows = this.#rows.get(table) ?? []
    this.#rows.set(table, rows)
    rows.push(row)
  }
}

/** Says that a row is valid in the version that is being added. `more` are cells that a new row gets. */
type Hold = (table: CatalogTable, fact: CatalogRow, more?: () => CatalogRow) => void

/** Numbers for names, in the order of appearance. */
type Ids = Map<string, number>

/** The ids start at 1. */
const idsFromOne = (): Ids => new Map([['', 0]])

const idOf = (ids: Ids, name: string): number => {
  const id = ids.get(name) ?? ids.size
  ids.set(name, id)
  return id
}

/** The path of a file is relative to the root of the warehouse. */
const AT_ROOT = { path: '', path_is_relative: true }

const NO_DEFAULT = { default_value: 'NULL', default_value_type: 'literal', default_value_dialect: 'duckdb' }

/** Equal names give equal ids, so equal manifests give equal rows. */
const uuidOf = (name: string): string =>
  createHash('sha256')
    .update(name)
    .digest('hex')
    .replace(/^(.{8})(.{4})(.{4})(.{4})(.{12}).*$/, '$1-$2-$3-$4-$5')

/**
 * The bounds of the values in a file that follow from its partition. Readers skip files by these bounds. There are no bounds of texts and
 * doubles, which are easily wrong.
 */
function* boundsOf(
  { schema, name }: ManifestTable,
  { account, created_month }: Pick<PublishedFile, 'account' | 'created_month'>,
): Iterable<readonly [column: string, { readonly min_value: string; readonly max_value: string }]> {
  if (schema !== 'main' || account === null) return
  yield ['account', { min_value: account, max_value: account }]
  // In every other table, `created_month` is the month of the survey. `Date` reads years below 100 as other years.
  const [, year, month] = /^(?!00)(\d{4})-(\d{2})$/.exec(created_month ?? '') ?? []
  if (name !== 'surveys' || year === undefined) return
  const days = new Date(Date.UTC(Number(year), Number(month), 0)).getUTCDate()
  yield [
    'created_at',
    {
      min_value: `${year}-${month}-01 00:00:00+00`,
      max_value: `${year}-${month}-${days} 23:59:59.999999+00`,
    },
  ]
}
