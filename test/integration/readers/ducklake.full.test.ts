/**
 * DuckDB 1.5.2, the first version that reads DuckLake 1.0, and the newest with a wheel of the extension attach the two addresses of a
 * bucket of versitygw. After each of thirteen nights every table and view is that of the database of the night.
 */

import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { copyFile, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { DuckDBInstance } from '@duckdb/node-api'
import { beforeAll, describe, expect, test } from 'vitest'
import { ALL_TABLES } from '../../../src/model/sync-tables.js'
import { openStore } from '../../../src/object-store/open.js'
import { replaceObject } from '../../../src/storage/bucket/follow-pointer.js'
import { qualified, quote } from '../../../src/warehouse/connection/ddl.js'
import { ALL_VIEWS } from '../../../src/warehouse/views/all.js'
import { atEndOfFile, type Finished, temporaryDirectory } from '../../support/files/temporary.js'
import { ALWAYS_HELD, NEVER } from '../../support/storage/bucket.js'
import { STORAGE_CREDENTIALS } from '../../support/storage/credentials.js'
import { type DeltaNight, deltaNights, ODD_ACCOUNTS } from '../../support/storage/delta-nights.js'
import { VERSITYGW } from '../../support/storage/versitygw.js'
import { lacks } from '../../support/suite/lacks.js'
import { openReader } from '../../support/warehouse/duckdb.js'
import { QUERIES, queriesOfOtherPages } from '../docs/queries.js'
import { environmentDirectory, lacksEnvironment } from './python.js'

/** The first version that reads such a catalog, and the newest that has a wheel of the extension. */
const VERSIONS = ['ducklake-1.5.2', 'delta']
const RELATIONS = [...ALL_TABLES, ...ALL_VIEWS]
/** Since then no column was added: a view of today needs all of them. */
const HELD = 6
/** The last night before a month without runs, after which most versions are gone. */
const LAST = 12

let endpoint: string
let nights: readonly DeltaNight[]

const nightOf = (number: number): DeltaNight => {
  const night = nights[number - 1]
  if (night === undefined) throw new Error(`there is no night ${number}`)
  return night
}

type Answer = { readonly rows: readonly (readonly (string | null)[])[] } | { readonly error: string }

interface Session {
  ask(sql: string): Promise<Answer>
  rows(sql: string): Promise<readonly (readonly (string | null)[])[]>
}

const openSession = (environment: string, finished: Finished): Session => {
  const child: ChildProcessWithoutNullStreams = spawn(
    process.env.FIELDWORK_SYNC_TEST_PYTHON ?? 'python3',
    [fileURLToPath(new URL('lake_session.py', import.meta.url))],
    { env: { ...process.env, PYTHONPATH: environmentDirectory(environment), TZ: 'America/St_Johns' } },
  )
  let stderr = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text
  })
  finished(async () => void child.kill())
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const send = (value: unknown) => child.stdin.write(`${JSON.stringify(value)}\n`)
  send({
    host: new URL(endpoint).host,
    key: STORAGE_CREDENTIALS.AWS_ACCESS_KEY_ID,
    secret: STORAGE_CREDENTIALS.AWS_SECRET_ACCESS_KEY,
  })
  const ask = async (sql: string): Promise<Answer> => {
    send(sql)
    const { value, done = false } = await lines.next()
    if (done) throw new Error(`${environment}: ${sql}\n${stderr}`)
    return JSON.parse(value)
  }
  return {
    ask,
    rows: async (sql) => {
      const answer = await ask(sql)
      if ('error' in answer) throw new Error(`${environment}: ${sql}\n${answer.error}`)
      return answer.rows
    },
  }
}

/** Attaches both addresses of the bucket as it was after a night. The paths of the catalog lead to the copy. */
const attach = async ({ rows }: Session, { number, url }: DeltaNight): Promise<void> => {
  await rows(`ATTACH 'ducklake:${url}/fieldwork.ducklake' AS lake_${number}
    (READ_ONLY, DATA_PATH '${url}/', OVERRIDE_DATA_PATH true)`)
  await rows(`ATTACH '${url}/fieldwork.duckdb' AS night_${number} (READ_ONLY)`)
}

/**
 * What differs between rows of the catalog and of the database: rows, and types of the columns that the catalog has; none if they are
 * equal. JSON of a table is text in the catalog.
 */
const differences = async ({ rows }: Session, lake: string, night: string): Promise<readonly string[]> => {
  const described = async (sql: string) =>
    (await rows(`SELECT column_name, column_type FROM (DESCRIBE ${sql})`)).map(
      ([name, type]) => [quote(name ?? ''), type === 'JSON' ? 'VARCHAR' : type] as const,
    )
  const columns = await described(lake)
  const stored = new Map(await described(night))
  const cells = columns.map(([name, type]) => (type === 'VARCHAR' ? `CAST(${name} AS VARCHAR)` : name))
  const [one, other] = [lake, night].map((sql) => `(SELECT ${cells.join(', ')} FROM (${sql}))`)
  const only = `(${one} EXCEPT ALL ${other}) UNION ALL (${other} EXCEPT ALL ${one})`
  const [count] = await rows(`SELECT count(*) FROM (${only})`)
  return [
    ...(count?.join() === '0' ? [] : [`${lake}: ${count?.join()} rows`]),
    ...columns
      .filter(([name, type]) => type !== stored.get(name))
      .map(([name]) => `${lake}: type of ${name}`),
  ]
}

/** Runs a query in both databases at one moment. What one refuses, such as JSON that is none, the other refuses too. */
const queryDiffers = async (session: Session, number: number, sql: string): Promise<readonly string[]> => {
  const { ask, rows } = session
  const run = async (database: string) => {
    await rows(`USE ${database}_${number}`)
    return await ask(`CREATE OR REPLACE TEMP TABLE ${database}_rows AS ${sql}`)
  }
  await rows('BEGIN')
  const first = await run('lake')
  if ('error' in first) await rows('ROLLBACK')
  const second = await run('night')
  const found =
    'error' in first || 'error' in second
      ? [first, second].map((answer) => JSON.stringify(answer).slice(0, ERROR_CHARACTERS))
      : await differences(session, 'FROM temp.lake_rows', 'FROM temp.night_rows')
  if (!('error' in first)) await rows('ROLLBACK')
  await rows('USE memory')
  return 'error' in first && found[0] === found[1] ? [] : found.map((text) => `${sql}: ${text}`)
}

/** Of an answer, which tells errors apart. */
const ERROR_CHARACTERS = 60

const changeFile = async (file: string, sql: string): Promise<void> => {
  const instance = await DuckDBInstance.create(file)
  const connection = await instance.connect()
  await connection.run(sql)
  await connection.run('CHECKPOINT')
  connection.closeSync()
  instance.closeSync()
}

const OPERATORS = ['=', '<', '>', '<=', '>=', '<>', 'IS DISTINCT FROM', 'IS NOT DISTINCT FROM']

/** Conditions on every column with values that it holds on a night, drawn by `seed`. */
const conditions = async ({ directory }: DeltaNight, count: number) => {
  using reader = await openReader(join(directory, 'fieldwork.duckdb'))
  const drawn: { readonly table: string; readonly condition: string }[] = []
  let state = 42
  const pick = <Of>(values: readonly Of[]): Of | undefined => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648
    return values[state % values.length]
  }
  const columns = ALL_TABLES.flatMap((table) => table.columns.map((column) => ({ table, column })))
  const valuesOf = new Map<string, readonly string[]>()
  while (drawn.length < count) {
    const { table, column } = pick(columns) ?? columns[0] ?? {}
    if (table === undefined || column === undefined) break
    const key = `${table.name}.${column.name}`
    const name = column.type === 'JSON' ? `CAST(${quote(column.name)} AS VARCHAR)` : quote(column.name)
    const values =
      valuesOf.get(key) ??
      (
        await reader.query(
          `SELECT DISTINCT CAST(${name} AS VARCHAR) AS v FROM ${qualified(table)} WHERE v IS NOT NULL ORDER BY v LIMIT 9`,
        )
      )
        .map(({ v }) => String(v).replaceAll("'", "''"))
        // DuckLake's own SQL for its statistics ends at a NUL.
        .filter((text) => !text.includes('\0'))
    valuesOf.set(key, values)
    const value = pick(values)
    const literal =
      value === undefined ? 'NULL' : `CAST('${value}' AS ${column.type.replace('JSON', 'VARCHAR')})`
    const condition = pick([
      `${name} ${pick(OPERATORS)} ${literal}`,
      `${name} ${pick(OPERATORS)} ${literal}`,
      `${name} IS ${pick(['', 'NOT '])}NULL`,
      `${name} IN (${literal}, NULL)`,
    ])
    drawn.push({ table: qualified(table), condition: condition ?? '' })
  }
  return drawn
}

describe.each(VERSIONS)('%s', (environment) => {
  const isMissing = lacks('versitygw', VERSITYGW !== null) || lacksEnvironment(environment)
  const opened: { session: Session | null } = { session: null }
  const session = (): Session => {
    opened.session ??= openSession(environment, atEndOfFile)
    return opened.session
  }

  if (!isMissing)
    beforeAll(async () => {
      if (nights === undefined) ({ endpoint, nights } = await deltaNights(atEndOfFile))
      for (const night of nights) await attach(session(), night)
    })

  test.skipIf(isMissing)(
    'every table and view on every night is that of the database of the night',
    async () => {
      for (const { number } of nights)
        for (const relation of RELATIONS)
          expect(
            await differences(
              session(),
              `FROM lake_${number}.${qualified(relation)}`,
              `FROM night_${number}.${qualified(relation)}`,
            ),
            `night ${number}`,
          ).toEqual([])
    },
  )

  test.skipIf(isMissing)(
    'AT shows each earlier night, by version and by time, also in joins and views',
    async () => {
      const lake = `lake_${LAST}`
      for (const { number, manifest } of nights.slice(0, LAST))
        for (const { schema, name } of manifest.tables.filter(({ is_view: isView }) => isView !== true))
          for (const at of [
            `VERSION => ${manifest.version}`,
            ...(number % 3 === 0 ? [`TIMESTAMP => TIMESTAMPTZ '${manifest.published_at}'`] : []),
          ])
            expect(
              await differences(
                session(),
                `FROM ${lake}.${schema}.${name} AT (${at})`,
                `FROM night_${number}.${schema}.${name}`,
              ),
            ).toEqual([])
      const { published_at } = nightOf(3).manifest
      const at = `AT (TIMESTAMP => TIMESTAMPTZ '${published_at}')`
      const join = (surveys: string, progress: string) =>
        `SELECT s.account, s.title, p.interviews_count FROM ${surveys} s JOIN ${progress} p ON p.account = s.account AND p.survey_id = s.id`
      expect(
        await differences(
          session(),
          join(`(FROM ${lake}.surveys ${at})`, `(FROM ${lake}.survey_progress ${at})`),
          join('night_3.surveys', 'night_3.survey_progress'),
        ),
      ).toEqual([])
      expect(
        await differences(
          session(),
          `FROM ${lake}.survey_overview AT (VERSION => ${HELD})`,
          `FROM night_${HELD}.survey_overview`,
        ),
      ).toEqual([])
      const [last] = await session().rows(`SELECT count(*), max(snapshot_id) FROM ${lake}.snapshots()`)
      expect(last).toEqual([String(LAST), String(LAST)])
    },
  )

  test.skipIf(isMissing)(
    'random filters, and joins that DuckDB makes filters of, find every row',
    async () => {
      const night = nightOf(LAST)
      const found = async (table: string, condition: string) =>
        differences(
          session(),
          `FROM lake_${LAST}.${table} WHERE ${condition}`,
          `FROM night_${LAST}.${table} WHERE ${condition}`,
        )
      const drawn = await conditions(night, 500)
      for (const { table, condition } of drawn) expect(await found(table, condition)).toEqual([])
      expect(await found('main.surveys', 'id > 0')).toEqual([])
      for (const account of ODD_ACCOUNTS)
        expect(await found('main.surveys', `account = '${account}'`), account).toEqual([])
      const accounts = (database: string) =>
        session().rows(`SELECT DISTINCT account FROM ${database}_${LAST}.surveys ORDER BY ALL`)
      expect(await accounts('lake')).toEqual(await accounts('night'))
      expect((await accounts('lake')).flat()).toEqual(expect.arrayContaining([...ODD_ACCOUNTS]))
    },
  )

  test.skipIf(isMissing)(
    'every query of the documentation runs unchanged, and answers the same',
    async () => {
      const queries = [...QUERIES.values(), ...queriesOfOtherPages().map(([, sql]) => sql)].filter(
        // They list every database of the session.
        (sql) => !sql.includes('duckdb_'),
      )
      expect(queries.length).toBeGreaterThan(30)
      // The rows of a limit are any of those with equal keys.
      for (const sql of queries)
        expect(await queryDiffers(session(), LAST, sql.replace(/( LIMIT \d+)?;?\s*$/, ''))).toEqual([])
    },
  )

  test.skipIf(isMissing)('tables, columns and views have their comments', async () => {
    for (const [relation, of] of [
      ['duckdb_tables()', 'table_name, NULL'],
      ['duckdb_columns()', 'table_name, column_name'],
      ['duckdb_views()', 'view_name, NULL'],
    ] as const) {
      const comments = (database: string) =>
        session().rows(`SELECT schema_name, ${of}, comment FROM ${relation}
          WHERE database_name = '${database}_${LAST}' AND NOT internal AND comment IS NOT NULL ORDER BY ALL`)
      const views = new Set(ALL_VIEWS.map(({ name }) => name as string))
      const expected = (await comments('night')).filter(
        ([, name, column]) => column === null || !views.has(name ?? ''),
      )
      expect(expected.length).toBeGreaterThan(0)
      expect(await comments('lake')).toEqual(expected)
    }
  })

  test.skipIf(isMissing)(
    'a reader that holds either address while it is replaced sees old rows or an error, and never mixed rows',
    async () => {
      const [old, next] = [nightOf(HELD), nightOf(LAST)]
      const store = await openStore({
        ...{
          bucket: 'research',
          prefix: `held-${environment}`,
          endpoint,
          region: null,
          pathStyle: true,
          azure: null,
        },
      })
      atEndOfFile(async () => store[Symbol.asyncDispose]())
      const put = async (key: string, { directory }: DeltaNight) =>
        replaceObject({ store, lease: ALWAYS_HELD, signal: NEVER }, key, await readFile(join(directory, key)))
      const { ask, rows } = session()
      const attachHeld = async (key: string) => {
        const options = key.endsWith('ducklake') ? `DATA_PATH '${next.url}/', OVERRIDE_DATA_PATH true, ` : ''
        const scheme = key.endsWith('ducklake') ? 'ducklake:' : ''
        await rows(`ATTACH '${scheme}${store.address}/${key}' AS held (${options}READ_ONLY)`)
      }
      for (const key of ['fieldwork.duckdb', 'fieldwork.ducklake']) {
        await put(key, old)
        await attachHeld(key)
        const same = await differences(session(), 'FROM held.surveys', `FROM night_${HELD}.surveys`)
        expect(same).toEqual([])
        await put(key, next)
        const ends: string[] = []
        for (const relation of RELATIONS) {
          const of = (database: string) => `FROM ${database}.${qualified(relation)}`
          const answer = await ask(`SELECT count(*) FROM (
            (${of('held')} EXCEPT ALL ${of(`night_${HELD}`)}) UNION ALL (${of(`night_${HELD}`)} EXCEPT ALL ${of('held')}))`)
          ends.push('error' in answer ? answer.error : `${answer.rows.join()} rows differ`)
        }
        // A part of the old object may lie behind the end of the new one. An error of the catalog may hide its cause.
        const wrong = ends.filter(
          (end) =>
            !/^0 rows differ$|ETag|UnicodeDecodeError|Range Not Satisfiable|list from DuckLake/.test(end),
        )
        expect(wrong, key).toEqual([])
        await rows('DETACH held')
        await attachHeld(key)
        expect(await differences(session(), 'FROM held.surveys', `FROM night_${LAST}.surveys`)).toEqual([])
        await rows('DETACH held')
      }
    },
  )

  test.skipIf(isMissing)(
    'faults of a catalog are seen: the first version needs every row of statistics, and none of a table alone',
    async () => {
      const isFirst = environment === VERSIONS[0]
      const { url, directory } = nightOf(LAST)
      const store = await openStore({
        ...{
          bucket: 'research',
          prefix: `faults-${environment}`,
          endpoint,
          region: null,
          pathStyle: true,
          azure: null,
        },
      })
      atEndOfFile(async () => store[Symbol.asyncDispose]())
      /** What a new session finds, because a fault may end one. */
      const foundWith = async (name: string, fault: string, sql: string) => {
        const file = join(await temporaryDirectory(), name)
        await copyFile(join(directory, 'fieldwork.ducklake'), file)
        await changeFile(file, fault)
        await replaceObject({ store, lease: ALWAYS_HELD, signal: NEVER }, name, await readFile(file))
        const own = openSession(environment, atEndOfFile)
        await own.rows(`ATTACH 'ducklake:${store.address}/${name}' AS lake
          (READ_ONLY, DATA_PATH '${url}/', OVERRIDE_DATA_PATH true)`)
        const answer = await own.ask(sql)
        return 'error' in answer ? answer.error : answer.rows.join()
      }
      const [[surveys] = []] = await session().rows(`SELECT count(*) FROM night_${LAST}.surveys`)
      const joined =
        'SELECT count(*) FROM lake.surveys s JOIN lake.surveys t ON t.account = s.account AND t.id = s.id'
      expect(await foundWith('whole', 'SELECT 1', joined)).toBe(surveys)
      const lessRows = await foundWith(
        'without-a-row',
        `DELETE FROM ducklake_file_column_stats WHERE (table_id, column_id) IN
          (SELECT (table_id, column_id) FROM ducklake_column JOIN ducklake_table USING (table_id) WHERE table_name = 'surveys' AND column_name = 'id')`,
        'SELECT count(*) FROM lake.surveys WHERE id > 0',
      )
      expect(lessRows).toBe(isFirst ? '0' : surveys)
      const crash = await foundWith(
        'table-alone',
        'INSERT INTO ducklake_table_stats SELECT DISTINCT table_id, 1, 1, 1 FROM ducklake_table',
        'SELECT max(id) > 0 FROM lake.surveys',
      )
      expect(crash).toMatch(isFirst ? /INTERNAL|GetValueInternal/ : /True|INTERNAL|GetValueInternal/)
      const swept = await foundWith(
        'swept',
        `UPDATE ducklake_data_file SET path = 'data/gone.parquet' WHERE path LIKE 'data/surveys/account=acme/%'`,
        'SELECT count(title) FROM lake.surveys',
      )
      expect(swept).toMatch(/IOException|HTTPException|404/)
    },
  )
})
