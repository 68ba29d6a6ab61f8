/**
 * Runs the queries of docs/reference/queries.md unchanged, on a world that was read on four nights. The expected results come from the
 * truth of the reference server on each night, or were computed by hand.
 */
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { PUBLISHED_TABLES } from '../../../src/publish/parquet/tables.js'
import { qualified } from '../../../src/warehouse/connection/ddl.js'
import { ALL_VIEWS } from '../../../src/warehouse/views/all.js'
import { createView } from '../../../src/warehouse/views/view-declaration.js'
import { openReader, type Reader, type Row } from '../../support/warehouse/duckdb.js'
import { fourNights } from '../../support/warehouse/four-nights.js'
import { readTable } from '../../support/warehouse/parquet.js'
import { QUERIES, sqlOf, viewsBeside } from './queries.js'

const world = fourNights()

const runQuery = async (title: string, reader: Reader = world().reader): Promise<Row[]> =>
  reader.query(sqlOf(title))

test('every query and every view gives the same rows over Parquet with our views', async () => {
  using parquet = await openReader(':memory:')
  await parquet.query(`SET TimeZone = 'UTC'`)
  await parquet.query('CREATE SCHEMA _sync')
  for (const table of PUBLISHED_TABLES)
    await parquet.query(
      `CREATE VIEW ${qualified(table.declaration)} AS SELECT ${table.declaration.columns.map(({ name }) => `"${name}"`).join(', ')}
        FROM ${readTable(table, join(world().warehouse, 'parquet/current'))}`,
    )
  for (const [view = ''] of ALL_VIEWS.map(createView)) await parquet.query(view)
  for (const title of QUERIES.keys()) {
    const rows = await runQuery(title)
    // Ten days have no forecast of two weeks before.
    if (title !== 'Forecasts of two weeks before') expect(rows.length, title).toBeGreaterThan(0)
    expect(await runQuery(title, parquet), title).toEqual(rows)
  }
  for (const { name, key } of viewsBeside([...QUERIES.values()])) {
    const sql = `SELECT * FROM ${name} ORDER BY ${key.join(', ')}`
    expect(await parquet.query(sql), name).toEqual(await world().reader.query(sql))
  }
})
