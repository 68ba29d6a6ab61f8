/** P3: the published files are one committed state at every moment, whenever the process is killed. */
import { existsSync, lstatSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { PUBLISHED_VIEWS } from '../../../src/model/publish-formats.js'
import { type Manifest, manifestFile } from '../../../src/publish/parquet/manifest.js'
import type { BucketManifest } from '../../../src/storage/bucket/documents.js'
import { ALL_RULES } from '../../../src/verify/local/check-tables.js'
import { unsoundnessIn } from '../../support/oracle/soundness.js'
import type { ModelStore } from '../../support/storage/model-store.js'
import type { OpenFile, Readers } from '../readers.js'
import type { World } from '../world.js'
import type { Queryable, Violation } from './row-text.js'
import { torn } from './work.js'

/** The tables whose published rows are compared with the committed ones. */
const COMPARED: readonly string[] = [
  ...['main.surveys', 'main.sample_sources', 'main.survey_progress', 'main.freshness'],
  ...['_sync.runs', '_sync.tasks'],
]

const COMPARED_IN_FILES = [...COMPARED, ...PUBLISHED_VIEWS.map((name) => `main.${name}`)]

interface Published extends AsyncDisposable {
  readonly reader: Queryable
  readonly equalsWork: boolean
}

/** The content that was checked last, by world. */
const lastChecked = new WeakMap<World, Buffer>()

/**
 * Returns null when there is no published file, or when its content was checked before. Rejects when it cannot be read. A file
 * equal to the work database, which is open already, is not opened again.
 */
export const openPublished = async (
  world: World,
  readers: Readers,
  file: string,
  { work, isLast }: { readonly work: OpenFile | null; readonly isLast: boolean },
): Promise<Published | null> => {
  if (!existsSync(file)) return null
  const bytes = readFileSync(file)
  const dispose = async () => undefined
  if (work !== null && bytes.equals(readFileSync(work.file)))
    return { reader: work, equalsWork: true, [Symbol.asyncDispose]: dispose }
  if (!isLast && work === null && lastChecked.get(world)?.equals(bytes) === true) return null
  lastChecked.set(world, bytes)
  const reader = await readers.open(file)
  return { reader, equalsWork: false, [Symbol.asyncDispose]: () => reader[Symbol.asyncDispose]() }
}

/**
 * `work` is null unless all of it was published. `isRecordedAgain`: the version in the bucket was published, and then the run failed, so
 * its record in the work database has changed.
 */
export const checkPublished = async (
  world: World,
  { reader, equalsWork }: Published,
  work: OpenFile | null,
  isRecordedAgain: boolean,
): Promise<Violation[]> => [
  ...(equalsWork ? [] : await torn(world, reader, 'published')),
  ...(work === null || equalsWork ? [] : await unequalTables(reader, work, isRecordedAgain)),
]

/** No write-ahead log, which a reader would replay into the complete file. */
export const leftLog = (file: string): Violation[] =>
  existsSync(`${file}.wal`) ? ['P3: a .wal is left beside the published file'] : []

/** A sound history. Histories only grow, so one check at the end finds every error. */
export const checkSound = async ({ reader }: Published, withViews: boolean): Promise<Violation[]> =>
  [...(await unsoundnessIn(reader, withViews)), ...(withViews ? await falseAlarms(reader) : [])].map(
    (line) => `P3: the published file is unsound: ${line}`,
  )

/** Rules of `verify` that a sound file breaks. */
const falseAlarms = async (reader: Queryable): Promise<string[]> => {
  const found: string[] = []
  for (const { rule, where, sql } of ALL_RULES) {
    const [row] = await reader.query(sql)
    if (row !== undefined) found.push(`verify says ${rule} of ${where}: ${String(row.example)}`)
  }
  return found
}

const unequalTables = async (
  reader: Queryable,
  { name: work }: OpenFile,
  isRecordedAgain: boolean,
): Promise<Violation[]> => {
  const found: Violation[] = []
  const compared = isRecordedAgain ? COMPARED.filter((table) => table !== '_sync.runs') : COMPARED
  for (const table of compared)
    if (await differ(reader, table, `${work}.${table}`))
      found.push(`P3: ${table} of the published file differs from the committed state`)
  return found
}

const differ = async (reader: Queryable, one: string, other: string): Promise<boolean> => {
  const [rows] = await reader.query(
    `SELECT count(*) AS n FROM ((FROM ${one} EXCEPT FROM ${other}) UNION ALL (FROM ${other} EXCEPT FROM ${one}))`,
  )
  return rows?.n !== 0
}

/**
 * For readers of Parquet: `current` is always a complete version, and after a publish it equals the committed state. `work` is the published state, and `runId` the run that published it; null when the last
 * publish may not have ended.
 */
export const checkParquet = async (
  directory: string,
  work: OpenFile | null,
  runId: string | null,
): Promise<Violation[]> => {
  const current = join(directory, 'parquet', 'current')
  if (!existsSync(current)) return isThere(current) ? ['P3: parquet/current points nowhere'] : []
  const manifest = JSON.parse(readFileSync(manifestFile(current), 'utf8')) as Manifest
  const torn = manifest.tables.flatMap(({ files }) =>
    files
      .filter(({ path, bytes }) => sizeOf(join(current, path)) !== bytes)
      .map(({ path }) => `P3: ${path} of parquet/current differs from its manifest`),
  )
  if (torn.length > 0 || work === null) return torn
  return [
    ...(manifest.run_id === runId
      ? []
      : [`P3: parquet/current is of the run ${manifest.run_id}, not ${runId}`]),
    ...(await unequalFiles(current, manifest, work)),
  ]
}

const isThere = (path: string): boolean => lstatSync(path, { throwIfNoEntry: false }) !== undefined
const sizeOf = (path: string): number | undefined => statSync(path, { throwIfNoEntry: false })?.size

const PARTITIONED = 'hive_partitioning = true, hive_types = {account: VARCHAR, created_month: VARCHAR}'

const unequalFiles = async (current: string, { tables }: Manifest, work: OpenFile): Promise<Violation[]> => {
  const found: Violation[] = []
  for (const { schema, name, columns, files } of tables) {
    if (!COMPARED_IN_FILES.includes(`${schema}.${name}`)) continue
    // JSON is published as text.
    const list = columns
      .map((column) => ({ ...column, quoted: `"${column.name}"` }))
      .map(({ type, quoted }) => (type === 'JSON' ? `CAST(${quoted} AS VARCHAR) AS ${quoted}` : quoted))
      .join(', ')
    const paths = files.map(({ path }) => `'${join(current, path).replaceAll("'", "''")}'`).join(', ')
    const options = files.some(({ account }) => account !== null) ? PARTITIONED : 'hive_partitioning = false'
    const stored = `(SELECT ${list} FROM ${schema}.${name})`
    if (await differ(work, stored, `(SELECT ${list} FROM read_parquet([${paths}], ${options}))`))
      found.push(`P3: ${schema}.${name} in parquet/current differs from the committed state`)
  }
  return found
}

const line = z.object({
  add: z.object({ path: z.string() }).optional(),
  remove: z.object({ path: z.string() }).optional(),
})

/** The files that a log shows, as paths in the bucket; null if clean-up has removed its first commits. Foreign readers test checkpoints. */
const shownBy = ({ objects }: ModelStore, directory: string): readonly string[] | null => {
  const isCommit = (key: string) => key.startsWith(`${directory}/_delta_log/`) && /\/\d{20}\.json$/.test(key)
  const commits = [...objects.keys()].filter(isCommit).toSorted()
  if (commits[0] !== undefined && !commits[0].endsWith(`${'0'.repeat(20)}.json`)) return null
  const present = new Set<string>()
  for (const text of commits.flatMap((key) => objects.get(key)?.body.toString().trim().split('\n') ?? [])) {
    const { add, remove } = line.parse(JSON.parse(text))
    if (remove !== undefined) present.delete(remove.path)
    if (add !== undefined) present.add(add.path)
  }
  return [...present].map((path) => `${directory}/${decodeURI(path)}`)
}

/** For readers of Delta: after a publish each log holds the files that the manifest names. */
export const checkDelta = (model: ModelStore, { tables }: BucketManifest): Violation[] =>
  tables.flatMap(({ schema, name, files }): Violation[] => {
    const shown = shownBy(model, schema === 'main' ? `data/${name}` : `data/${schema}/${name}`)
    const published = files.filter(({ rows }) => rows > 0).map(({ path }) => path)
    return shown === null || shown.toSorted().join() === published.toSorted().join()
      ? []
      : [`P3: the Delta log of ${schema}.${name} shows other files than the manifest`]
  })

/** At any time, also for a table that is switched off: no log shows a file that does not exist. */
export const checkDeltaFiles = (model: ModelStore): Violation[] => {
  const directories = [...model.objects.keys()].flatMap((key) => /^(.+)\/_delta_log\//.exec(key)?.[1] ?? [])
  return [...new Set(directories)].flatMap((directory) =>
    (shownBy(model, directory) ?? [])
      .filter((key) => !model.objects.has(key))
      .map((key) => `P3: the Delta log of ${directory} shows ${key}, which does not exist`),
  )
}
