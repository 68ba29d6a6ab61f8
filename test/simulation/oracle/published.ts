/** P3: what readers open is one committed state, at any moment at which the process may be killed. */
import { existsSync, readFileSync } from 'node:fs'
import { unsoundnessIn } from '../../support/oracle/soundness.js'
import type { OpenFile, Readers } from '../readers.js'
import type { World } from '../world.js'
import { type Broken, COMPARED, type Open } from './row-text.js'
import { torn } from './torn.js'

/** The published file; null: there is none yet, or the same was looked at before. */
export interface Published extends AsyncDisposable {
  readonly reader: Open
  readonly isThatOfWork: boolean
}

/** What was looked at last in a world, and found good. */
const lookedAt = new WeakMap<World, Buffer>()

/** Rejects where it cannot be read. Byte for byte the work database, which is open already, it is not opened again. */
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
    return { reader: work, isThatOfWork: true, [Symbol.asyncDispose]: dispose }
  if (!isLast && work === null && lookedAt.get(world)?.equals(bytes) === true) return null
  lookedAt.set(world, bytes)
  const reader = await readers.open(file)
  return { reader, isThatOfWork: false, [Symbol.asyncDispose]: () => reader[Symbol.asyncDispose]() }
}

/** P3: what readers open; `work` where all of it was published. */
export const checkPublished = async (
  world: World,
  { reader, isThatOfWork }: Published,
  work: OpenFile | null,
): Promise<Broken[]> => [
  ...(isThatOfWork ? [] : await torn(world, reader, 'published')),
  ...(work === null || isThatOfWork ? [] : await differences(reader, work)),
]

/** A reader would replay it into a file that was published whole. */
export const leftLog = (file: string): Broken[] =>
  existsSync(`${file}.wal`) ? ['P3: a .wal is left beside the published file'] : []

/** Histories only grow: what is unsound stays so, and one look at the end finds it. */
export const checkSound = async ({ reader }: Published, withViews: boolean): Promise<Broken[]> =>
  (await unsoundnessIn(reader, withViews)).map((line) => `P3: the published file is unsound: ${line}`)

const differences = async (reader: Open, { name: work }: OpenFile): Promise<Broken[]> => {
  const found: Broken[] = []
  for (const table of COMPARED) {
    const rows = await reader.query(
      `SELECT count(*) AS n FROM ((FROM ${table} EXCEPT FROM ${work}.${table}) UNION ALL (FROM ${work}.${table} EXCEPT FROM ${table}))`,
    )
    if (rows[0]?.n !== 0) found.push(`P3: ${table} of the published file is not what was committed`)
  }
  return found
}
