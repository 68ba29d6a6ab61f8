/** P3: what readers open is one committed state, at any moment at which the process may be killed. */
import { existsSync, readFileSync } from 'node:fs'
import { unsoundnessIn } from '../../support/soundness.js'
import type { OpenFile, Readers } from '../readers.js'
import type { World } from '../world.js'
import { type Broken, COMPARED, type Open } from './row-text.js'
import { torn } from './torn.js'

/** P3: what readers open, at any moment at which the process may be killed. */
export const checkPublished = async (
  world: World,
  readers: Readers,
  file: string,
  { work, isLast }: { readonly work: OpenFile | null; readonly isLast: boolean },
): Promise<Broken[]> => {
  if (!existsSync(file)) return []
  try {
    await using reader = await readers.open(file)
    // Histories only grow: what is unsound stays so, and one look at the end finds it.
    const unsound = isLast ? await unsoundnessIn(reader) : []
    const found = [
      ...unsound.map((line) => `P3: the published file is unsound: ${line}`),
      ...(await torn(world, reader, 'published')),
    ]
    if (existsSync(`${file}.wal`)) found.push('P3: a .wal is left beside the published file')
    if (work !== null && !sameBytes(file, work.file)) found.push(...(await differences(reader, work)))
    return found
  } catch (error) {
    return [
      `P3: the published file cannot be read: ${error instanceof Error ? error.message : String(error)}`,
    ]
  }
}

const sameBytes = (one: string, other: string): boolean => readFileSync(one).equals(readFileSync(other))

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
