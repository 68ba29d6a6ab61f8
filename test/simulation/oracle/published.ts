/** P3: the published file is one committed state at every moment, whenever the process is killed. */
import { existsSync, readFileSync } from 'node:fs'
import { ALL_RULES } from '../../../src/verify/local/check-tables.js'
import { unsoundnessIn } from '../../support/oracle/soundness.js'
import type { OpenFile, Readers } from '../readers.js'
import type { World } from '../world.js'
import { COMPARED, type Queryable, type Violation } from './row-text.js'
import { torn } from './torn.js'

/** An open published file. */
export interface Published extends AsyncDisposable {
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

/** P3: the published file; `work` is null unless all of it was published. */
export const checkPublished = async (
  world: World,
  { reader, equalsWork }: Published,
  work: OpenFile | null,
): Promise<Violation[]> => [
  ...(equalsWork ? [] : await torn(world, reader, 'published')),
  ...(work === null || equalsWork ? [] : await differences(reader, work)),
]

/** P3: no write-ahead log, which a reader would replay into the complete file. */
export const leftLog = (file: string): Violation[] =>
  existsSync(`${file}.wal`) ? ['P3: a .wal is left beside the published file'] : []

/** P3: a sound history. Histories only grow, so one check at the end finds every error. */
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

const differences = async (reader: Queryable, { name: work }: OpenFile): Promise<Violation[]> => {
  const found: Violation[] = []
  for (const table of COMPARED) {
    const rows = await reader.query(
      `SELECT count(*) AS n FROM ((FROM ${table} EXCEPT FROM ${work}.${table}) UNION ALL (FROM ${work}.${table} EXCEPT FROM ${table}))`,
    )
    if (rows[0]?.n !== 0) found.push(`P3: ${table} of the published file differs from the committed state`)
  }
  return found
}
