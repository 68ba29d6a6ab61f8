/**
 * The settings of a reader's session do not change what a view or a query to copy says. Every setting that `duckdb_settings()` has is
 * tried, or has the reason why not, here: what SQL means alone, how it runs together, in every version of DuckDB. `npm test`
 * reads the SQL.
 */
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { schemaAsSql } from '../../../src/commands/schema.js'
import { ALL_TABLES } from '../../../src/model/sync-tables.js'
import { sqlOf } from '../../../src/publish/report/queries/query.js'
import { ALL_QUERIES } from '../../../src/publish/report/read.js'
import { createTable, qualified } from '../../../src/warehouse/connection/ddl.js'
import { ALL_VIEWS } from '../../../src/warehouse/views/all.js'
import { defineView } from '../../../src/warehouse/views/view-declaration.js'
import { atEndOfFile, temporaryDirectory } from '../../support/files/temporary.js'
import { QUERIES, queriesOfOtherPages, viewsBeside } from '../docs/queries.js'
import { HOSTILE_WORLD } from './hostile-world.js'
import { ENVIRONMENTS, lacksEnvironment, runPython } from './python.js'
import { MEANING, NOT_TRIED, TRIED } from './session-settings.js'
import {
  connected,
  inThisWorld,
  PATHS,
  rowsOf,
  type Session,
  settingsOfOurs,
} from './session-settings-shared.js'

const SCRIPT = fileURLToPath(new URL('session_settings.py', import.meta.url))

const toCopy: readonly (readonly [title: string, sql: string])[] = [
  ...[...QUERIES].map(([title, sql]) => [`queries.md, ${title}`, sql] as const),
  ...ALL_QUERIES.map((query) => [`report.md, ${query.title}`, sqlOf(query)] as const),
  // A page about the schema shows no rows of ours.
  ...queriesOfOtherPages()
    .filter(([, sql]) => !/duckdb_columns/.test(sql))
    .map(([page, sql], at) => [`${page}, ${at}`, inThisWorld(sql)] as const),
]
const queries: Readonly<Record<string, string>> = Object.fromEntries([
  ...viewsBeside(toCopy.map(([, sql]) => sql)).map(({ name }) => [
    `view ${name}`,
    `SELECT * FROM main.${name}`,
  ]),
  ...toCopy,
])

let file: string
let ours: ReadonlyMap<string, readonly string[]>
let expected: Readonly<Record<string, readonly string[]>>
beforeAll(async () => {
  file = join(await temporaryDirectory(atEndOfFile), 'fieldwork.duckdb')
  // Every version can open it, as it can what a sync publishes.
  await connected(file, { storage_compatibility_version: 'v0.10.2' }, async (connection) => {
    await connection.run(`SET TimeZone = 'UTC'`)
    await connection.run('BEGIN; CREATE SCHEMA _sync')
    // Without comments, which take as long as the rows.
    for (const statement of [...ALL_TABLES.map(createTable), ...ALL_VIEWS.map(defineView), ...HOSTILE_WORLD])
      await connection.run(statement)
    await connection.run('COMMIT')
  })
  expected = await answers({})
  ours = await settingsOfOurs()
})

/**
 * The rows of each query in a session with these settings. Rows are in order if the query says which. The session opens the file, or
 * has run `schema --format sql` in its own database and copied the rows, as a reader of Parquet does.
 */
const answers = async (session: Session, ownSchema = false): Promise<Record<string, readonly string[]>> => {
  const options = ownSchema ? {} : { access_mode: 'READ_ONLY' }
  return await connected(ownSchema ? ':memory:' : file, options, async (connection) => {
    const set = async (isPath: boolean) => {
      for (const [name, value] of Object.entries(session))
        if (PATHS.includes(name) === isPath) await connection.run(`SET ${name} = ${value}`)
    }
    await set(false)
    if (ownSchema) {
      await connection.run(`BEGIN; ${schemaAsSql()}; COMMIT; ATTACH '${file}' AS source (READ_ONLY)`)
      for (const table of ALL_TABLES)
        await connection.run(
          `INSERT INTO memory.${qualified(table)} BY NAME SELECT * FROM source.${qualified(table)}`,
        )
      await connection.run('DETACH source')
    }
    await set(true)
    const found: Record<string, readonly string[]> = {}
    for (const [title, sql] of Object.entries(queries))
      found[title] = await rowsOf(connection, sql).catch((error: Error) => [error.message])
    return found
  })
}

/** The titles of the queries that a session changes. */
const changed = async (session: Session, ownSchema: boolean): Promise<readonly string[]> => {
  const found = await answers(session, ownSchema)
  return Object.keys(found).filter(
    (title) => JSON.stringify(found[title]) !== JSON.stringify(expected[title]),
  )
}

const notTried = Object.values(NOT_TRIED).flat()

test('every query of the world has rows, and every setting of this DuckDB is tried or has a reason', () => {
  for (const [title, rows] of Object.entries(expected))
    expect(rows.length, `${title}: ${rows}`).toBeGreaterThan(1)
  const settings = [...ours]
  expect(Object.keys(TRIED).filter((name) => notTried.includes(name))).toEqual([])
  const notCovered = settings.filter(([name, values]) => values.length === 0 && !notTried.includes(name))
  expect(notCovered).toEqual([])
})

test('no setting of a session changes the rows of a view or a query to copy', async () => {
  const others = [...ours].filter(([name, values]) => !(name in MEANING) && values.length > 0)
  const most = Math.max(...others.map(([, values]) => values.length))
  const sessions: readonly Session[] = [
    ...Object.keys(MEANING).flatMap((name) => (ours.get(name) ?? []).map((value) => ({ [name]: value }))),
    ...Array.from({ length: most }, (_, place) =>
      Object.fromEntries(others.map(([name, values]) => [name, values[place] ?? values.at(-1) ?? ''])),
    ),
  ]
  const problems: string[] = []
  for (const session of sessions)
    for (const ownSchema of Object.keys(session).some((name) => name in MEANING) ? [false, true] : [false])
      for (const title of await changed(session, ownSchema))
        problems.push(`${JSON.stringify(session)}: ${title}`)
  expect([...new Set(problems)].sort()).toEqual([])
})

const foundByPython = z.object({
  uncovered: z.array(z.string()),
  empty: z.array(z.string()),
  changed: z.array(z.string()),
})

for (const name of ENVIRONMENTS.filter((environment) => environment.startsWith('duckdb-')))
  test.skipIf(lacksEnvironment(name))(`${name}: no setting of a session changes these rows`, async () => {
    const input = {
      ...{ file, queries, schema: schemaAsSql(), tables: ALL_TABLES.map(qualified) },
      ...{ tried: TRIED, notTried, meaning: Object.keys(MEANING) },
    }
    const found = foundByPython.parse(await runPython(name, SCRIPT, input))
    expect(found).toEqual({ uncovered: [], empty: [], changed: [] })
  })
