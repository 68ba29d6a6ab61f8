/**
 * `npm run bench:requests`: a month of nights of an organization with 1,000 surveys, on virtual time. It prints the requests of
 * a night. Beside them it prints those of a reader that reads everything every night, and those of a reader that knows
 * beforehand what has changed. `--nights` (default 30) and `--seed` (default 42) change the month.
 */
import fs from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { takeOver } from '../take-over.js'
import { simulate } from './month.js'
import { monthTable, remarks } from './table.js'

const { values } = parseArgs({
  options: { nights: { type: 'string', default: '30' }, seed: { type: 'string', default: '42' } },
})
const [count, seed] = [Number(values.nights), Number(values.seed)]
if (!Number.isInteger(count) || count < 1 || !Number.isInteger(seed) || seed < 0)
  throw new Error('--nights must be a whole number from 1 on, and --seed a whole number from 0 on')
using taken = await takeOver()
const directory = fs.mkdtempSync(join(tmpdir(), 'fieldwork-sync-month-'))
try {
  const nights = await simulate(taken, directory, count, seed)
  process.stdout.write(`${monthTable(nights)}\n\n${remarks(nights)}\n`)
} finally {
  fs.rmSync(directory, { recursive: true, force: true })
}
