/** Runs the Python of the how-to pages for readers unchanged, on published accounts that look like numbers, dates and booleans. */
import { fileURLToPath } from 'node:url'
import { beforeAll, describe, expect, test } from 'vitest'
import { createDuckdbPublisher } from '../../../src/publish/duckdb.js'
import { createLacks } from '../../../src/publish/file-system-lacks.js'
import { accountWarehouse } from '../../../src/warehouse/account-warehouse.js'
import { atEndOfFile, temporaryDirectory } from '../../support/files/temporary.js'
import { minute } from '../../support/time/instants.js'
import { publishParquet } from '../../support/warehouse/parquet.js'
import { list, survey } from '../../support/warehouse/rows.js'
import { testWarehouse } from '../../support/warehouse/warehouse.js'
import { BLOCKS, ENVIRONMENT_OF } from './page-shared.js'
import { lacksEnvironment, runPython } from './python.js'

const SCRIPT = fileURLToPath(new URL('page_block.py', import.meta.url))

const ACCOUNTS = ['007', '1e3', '2026-03-01', 'true']

describe('the Python of the pages', () => {
  let directory = ''
  beforeAll(async () => {
    directory = await temporaryDirectory(atEndOfFile)
    const warehouse = await testWarehouse(directory, atEndOfFile)
    for (const account of ACCOUNTS)
      await list(accountWarehouse(warehouse.database, account), [survey(1)], minute(0), 'full')
    await publishParquet(warehouse)
    await createDuckdbPublisher(warehouse.database, directory, createLacks(warehouse.log)).publish(
      new AbortController().signal,
    )
    await warehouse.database.close()
  })

  for (const { library, code } of BLOCKS) {
    const environment = ENVIRONMENT_OF[library] ?? ''
    test.skipIf(lacksEnvironment(environment))(`reads accounts as text with ${library}`, async () => {
      const month = ACCOUNTS.map(() => expect.stringMatching(/^\d{4}-\d\d$/))
      // A table in DuckDB has no month column. In Parquet it is a part of the path.
      const values = { account: ACCOUNTS, ...(library === 'sqlalchemy' ? {} : { created_month: month }) }
      const input = { code: code.replaceAll('/data/fieldwork', directory), columns: Object.keys(values) }
      expect(await runPython(environment, SCRIPT, input)).toEqual(values)
    })
  }
})
