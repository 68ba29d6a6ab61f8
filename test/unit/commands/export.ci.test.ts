import { join } from 'node:path'
import { expect, test } from 'vitest'
import { exportTables } from '../../../src/commands/export.js'
import { DATA_TABLES, freshness, HISTORY_TABLES } from '../../../src/model/tables.js'
import { openDatabase } from '../../../src/warehouse/connection/database.js'
import { workFile } from '../../../src/warehouse/lifecycle/files.js'
import { insertRows } from '../../support/warehouse/long-table.js'
import { testWarehouse } from '../../support/warehouse/warehouse.js'

const SURVEYS = 20_000

test('export: views get the memory of a sync, which some thousand surveys need', async () => {
  const { directory, database, run } = await testWarehouse()
  for (const table of [...DATA_TABLES, ...HISTORY_TABLES]) await run(insertRows(table, SURVEYS))
  for (const { name } of DATA_TABLES) await run(`UPDATE ${name} SET _missing_since = NULL`)
  await run(`UPDATE surveys SET status = 'fieldwork'`)
  await run(`UPDATE surveys_history SET status = 'fieldwork', valid_to = NULL`)
  await run(insertRows(freshness, SURVEYS))
  await database.close()
  const source = workFile(directory)
  const exported = await exportTables({
    source,
    open: (options) => openDatabase(source, { ...options, readOnly: true }),
    out: join(directory, 'out'),
    format: 'csv',
    bom: false,
    tables: ['surveys_today', 'needs_action'],
    signal: new AbortController().signal,
  })
  expect(exported.tables).toMatchObject([
    { table: 'surveys_today', rows: SURVEYS },
    { table: 'needs_action' },
  ])
})
