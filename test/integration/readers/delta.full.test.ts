/**
 * Programs of others read a bucket of versitygw over its protocol: DuckDB reads the database, the Parquet files of the manifest and the
 * Delta tables; deltalake, polars and Spark read the Delta tables. Each is compared with the work database of the night.
 */
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { beforeAll, describe, expect, test } from 'vitest'
import type { ManifestTable } from '../../../src/publish/parquet/manifest.js'
import { atEndOfFile, temporaryDirectory } from '../../support/files/temporary.js'
import { STORAGE_CREDENTIALS } from '../../support/storage/credentials.js'
import { commitsIn, type DeltaNight, deltaNights, ODD_ACCOUNTS } from '../../support/storage/delta-nights.js'
import { VERSITYGW } from '../../support/storage/versitygw.js'
import { lacks } from '../../support/suite/lacks.js'
import { openReader, type Reader } from '../../support/warehouse/duckdb.js'
import { environmentDirectory, lacksEnvironment, runPython } from './python.js'

const SCRIPT = fileURLToPath(new URL('read_bucket.py', import.meta.url))
const JARS = 'spark-jars'

/** The last and the first microsecond of months, and a year that some calendars count differently. */
const TIMES = ['2026-01-31T23:59:59.999999', '2026-02-01T00:00:00.000001', '0999-12-31T23:59:59.999999']

/** The environments that each library needs. */
const LIBRARIES: Readonly<Record<string, readonly string[]>> = {
  deltalake: ['delta'],
  polars: ['delta'],
  duckdb: ['delta'],
  spark: ['spark', JARS],
}

const lacksLibrary = (library: string): boolean => LIBRARIES[library]?.some(lacksEnvironment) ?? false

let endpoint: string
let nights: readonly DeltaNight[]
let reader: Reader
const start = async () => {
  ;({ endpoint, nights } = await deltaNights(atEndOfFile))
  reader = await openReader(':memory:')
  await reader.query(`SET TimeZone = 'UTC'`)
  atEndOfFile(() => reader[Symbol.dispose]())
}

const directoryOf = ({ schema, name }: ManifestTable): string =>
  schema === 'main' ? name : `${schema}/${name}`

/** Differences between the rows and types of a table on a night and what was read, as text; none if they are equal. */
const differences = async (
  { truth }: DeltaNight,
  table: ManifestTable,
  read: string,
): Promise<readonly string[]> => {
  const stored = `read_parquet('${join(truth, directoryOf(table))}.parquet')`
  const columns = table.columns.map(({ name }) => `"${name}"`).join(', ')
  const rows = await reader.query(`SELECT count(*) AS "rows" FROM (
    (SELECT ${columns} FROM ${stored} EXCEPT ALL SELECT ${columns} FROM ${read})
    UNION ALL (SELECT ${columns} FROM ${read} EXCEPT ALL SELECT ${columns} FROM ${stored}))`)
  const types = await reader.query(`SELECT column_name FROM (
    SELECT column_name, column_type FROM (DESCRIBE SELECT ${columns} FROM ${stored})
    EXCEPT SELECT column_name, column_type FROM (DESCRIBE SELECT ${columns} FROM ${read}))`)
  return [
    ...(rows[0]?.rows === 0 ? [] : [`${table.name}: ${rows[0]?.rows} rows`]),
    ...types.map(({ column_name }) => `${table.name}: type of ${column_name}`),
  ]
}

/** Rows by account and month, as a reader sees the partition columns. */
const partitions = async (read: string) =>
  reader.query(
    `SELECT account, created_month, count(*)::INT AS "rows" FROM ${read} GROUP BY ALL ORDER BY ALL`,
  )
const partitionsOf = ({ files }: ManifestTable) =>
  files
    .filter(({ rows }) => rows > 0)
    .map(({ account, created_month, rows }) => ({ account, created_month, rows }))
    .toSorted((a, b) => (`${a.account}/${a.created_month}` < `${b.account}/${b.created_month}` ? -1 : 1))

const lastNight = (): DeltaNight => nightAt(-1)
const nightAt = (index: number): DeltaNight => {
  const night = nights.at(index)
  if (night === undefined) throw new Error(`there is no night ${index}`)
  return night
}

/** The last night before a month without runs. */
const LAST_OF_MONTH = 12
/** Versions whose files outlive that month, because the pointer names them. */
const NAMED_VERSIONS = 3
/** Its run died before Delta. */
const DEAD_NIGHT = 10

/** The last nights that show the state of a night by its version in Delta. */
const nightsThatKeep = ({ number }: DeltaNight): readonly DeltaNight[] => [
  ...(number <= LAST_OF_MONTH ? [nightAt(LAST_OF_MONTH - 1)] : []),
  ...(number > nights.length - NAMED_VERSIONS ? [lastNight()] : []),
]

interface Read {
  /** Address of a Delta table. */
  readonly table?: string
  readonly version?: number
  readonly created_at?: string
  /** SQL of rows, for DuckDB. */
  readonly rows?: string
}

/** Reads with a library. Returns SQL of the rows of each read, in the same order. */
const rowsReadBy = async (
  library: string,
  reads: readonly Read[],
  databases: Readonly<Record<string, string>> = {},
): Promise<readonly string[]> => {
  const outputs = await temporaryDirectory()
  const jars = `${environmentDirectory(JARS)}/jars`
  const placed = reads.map((read, index) => ({ ...read, output: join(outputs, String(index)) }))
  const input = {
    library,
    jars: existsSync(jars) ? readdirSync(jars).map((name) => join(jars, name)) : [],
    endpoint,
    env: STORAGE_CREDENTIALS,
    databases,
    reads: placed,
  }
  expect(await runPython(LIBRARIES[library]?.[0] ?? '', SCRIPT, input)).toEqual({ reads: reads.length })
  // Spark writes a directory.
  return placed.map(({ output }) => `read_parquet('${output}${library === 'spark' ? '/*.parquet' : ''}')`)
}

/** JSON as text. */
const rowsOfDatabase = ({ number }: DeltaNight, { schema, name, columns }: ManifestTable): string => {
  const cells = columns.map((column) =>
    column.type === 'JSON' ? `CAST(${column.name} AS VARCHAR) AS ${column.name}` : column.name,
  )
  return `(SELECT ${cells.join(', ')} FROM night_${number}.${schema}.${name})`
}

/** As the how-to page reads the files of a manifest. */
const rowsOfFiles = ({ url }: DeltaNight, { files }: ManifestTable): string => {
  const paths = files.map(({ path }) => `'${url}/${path}'`).join(', ')
  return files.some(({ account }) => account !== null)
    ? `read_parquet([${paths}], hive_partitioning = true, hive_types = {account: VARCHAR, created_month: VARCHAR})`
    : `read_parquet([${paths}], hive_partitioning = false)`
}

interface DeltaRead {
  readonly night: DeltaNight
  readonly table: ManifestTable
  readonly read: Read
}

/** Each table after each of its commits, and later by its version. */
const deltaReads = async (): Promise<readonly DeltaRead[]> => {
  const reads: DeltaRead[] = []
  for (const night of nights)
    for (const { table: directory, number } of night.commits) {
      const table = night.manifest.tables.find((found) => `data/${directoryOf(found)}` === directory)
      if (table === undefined) throw new Error(`no manifest names ${directory}`)
      reads.push({ night, table, read: { table: `${night.url}/${directory}` } })
      for (const later of nightsThatKeep(night))
        if (number >= Math.min(...(await commitsIn(join(later.directory, directory)))))
          reads.push({ night, table, read: { table: `${later.url}/${directory}`, version: number } })
    }
  return reads
}

describe.skipIf(lacks('versitygw', VERSITYGW !== null))('a bucket after thirteen nights', () => {
  beforeAll(start)

  test('the nights have changes, a new column, a vanished survey, empty tables and odd accounts', async () => {
    const surveys = nights.map(({ manifest }) => manifest.tables.find(({ name }) => name === 'surveys'))
    expect(new Set(surveys.map((table) => table?.columns.length)).size).toBe(2)
    expect(surveys[5]?.rows).toBeLessThan(surveys[4]?.rows ?? 0)
    const sources = nights.map(
      ({ manifest }) => manifest.tables.find(({ name }) => name === 'sample_sources')?.rows ?? 0,
    )
    expect([sources[0], sources[7]]).toEqual([0, 0])
    expect(sources[8]).toBeGreaterThan(0)
    expect(surveys[11]?.files.map(({ account }) => account)).toEqual(
      expect.arrayContaining([...ODD_ACCOUNTS]),
    )
    const numbers = nights.map(
      ({ commits }) => commits.find(({ table }) => table === 'data/_sync/runs')?.number,
    )
    expect(numbers).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, undefined, 9, 10, 11])
    expect(nights[DEAD_NIGHT - 1]?.commits).toEqual([])
    expect(await commitsIn(join(lastNight().directory, 'data/_sync/runs'))).toEqual([10, 11])
    expect(Math.min(...(await commitsIn(join(lastNight().directory, 'data/surveys'))))).toBe(0)
  })

  test.skipIf(lacksLibrary('duckdb'))(
    'DuckDB reads the rows of every table on every night, in the database and by the manifest',
    async () => {
      const databases = Object.fromEntries(
        nights.map(({ number, url, manifest }) => [`night_${number}`, `${url}/${manifest.database.key}`]),
      )
      const reads = nights.flatMap((night) =>
        night.manifest.tables.flatMap((table) => [
          { night, table, rows: rowsOfDatabase(night, table) },
          { night, table, rows: rowsOfFiles(night, table) },
        ]),
      )
      const read = await rowsReadBy(
        'duckdb',
        reads.map(({ rows }) => ({ rows })),
        databases,
      )
      for (const [index, { night, table, rows }] of reads.entries())
        expect(await differences(night, table, read[index] ?? ''), `night ${night.number}, ${rows}`).toEqual(
          [],
        )
    },
  )

  describe.each(Object.keys(LIBRARIES))('%s', (library) => {
    const isMissing = lacksLibrary(library)
    test.skipIf(isMissing)('finds the rows of a time', async () => {
      const table = `${lastNight().url}/data/surveys`
      const read = await rowsReadBy(
        library,
        TIMES.map((created_at) => ({ table, created_at })),
      )
      for (const [index, time] of TIMES.entries()) {
        const ids = (rows: string) =>
          reader.query(
            `SELECT account, id FROM ${rows} WHERE created_at = TIMESTAMPTZ '${time}Z' ORDER BY ALL`,
          )
        const stored = await ids(`read_parquet('${lastNight().truth}/surveys.parquet')`)
        expect(stored.length).toBeGreaterThan(0)
        expect(await ids(read[index] ?? ''), time).toEqual(stored)
      }
    })

    test.skipIf(isMissing)('reads the rows of every table on every night, and later by version', async () => {
      const reads = await deltaReads()
      for (const { number, commits } of nights.slice(0, LAST_OF_MONTH)) {
        const byVersion = reads.filter(
          ({ night, read }) => night.number === number && read.version !== undefined,
        )
        expect(byVersion.length).toBeGreaterThanOrEqual(commits.length)
      }
      const rows = await rowsReadBy(
        library,
        reads.map(({ read }) => read),
      )
      for (const [index, { night, table, read }] of reads.entries()) {
        const what = `night ${night.number}, ${read.table}, version ${read.version}`
        expect(await differences(night, table, rows[index] ?? ''), what).toEqual([])
        const expected = partitionsOf(table)
        // Views of today have none.
        if (expected.some(({ account }) => account !== null))
          expect(await partitions(rows[index] ?? ''), what).toEqual(expected)
      }
    })
  })
})
