/** Somebody plants objects in a stored database before a night. What could run in our statements is refused or removed by the run. */
import fs from 'node:fs'
import { join } from 'node:path'
import { OTHERS_SQL, PLANTS, plantedViews, plantIn } from '../support/files/plants.js'
import type { Violation } from './oracle/row-text.js'
import type { Start } from './plan.js'
import type { StartResult } from './process.js'
import type { Readers } from './readers.js'

export interface Planted {
  /** The published file is read when the work database is lost. */
  readonly into: 'work' | 'fieldwork'
  /** One of `PLANTS`, or `VIEWS`. */
  readonly kind: string
}

const VIEWS = 'views'

/** Nothing can be removed from a published file, but its views are hidden. */
export const PLANTED: readonly Planted[] = [
  ...[...Object.keys(PLANTS), VIEWS].map((kind) => ({ into: 'work', kind }) as const),
  ...[VIEWS, 'view in place of the table main.surveys'].map((kind) => ({ into: 'fieldwork', kind }) as const),
]

const PUBLISHED = 'fieldwork.duckdb'
const FILES = ['work.duckdb', 'work.duckdb.wal', PUBLISHED]

const copyFiles = (from: string, to: string): void => {
  for (const name of FILES) {
    fs.rmSync(join(to, name), { force: true })
    if (fs.existsSync(join(from, name))) fs.copyFileSync(join(from, name), join(to, name))
  }
}

const keptBeside = (directory: string): string => `${directory}-before`

/** Keeps the files as they are, and plants. */
export const plantBefore = async ({ planted }: Start, directory: string): Promise<void> => {
  if (planted === null) return
  const kept = keptBeside(directory)
  fs.mkdirSync(kept, { recursive: true })
  const secret = join(kept, 'secret')
  fs.writeFileSync(secret, 'secret')
  copyFiles(directory, kept)
  const { into, kind } = planted
  const sql = kind === VIEWS ? plantedViews(secret) : (PLANTS[kind]?.sql(secret) ?? '')
  await plantIn(join(directory, `${into}.duckdb`), sql)
  fs.copyFileSync(join(directory, PUBLISHED), join(kept, 'published'))
  if (into === 'fieldwork') fs.rmSync(join(directory, 'work.duckdb'))
}

/** What is refused makes the run end with 7, and then the files from before come back. Anything else is gone after the run. */
export const plantGone = async (
  readers: Readers,
  { planted }: Start,
  { directory, exitCode, report }: StartResult,
): Promise<Violation[]> => {
  if (planted === null) return []
  const isRefused = PLANTS[planted.kind]?.fate === 'refused'
  const found = isRefused ? publishedOver(directory) : []
  if (isRefused) copyFiles(keptBeside(directory), directory)
  const expected = isRefused ? exitCode === 7 && report === null : exitCode === 0
  if (!expected)
    return [`P3: exit ${exitCode} after somebody planted ${planted.kind} in ${planted.into}.duckdb`]
  return isRefused ? found : await leftIn(readers, directory)
}

const publishedOver = (directory: string): Violation[] => {
  const [before, now] = [join(keptBeside(directory), 'published'), join(directory, PUBLISHED)]
  return fs.readFileSync(before).equals(fs.readFileSync(now))
    ? []
    : ['P3: a run that refused the stored database has published']
}

const leftIn = async (readers: Readers, directory: string): Promise<Violation[]> => {
  const found: Violation[] = []
  for (const name of ['work.duckdb', PUBLISHED]) {
    await using file = await readers.open(join(directory, name))
    for (const { name: planted } of await file.query(OTHERS_SQL))
      found.push(`P3: ${planted} is still in ${name}, and the run did not remove it`)
  }
  return found
}
