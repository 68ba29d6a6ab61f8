/**
 * Programs of others read the Delta tables of a bucket: deltalake, polars, DuckDB and Spark. What they read is compared with the work
 * database of each night, and so are the Parquet files that the manifest names.
 */
import { existsSync, readdirSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { ManifestTable } from '../../../src/publish/parquet/manifest.js'
import { rowsOf } from '../../../src/publish/parquet/reader.js'
import { temporaryDirectory } from '../../support/files/temporary.js'
import { type DeltaNight, deltaNights, ODD_ACCOUNTS } from '../../support/storage/delta-nights.js'
import { openReader, type Reader } from '../../support/warehouse/duckdb.js'
import { environmentDirectory, environmentProblem, runPython } from './python.js'

const SCRIPT = new URL('read_delta.py', import.meta.url).pathname
const JARS = 'delta-jars'

/** The last and the first microsecond of months, and a year that some calendars count differently. */
const TIMES = ['2026-01-31T23:59:59.999999', '2026-02-01T00:00:00.000001', '0999-12-31T23:59:59.999999']

/** The environments that each library needs. */
const LIBRARIES: Readonly<Record<string, readonly string[]>> = {
  deltalake: ['delta'],
  polars: ['delta'],
  duckdb: ['delta'],
  spark: ['spark', JARS],
}

const finished: (() => Promise<void> | void)[] = []
const whenFinished = (work: () => Promise<void> | void) => void finished.unshift(work)
let nights: readonly DeltaNight[] = []
let reader: Reader
beforeAll(async () => {
  nights = await deltaNights(whenFinished)
  reader = await openReader(':memory:')
  await reader.query(`SET TimeZone = 'UTC'`)
}, 300_000)
afterAll(async () => {
  reader[Symbol.dispose]()
  for (const work of finished) await work()
})

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

const lastBucket = (): string => nights.at(-1)?.bucket ?? ''

/** The first version that the log shows after its clean-up. */
const firstVersion = (directory: string): number =>
  Math.min(
    ...readdirSync(join(lastBucket(), directory, '_delta_log'))
      .map((name) => Number.parseInt(name, 10))
      .filter(Number.isInteger),
  )

test('the nights have changes, a new column, a vanished survey, empty tables and odd accounts', () => {
  const surveys = nights.map(({ manifest }) => manifest.tables.find(({ name }) => name === 'surveys'))
  expect(new Set(surveys.map((table) => table?.columns.length)).size).toBe(2)
  expect(surveys[5]?.rows).toBeLessThan(surveys[4]?.rows ?? 0)
  const sources = nights.map(
    ({ manifest }) => manifest.tables.find(({ name }) => name === 'sample_sources')?.rows ?? 0,
  )
  expect([sources[0], sources[7]]).toEqual([0, 0])
  expect(sources[8]).toBeGreaterThan(0)
  expect(surveys[11]?.files.map(({ account }) => account)).toEqual(expect.arrayContaining([...ODD_ACCOUNTS]))
  const numbers = nights.map(
    ({ tables }) => tables.find(({ directory }) => directory === 'data/_sync/runs')?.number,
  )
  expect(numbers).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, undefined, 9, 10, 11])
  expect(firstVersion('data/_sync/runs')).toBe(10)
  expect(firstVersion('data/surveys')).toBe(0)
})

test('Parquet by the manifest has the rows of every table on every night', async () => {
  for (const night of nights)
    for (const table of night.manifest.tables)
      expect(await differences(night, table, rowsOf(night.bucket, table)), `night ${night.number}`).toEqual(
        [],
      )
})

/** Spark writes a directory. */
const writtenBy = (library: string, output: string): string =>
  `read_parquet('${output}${library === 'spark' ? '/*.parquet' : ''}')`

describe.each(Object.entries(LIBRARIES))('%s', (library, environments) => {
  const skipped = environments.map(environmentProblem).find((problem) => problem !== null) ?? null
  const jars = () => {
    const directory = `${environmentDirectory(JARS)}/jars`
    return existsSync(directory) ? readdirSync(directory).map((name) => join(directory, name)) : []
  }
  test.skipIf(skipped !== null)(
    `finds the rows of a time${skipped === null ? '' : ` (skipped: ${skipped})`}`,
    { timeout: 300_000 },
    async () => {
      const outputs = await temporaryDirectory()
      const reads = TIMES.map((time, index) => ({
        table: join(lastBucket(), 'data/surveys'),
        version: null,
        created_at: time,
        output: join(outputs, String(index)),
      }))
      await runPython(environments[0] ?? '', SCRIPT, { library, jars: jars(), reads })
      for (const { created_at, output } of reads) {
        const ids = (rows: string) =>
          reader.query(
            `SELECT account, id FROM ${rows} WHERE created_at = TIMESTAMPTZ '${created_at}Z' ORDER BY ALL`,
          )
        const stored = await ids(`read_parquet('${nights.at(-1)?.truth}/surveys.parquet')`)
        expect(stored.length).toBeGreaterThan(0)
        expect(await ids(writtenBy(library, output)), created_at).toEqual(stored)
      }
    },
  )

  test.skipIf(skipped !== null)(
    `reads the rows of every table on every night, and later by version${skipped === null ? '' : ` (skipped: ${skipped})`}`,
    { timeout: 1_800_000 },
    async () => {
      const outputs = await temporaryDirectory()
      await mkdir(outputs, { recursive: true })
      // A table without a commit on a night has the log of the night before.
      const commits = nights.flatMap((night) =>
        night.tables
          .filter(({ isCommitted }) => isCommitted)
          .flatMap(({ directory, number }) => {
            const table = night.manifest.tables.find((found) => `data/${directoryOf(found)}` === directory)
            return table === undefined ? [] : [{ night, table, directory, number }]
          }),
      )
      const reads = commits.flatMap(({ night, table, directory, number }, index) => {
        const output = join(outputs, String(index))
        const latest = { table: join(night.bucket, directory), version: null, output: `${output}.latest` }
        const version = { table: join(lastBucket(), directory), version: number, output: `${output}.version` }
        return (number < firstVersion(directory) ? [latest] : [latest, version]).map((read) => ({
          night,
          table,
          read,
        }))
      })
      expect(reads.length).toBeGreaterThan(nights[0]?.manifest.tables.length ?? 0)
      const input = { library, jars: jars(), reads: reads.map(({ read }) => read) }
      expect(await runPython(environments[0] ?? '', SCRIPT, input)).toEqual({ reads: reads.length })
      for (const { night, table, read } of reads) {
        const what = `night ${night.number}, ${table.name}, version ${read.version}`
        const rows = writtenBy(library, read.output)
        expect(await differences(night, table, rows), what).toEqual([])
        if (table.schema === 'main') expect(await partitions(rows), what).toEqual(partitionsOf(table))
      }
    },
  )
})
