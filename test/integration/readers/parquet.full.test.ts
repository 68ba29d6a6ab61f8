/**
 * Python libraries read published Parquet: duckdb, pyarrow, pandas and polars.
 * The environment variable FIELDWORK_SYNC_TEST_PYTHON names the interpreter; the default is `python3`.
 */
import { execFileSync, spawnSync } from 'node:child_process'
import { realpath } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { surveyProgress, surveys, surveysHistory } from '../../../src/model/tables.js'
import { accountWarehouse } from '../../../src/warehouse/account-warehouse.js'
import { lacks } from '../../support/suite/lacks.js'
import { instantOf, minute } from '../../support/time/instants.js'
import { currentOf, publishedCopies } from '../../support/warehouse/parquet.js'
import { bundle, list, progress, source, survey } from '../../support/warehouse/rows.js'

const LIBRARIES = ['duckdb', 'pyarrow', 'pandas', 'polars'] as const
const FIXTURE = fileURLToPath(new URL('read_parquet.py', import.meta.url))
const python = process.env.FIELDWORK_SYNC_TEST_PYTHON ?? 'python3'

const hasAll = spawnSync(python, ['-c', `import ${LIBRARIES.join(', ')}`]).status === 0

interface Seen {
  readonly types: Readonly<Record<string, string>>
  readonly rows: readonly Readonly<Record<string, unknown>>[]
}

const TABLES = [surveys, surveyProgress, surveysHistory]

/** Three months and two accounts, with every type, nulls, and values that conversion often changes. */
const publishedOnce = publishedCopies(async ({ account, database }) => {
  const odd = { title: 'Ünï "quoted" \u0000 \ufeff', project_id: 'P', _extra: '{"new":[1,"\\ud800"]}' }
  await list(
    account,
    [survey(1), survey(2, odd), survey(3, { created_at: instantOf('0999-12-31T23:59:59.999999Z') })],
    minute(0),
    'full',
  )
  const extremes = { completion_rate: 0.1 + 0.2, drop_out_rate: 5e-324, interviews_count: 2 ** 53 - 1 }
  await account.commitBundles([bundle(2, minute(1.0001), [source(20)], progress(1, extremes))], 'run-1')
  await account.commitBundles([bundle(1, minute(1), [source(10)], null)], 'run-1')
  await list(accountWarehouse(database, 'other-1'), [survey(1)], minute(2), 'full')
})

test.skipIf(lacks(`${LIBRARIES.join(', ')} of python3`, hasAll))(
  'Python libraries read the exact rows of the tables',
  async () => {
    const warehouse = await publishedOnce()
    const version = await realpath(currentOf(warehouse))
    const names = TABLES.map(({ name }) => name)
    const output = execFileSync(python, [FIXTURE, version, ...names], { encoding: 'utf8' })
    const seen: Readonly<Record<string, Readonly<Record<string, Seen>>>> = JSON.parse(output)
    expect(Object.keys(seen)).toEqual(LIBRARIES)
    for (const { name, columns } of TABLES) {
      const cells = columns.map((column) =>
        column.type === 'TIMESTAMPTZ' ? `epoch_us("${column.name}") AS "${column.name}"` : `"${column.name}"`,
      )
      const key = name === 'survey_progress' ? 'survey_id' : 'id'
      const stored = await warehouse.rows(
        `SELECT ${cells.join(', ')} FROM main.${name} ORDER BY account, "${key}"`,
      )
      expect(stored.length).toBeGreaterThan(0)
      const types = Object.fromEntries(columns.map((column) => [column.name, column.type]))
      for (const library of LIBRARIES) {
        const found = seen[library]?.[name]
        expect(found?.types, `${library}, ${name}`).toEqual({
          ...Object.fromEntries(
            Object.entries(types).map(([column, type]) => [column, type === 'JSON' ? 'VARCHAR' : type]),
          ),
          created_month: 'VARCHAR',
        })
        const rows = (found?.rows ?? [])
          .map(({ created_month: _, ...row }) => row)
          .toSorted((a, b) =>
            `${String(a.account)} ${String(a[key])}` < `${String(b.account)} ${String(b[key])}` ? -1 : 1,
          )
        expect(rows, `${library}, ${name}`).toEqual(stored)
      }
    }
  },
)
