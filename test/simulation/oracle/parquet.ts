/** P3, for readers of Parquet: `current` is always a complete version, and after a publish it equals the committed state. */
import { existsSync, lstatSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { OpenFile } from '../readers.js'
import { COMPARED, type Violation } from './row-text.js'

interface Manifest {
  readonly run_id: string | null
  readonly tables: readonly {
    readonly schema: string
    readonly name: string
    readonly columns: readonly { readonly name: string; readonly type: string }[]
    readonly files: readonly { readonly path: string; readonly bytes: number }[]
  }[]
}

/** `work` is the published state, and `runId` the run that published it; null when the last publish may not have ended. */
export const checkParquet = async (
  directory: string,
  work: OpenFile | null,
  runId: string | null,
): Promise<Violation[]> => {
  const current = join(directory, 'parquet', 'current')
  if (!existsSync(current)) return isThere(current) ? ['P3: parquet/current points nowhere'] : []
  const manifest = JSON.parse(readFileSync(join(current, 'manifest.json'), 'utf8')) as Manifest
  const torn = manifest.tables.flatMap(({ files }) =>
    files
      .filter(({ path, bytes }) => sizeOf(join(current, path)) !== bytes)
      .map(({ path }) => `P3: ${path} of parquet/current differs from its manifest`),
  )
  if (torn.length > 0 || work === null) return torn
  return [
    ...(manifest.run_id === runId
      ? []
      : [`P3: parquet/current is of the run ${manifest.run_id}, not ${runId}`]),
    ...(await differences(current, manifest, work)),
  ]
}

const isThere = (path: string): boolean => lstatSync(path, { throwIfNoEntry: false }) !== undefined
const sizeOf = (path: string): number | undefined => statSync(path, { throwIfNoEntry: false })?.size

const PARTITIONED = 'hive_partitioning = true, hive_types = {account: VARCHAR, created_month: VARCHAR}'

const differences = async (current: string, { tables }: Manifest, work: OpenFile): Promise<Violation[]> => {
  const found: Violation[] = []
  for (const { schema, name, columns, files } of tables) {
    if (!COMPARED.includes(`${schema}.${name}`)) continue
    const list = columns.map((column) => asText(column)).join(', ')
    const paths = files.map(({ path }) => `'${join(current, path).replaceAll("'", "''")}'`).join(', ')
    const stored = `(SELECT ${list} FROM ${schema}.${name})`
    const published = `(SELECT ${list} FROM read_parquet([${paths}], ${schema === 'main' ? PARTITIONED : 'hive_partitioning = false'}))`
    const rows = await work.query(
      `SELECT count(*) AS n FROM ((${stored} EXCEPT ${published}) UNION ALL (${published} EXCEPT ${stored}))`,
    )
    if (rows[0]?.n !== 0)
      found.push(`P3: ${schema}.${name} in parquet/current differs from the committed state`)
  }
  return found
}

/** JSON is published as text. */
const asText = ({ name, type }: { readonly name: string; readonly type: string }): string =>
  type === 'JSON' ? `CAST("${name}" AS VARCHAR) AS "${name}"` : `"${name}"`
