/**
 * `npm run bench:requests`: a month of nights of an organization with 1,000 surveys, on virtual time. It prints what a night
 * costs in requests, and beside it what it costs whoever reads everything every night, and what it would cost whoever knew
 * beforehand what has changed. `--nights` and `--seed` are others than 30 and 42.
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
  throw new Error('--nights is a whole number from 1, --seed one from 0')
using taken = await takeOver()
const directory = fs.mkdtempSync(join(tmpdir(), 'fieldwork-sync-month-'))
try {
  const nights = await simulate(taken, directory, count, seed)
  process.stdout.write(`${monthTable(nights)}\n\n${remarks(nights)}\n`)
} finally {
  fs.rmSync(directory, { recursive: true, force: true })
}
