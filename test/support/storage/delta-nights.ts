/**
 * A warehouse that is published into a bucket on thirteen nights, as Parquet with Delta logs. The bucket is written to a directory every
 * night, with the rows of every table as they were in the work database. The last night is a month after the others.
 */
import { mkdir, rename, rm, stat, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { commitDelta, type DeltaTable } from '../../../src/publish/delta/commit.js'
import { checksum, type Manifest, type ManifestTable } from '../../../src/publish/parquet/manifest.js'
import { PUBLISHED_TABLES } from '../../../src/publish/parquet/tables.js'
import type { FileToUpload } from '../../../src/publish/parquet/write-changed-files.js'
import { accountWarehouse } from '../../../src/warehouse/account-warehouse.js'
import { qualified } from '../../../src/warehouse/connection/ddl.js'
import { type Finished, temporaryDirectory } from '../files/temporary.js'
import { instantOf, minute } from '../time/instants.js'
import { testClock } from '../time/test-clock.js'
import { bundle, daysRead, list, progress, source, survey } from '../warehouse/rows.js'
import { type TestWarehouse, testWarehouse } from '../warehouse/warehouse.js'
import { writeFiles } from '../warehouse/write-files.js'
import { manifestKeyOf } from './manifests.js'
import { ModelStore } from './model-store.js'

export interface DeltaNight {
  readonly number: number
  readonly manifest: Manifest
  /** Empty on the night whose run died before Delta. */
  readonly tables: readonly DeltaTable[]
  /** The bucket after the night. */
  readonly bucket: string
  /** Holds the rows of each table as `surveys.parquet` or `_sync/runs.parquet`. JSON is text. */
  readonly truth: string
}

export const ODD_ACCOUNTS = ['0042', '2026-01-01', 'a b', 'ü%1=x'] as const

/** Before this night the program did not know the column. */
const NEW_COLUMN = { table: 'surveys', column: 'transition_style', night: 5 } as const
const DEAD_NIGHT = 10
const DAY_MS = 86_400_000

const JANUARY = { created_at: instantOf('2026-01-31T23:59:59.999999Z') }
const FEBRUARY = { created_at: instantOf('2026-02-01T00:00:00.000001Z') }

/** What changes before each night. */
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

export const deltaNights = async (finished: Finished): Promise<readonly DeltaNight[]> => {
  const root = await temporaryDirectory(finished)
  const warehouse = await testWarehouse(undefined, finished)
  const clock = testClock()
  const model = new ModelStore({ nowMs: clock.nowMs })
  const manifests = new Map<string, Manifest>()
  const nights: DeltaNight[] = []
  for (const [index, change] of CHANGES.entries()) {
    const number = index + 1
    clock.advance((number === CHANGES.length ? 31 : 1) * DAY_MS)
    const runId = `run-${number}`
    await warehouse.account.startRun({
      runId,
      command: 'sync',
      version: '1.2.3',
      startedAt: minute(number * 1440),
    })
    await change(warehouse, (minutes) => minute(number * 1440 + minutes))
    const [bucket, truth] = [join(root, `night-${number}`), join(root, `truth-${number}`)]
    await writeTruth(warehouse, number, truth)
    const { manifest, upload } = await writeNight(warehouse, number, nights.at(-1)?.manifest, finished)
    manifests.set(manifestKeyOf(manifest), manifest)
    const store = model.client()
    const signal = new AbortController().signal
    for (const { key, file } of upload) await store.putIfAbsent(key, { file }, signal)
    const tables =
      number === DEAD_NIGHT
        ? []
        : await commitDelta({
            store,
            database: warehouse.database,
            scratch: root,
            manifest,
            manifestKey: manifestKeyOf(manifest),
            readManifest: (key) => Promise.resolve(manifests.get(key) ?? null),
            clock,
            log: warehouse.log,
            signal,
          })
    await writeBucket(model, bucket)
    nights.push({ number, manifest, tables, bucket, truth })
  }
  return nights
}

const writeTruth = async ({ run }: TestWarehouse, night: number, directory: string): Promise<void> => {
  for (const { declaration, directory: table } of PUBLISHED_TABLES) {
    const file = join(directory, `${table}.parquet`)
    await mkdir(dirname(file), { recursive: true })
    const cells = declaration.columns
      .filter(({ name }) => !isUnknown(declaration.name, name, night))
      .map(({ name, type }) => (type === 'JSON' ? `CAST("${name}" AS VARCHAR) AS "${name}"` : `"${name}"`))
    await run(
      `COPY (SELECT ${cells.join(', ')} FROM ${qualified(declaration)}) TO '${file}' (FORMAT parquet)`,
    )
  }
}

const isUnknown = (table: string, column: string, night: number): boolean =>
  table === NEW_COLUMN.table && column === NEW_COLUMN.column && night < NEW_COLUMN.night

/** Writes the files of a night. Before the new column, its table is written as the program wrote it then. */
const writeNight = async (
  warehouse: TestWarehouse,
  number: number,
  base: Manifest | undefined,
  finished: Finished,
): Promise<{ readonly manifest: Manifest; readonly upload: readonly FileToUpload[] }> => {
  const isOld = number < NEW_COLUMN.night
  const known = base === undefined ? {} : { base: isOld ? withNewLayout(base) : base }
  const written = await writeFiles(warehouse, { number, ...known }, finished)
  if (!isOld) return written
  const upload = [...written.upload]
  const tables: ManifestTable[] = []
  for (const table of written.manifest.tables) {
    if (table.name !== NEW_COLUMN.table) tables.push(table)
    else tables.push(await withoutColumn(warehouse, table, upload))
  }
  return { manifest: { ...written.manifest, tables }, upload }
}

/** The old program takes its own layout for unchanged. */
const withNewLayout = (manifest: Manifest): Manifest => ({
  ...manifest,
  tables: manifest.tables.map((table) => ({ ...table, layout: table.layout.replace(OLD, '') })),
})
const OLD = 'without the new column: '

const withoutColumn = async (
  { run }: TestWarehouse,
  table: ManifestTable,
  upload: FileToUpload[],
): Promise<ManifestTable> => {
  const files = []
  for (const file of table.files) {
    const index = upload.findIndex(({ key }) => key === file.path)
    const found = upload[index]
    if (found === undefined) files.push(file)
    else {
      const narrow = `${found.file}.narrow`
      await run(`COPY (SELECT * EXCLUDE (${NEW_COLUMN.column}) FROM read_parquet('${found.file}', hive_partitioning = false))
        TO '${narrow}' (FORMAT parquet)`)
      await rm(found.file)
      await rename(narrow, found.file)
      files.push({ ...file, bytes: (await stat(found.file)).size, sha256: await checksum(found.file) })
    }
  }
  const isKnown = ({ name }: { readonly name: string }) => name !== NEW_COLUMN.column
  return { ...table, layout: `${OLD}${table.layout}`, columns: table.columns.filter(isKnown), files }
}

const writeBucket = async (model: ModelStore, directory: string): Promise<void> => {
  for (const [key, { body }] of model.objects) {
    const file = join(directory, key)
    await mkdir(dirname(file), { recursive: true })
    await writeFile(file, body)
  }
}
