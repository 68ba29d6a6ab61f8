/** What reading a published state leaves beside it. */
import { existsSync } from 'node:fs'
import { dirname } from 'node:path'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { openPublishedFile } from '../../../src/publish/duckdb.js'
import { varcharCell } from '../../../src/warehouse/connection/cells.js'
import { readPublished } from '../../../src/warehouse/status.js'
import { testWarehouse } from '../../support/warehouse/warehouse.js'

test('a reader spills into a directory of its own, which ends with it', async () => {
  const { database } = await testWarehouse()
  const { file } = database
  await database.close()

  const [setting] = await readPublished(
    { path: file, file, open: openPublishedFile },
    new AbortController().signal,
    (published) =>
      published.exclusively((sql) =>
        sql.rows(z.object({ spill: varcharCell }), `SELECT current_setting('temp_directory') AS spill`),
      ),
  )

  expect(setting?.spill).toMatch(/fieldwork-sync-read-\w+$/)
  expect(dirname(setting?.spill ?? '')).not.toBe(dirname(file))
  expect(existsSync(setting?.spill ?? '')).toBe(false)
})
