/** ClickHouse, as chDB, reads the Delta tables of the bucket that a release wrote. They are compared with its databases. */
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { temporaryDirectory } from '../../support/files/temporary.js'
import { openBucketTrial } from '../../support/storage/bucket-trial.js'
import { STORAGE_CREDENTIALS } from '../../support/storage/credentials.js'
import { openReader, query } from '../../support/warehouse/duckdb.js'
import { RELEASES, restoreBucket, unpack } from '../upgrades/release.js'
import { lacksEnvironment, runPython } from './python.js'

const SCRIPT = fileURLToPath(new URL('read_clickhouse.py', import.meta.url))
const PAGE = new URL('../../../docs/how-to/engines.md', import.meta.url)

interface Read {
  readonly sql: string
  /** A Parquet file. */
  readonly output: string
}

const run = async (directory: string, reads: readonly Read[]): Promise<void> => {
  expect(await runPython('chdb', SCRIPT, { directory, reads })).toEqual({ reads: reads.length })
}

describe.skipIf(lacksEnvironment('chdb')).each(RELEASES)('ClickHouse reads what %s wrote', (release) => {
  test('the rows of every Delta table, and by version those of the first night', async () => {
    const directory = await temporaryDirectory()
    unpack(release, 'bucket', directory)
    const bucket = join(directory, 'fieldwork')
    const [firstDatabase = ''] = readdirSync(join(bucket, 'duckdb')).toSorted()
    using reader = await openReader(':memory:')
    await reader.query(`SET TimeZone = 'UTC'`)
    await reader.query(`ATTACH '${join(bucket, 'duckdb', firstDatabase)}' AS first_night (READ_ONLY)`)
    await reader.query(`ATTACH '${join(bucket, 'fieldwork.duckdb')}' AS last_night (READ_ONLY)`)

    const data = join(bucket, 'data')
    const tables = readdirSync(data, { recursive: true, encoding: 'utf8' })
      .filter((path) => path.endsWith('/_delta_log'))
      .map(dirname)
    expect(tables).toEqual(expect.arrayContaining(['surveys', 'surveys_today', '_sync/runs']))
    const reads = tables.flatMap((table) => {
      const sql = `SELECT * FROM deltaLakeLocal('${join(data, table)}')`
      const name = table.includes('/') ? table.replace('/', '.') : `main.${table}`
      const [first, last] = [`first_night.${name}`, `last_night.${name}`]
      return [
        { stored: last, sql, output: join(directory, last) },
        {
          stored: first,
          sql: `${sql} SETTINGS delta_lake_snapshot_version = 0`,
          output: join(directory, first),
        },
      ]
    })
    await run(data, reads)
    for (const { stored, output } of reads) {
      const columns = await reader.query(`DESCRIBE ${stored}`)
      const cells = columns.map(({ column_name: name }) => `CAST("${name}" AS VARCHAR) AS "${name}"`).join()
      const wanted = `SELECT ${cells} FROM ${stored}`
      const found = `SELECT ${cells} FROM read_parquet('${output}')`
      expect(await reader.query(`${wanted} EXCEPT ALL ${found}`), `missing in ${stored}`).toEqual([])
      expect(await reader.query(`${found} EXCEPT ALL ${wanted}`), `only in ${stored}`).toEqual([])
    }
  })

  test('with the query of docs/how-to/engines.md', async (context) => {
    const trial = await openBucketTrial(context)
    await restoreBucket(trial, release)
    const directory = await trial.temporary()
    const output = join(directory, 'output')
    const [, sql = ''] = /^## ClickHouse\n\n```sql\n(.*?);\n```$/ms.exec(readFileSync(PAGE, 'utf8')) ?? []
    const replaced = sql
      .replace('https://research.s3.eu-west-1.amazonaws.com', `${trial.s3.endpoint}/${trial.s3.bucket}`)
      .replace('KEY', STORAGE_CREDENTIALS.AWS_ACCESS_KEY_ID)
      .replace('SECRET', STORAGE_CREDENTIALS.AWS_SECRET_ACCESS_KEY)
    await run(directory, [{ sql: replaced, output }])
    expect(await query(':memory:', `FROM read_parquet('${output}') ORDER BY status`)).toEqual(
      await trial.rows('SELECT status, count(*) AS surveys FROM surveys GROUP BY status ORDER BY status'),
    )
  })
})
