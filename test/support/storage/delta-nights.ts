/**
 * A warehouse that is published into a bucket of versitygw on thirteen nights: database, Parquet, Delta and DuckLake. After each night the bucket
 * is copied to a bucket of its own, beside the rows of every table as they were in the work database. The last night is a month after
 * the others.
 */

import { execFile } from 'node:child_process'
import { mkdir, readdir, readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import type { PublishFormat } from '../../../src/model/publish-formats.js'
import { openStore } from '../../../src/object-store/open.js'
import { PUBLISHED_TABLES, publishedViews } from '../../../src/publish/parquet/tables.js'
import { type BucketManifest, manifestSchema, pointerSchema } from '../../../src/storage/bucket/documents.js'
import { acquireLease } from '../../../src/storage/bucket/lease.js'
import { fencePointer } from '../../../src/storage/bucket/pointer.js'
import { createBucketPublisher } from '../../../src/storage/bucket/publisher.js'
import { accountWarehouse } from '../../../src/warehouse/account-warehouse.js'
import { qualified } from '../../../src/warehouse/connection/ddl.js'
import { buildMutantUntil } from '../command/mutant.js'
import type { Finished } from '../files/temporary.js'
import { DEFAULTS } from '../settings/settings-from-yaml.js'
import { instantOf, minute } from '../time/instants.js'
import { testClock } from '../time/test-clock.js'
import { bundle, daysRead, list, progress, source, survey } from '../warehouse/rows.js'
import { type TestWarehouse, testWarehouse } from '../warehouse/warehouse.js'
import { holderNamed, NEVER } from './bucket.js'
import { STORAGE_CREDENTIALS, withEnvironment } from './credentials.js'
import { startVersitygw, type Versitygw } from './versitygw.js'

export interface DeltaNight {
  readonly number: number
  readonly manifest: BucketManifest
  /** The tables that got a Delta commit. None on the night whose run died before Delta. */
  readonly commits: readonly DeltaCommit[]
  /** The bucket as it was after the night, such as `s3://night-3/fieldwork`. */
  readonly url: string
  readonly directory: string
  /** Holds the rows of each table as `surveys.parquet` or `_sync/runs.parquet`. JSON is text. */
  readonly truth: string
}

interface DeltaCommit {
  readonly table: string
  readonly number: number
}

export const ODD_ACCOUNTS = ['007', '0042', '2026-01-01', 'a b', 'ü%1=x', 'null'] as const

/** From this night on, the program knows a new column. */
const NEW_COLUMN_NIGHT = 5
const NEW_COLUMN = {
  file: 'model/fields.js',
  from: "transition_style: varcharOf(TRANSITION_STYLES, 'Questionnaire display mode'),",
  to: '',
}
const ALL: readonly PublishFormat[] = ['duckdb', 'parquet', 'delta', 'ducklake']
const DEAD_NIGHT = 10
const PREFIX = 'fieldwork'
const DAY_MS = 86_400_000

const JANUARY = { created_at: instantOf('2026-01-31T23:59:59.999999Z') }
const FEBRUARY = { created_at: instantOf('2026-02-01T00:00:00.000001Z') }

const CHANGES: readonly ((warehouse: TestWarehouse, at: (minutes: number) => bigint) => Promise<unknown>)[] =
  [
    async ({ account, database }, at) => {
      await list(account, [survey(1, JANUARY), survey(2, JANUARY), survey(3, FEBRUARY)], at(0), 'full')
      for (const name of ODD_ACCOUNTS)
        await list(accountWarehouse(database, name), [survey(1, JANUARY), survey(9, FEBRUARY)], at(0), 'full')
    },
    ({ account }, at) =>
      account.commitBundles(
        [1, 2, 3].map((id) => bundle(id, at(1), [source(id * 10), source(id * 10 + 1)], progress(id))),
        'run-1',
      ),
    () => Promise.resolve(),
    ({ account }, at) =>
      list(account, [survey(2, { ...JANUARY, title: 'Ünï "quoted" \u0000', updated_at: at(0) })], at(1)),
    ({ account }, at) => list(account, [survey(5, { ...FEBRUARY, project_id: 'P' })], at(1)),
    ({ run }) =>
      run(`DELETE FROM surveys WHERE account = 'acme' AND id IN (3, 5);
      DELETE FROM sample_sources WHERE account = 'acme' AND survey_id = 3`),
    ({ account }, at) =>
      account.commitBundles(
        [
          bundle(1, at(1), [source(10)], progress(1, { completion_rate: 0.1 + 0.2, drop_out_rate: 5e-324 }), {
            days: daysRead(['2026-02-28', '2026-03-01'], [null, 10], progress(1), at(1)),
          }),
        ],
        'run-1',
      ),
    ({ run }) => run('DELETE FROM sample_sources'),
    ({ account }, at) =>
      account.commitBundles(
        [bundle(2, at(1), [source(20)], progress(2, { interviews_count: 2 ** 53 - 1 }))],
        'run-1',
      ),
    ({ account }, at) => list(account, [survey(6, { ...FEBRUARY, _extra: '{"new":[1,"\\ud800"]}' })], at(1)),
    ({ run }) =>
      run(`UPDATE surveys SET created_at = created_at + INTERVAL 40 DAY WHERE account = '0042' AND id = 1`),
    ({ account }, at) =>
      list(account, [survey(7, { created_at: instantOf('0999-12-31T23:59:59.999999Z') })], at(1)),
    ({ account }, at) => list(account, [survey(8, FEBRUARY)], at(1)),
  ]

export const deltaNights = async (
  finished: Finished,
): Promise<{ readonly endpoint: string; readonly nights: readonly DeltaNight[] }> => {
  const warehouse = await testWarehouse(undefined, finished)
  const clock = testClock()
  const { log, database, directory } = warehouse
  withEnvironment(finished, STORAGE_CREDENTIALS)
  const server = await startVersitygw(finished)
  const store = await openStore({ ...server, prefix: PREFIX, region: null, pathStyle: true, azure: null })
  finished(async () => store[Symbol.asyncDispose]())
  // Its time stands still, so that it stays held.
  const held = { store, holder: holderNamed('nights'), clock: testClock(), log, signal: NEVER }
  const lease = await acquireLease(held)
  const createOldPublisher = await oldPublisher(finished)
  const nights: DeltaNight[] = []
  for (const [index, change] of CHANGES.entries()) {
    const number = index + 1
    const days = number === CHANGES.length ? 31 : 1
    clock.advance(days * DAY_MS)
    await server.age(days * DAY_MS)
    const runId = `20260301T000000Z-${String(number).padStart(6, '0')}`
    const run = { runId, command: 'sync', version: '1.2.3', startedAt: minute(number * 1440) } as const
    await warehouse.account.startRun(run)
    await change(warehouse, (minutes) => minute(number * 1440 + minutes))
    // DuckDB may write only where the warehouse is.
    const truth = join(warehouse.directory, `truth-${number}`)
    await writeTruth(warehouse, truth)
    const create = number < NEW_COLUMN_NIGHT ? createOldPublisher : createBucketPublisher
    const publisher = create({
      ...{ store, lease, database, directory, runId, clock, log },
      pointer: await fencePointer({ store, lease, signal: NEVER }),
      views: DEFAULTS.publish.views,
      formats: number === DEAD_NIGHT ? ALL.filter((format) => format !== 'delta') : ALL,
      report: DEFAULTS.report,
    })
    await publisher.publish(NEVER)
    nights.push({ number, truth, ...(await copyOfBucket(server, `night-${number}`, nights)) })
  }
  await lease.release({ ledgers: {}, signal: NEVER })
  return { endpoint: server.endpoint, nights }
}

/** The publisher of a program that does not know the new column. Node loads it: Vitest would look for the sources of the copy. */
const oldPublisher = async (finished: Finished): Promise<typeof createBucketPublisher> => {
  const build = dirname(await buildMutantUntil(finished, NEW_COLUMN))
  return createRequire(import.meta.url)(join(build, 'storage/bucket/publisher.js')).createBucketPublisher
}

const PUBLISHED = [...PUBLISHED_TABLES, ...publishedViews(DEFAULTS.publish.views)]

const writeTruth = async ({ run }: TestWarehouse, directory: string): Promise<void> => {
  for (const { declaration, directory: table } of PUBLISHED) {
    const file = join(directory, `${table}.parquet`)
    await mkdir(dirname(file), { recursive: true })
    const cells = declaration.columns.map(({ name, type }) =>
      type === 'JSON' ? `CAST("${name}" AS VARCHAR) AS "${name}"` : `"${name}"`,
    )
    await run(
      `COPY (SELECT ${cells.join(', ')} FROM ${qualified(declaration)}) TO '${file}' (FORMAT parquet)`,
    )
  }
}

/** No object is changed in place, so links keep the state. */
const copyOfBucket = async (
  server: Versitygw,
  name: string,
  before: readonly DeltaNight[],
): Promise<Pick<DeltaNight, 'manifest' | 'commits' | 'url' | 'directory'>> => {
  const copy = join(server.directory, name)
  await promisify(execFile)('cp', ['-al', join(server.directory, server.bucket), copy])
  const directory = join(copy, PREFIX)
  const document = async (key: string) => JSON.parse(await readFile(join(directory, key), 'utf8'))
  const pointer = pointerSchema.parse(await document('current.json'))
  const manifest = manifestSchema.parse(await document(pointer.manifest ?? ''))
  const known = new Set(before.flatMap(({ commits }) => commits.map(nameOf)))
  const numbers = await Promise.all(
    PUBLISHED.map(async ({ directory: table }) => ({
      table: `data/${table}`,
      number: Math.max(...(await commitsIn(join(directory, 'data', table)))),
    })),
  )
  const commits = numbers.filter((commit) => !known.has(nameOf(commit)))
  return { manifest, commits, url: `s3://${name}/${PREFIX}`, directory }
}

const nameOf = ({ table, number }: DeltaCommit): string => `${table} ${number}`

/** The numbers of the commits in the Delta log of a table. */
export const commitsIn = async (table: string): Promise<readonly number[]> =>
  (await readdir(join(table, '_delta_log')))
    .filter((name) => /^\d{20}\.json$/.test(name))
    .map((name) => Number.parseInt(name, 10))
