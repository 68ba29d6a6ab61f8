/**
 * `npm run bench:requests`: a month of nights of an organization with 1,000 surveys, on virtual time. It prints the requests of
 * a night, beside those of other readers, and how far the published rows were behind the API. `--nights` (default 30), `--seed`
 * (default 42) and `--world` (default `default`) change the month. The last line, `figures` and JSON, is for scripts.
 */
import fs from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { takeOver } from '../operations.js'
import { figuresLine, monthTable, remarks } from './figures.js'
import { simulate } from './month.js'
import { WORLDS } from './organization.js'

const isWorld = (name: string): name is keyof typeof WORLDS => Object.hasOwn(WORLDS, name)

const { values } = parseArgs({
  options: {
    nights: { type: 'string', default: '30' },
    seed: { type: 'string', default: '42' },
    world: { type: 'string', default: 'default' },
  },
})
const { world } = values
if (!isWorld(world)) throw new Error(`--world must be one of ${Object.keys(WORLDS).join(', ')}`)
const [count, seed] = [Number(values.nights), Number(values.seed)]
if (!Number.isInteger(count) || count < 1 || !Number.isInteger(seed) || seed < 0)
  throw new Error('--nights must be a whole number from 1 on, and --seed a whole number from 0 on')
using taken = await takeOver()
const directory = fs.mkdtempSync(join(tmpdir(), 'fieldwork-sync-month-'))
try {
  const nights = await simulate(taken, directory, count, seed, world)
  const cpu = process.cpuUsage()
  const cpuSeconds = Math.round((cpu.user + cpu.system) / 1e6)
  process.stdout.write(
    `${monthTable(nights)}\n\n${remarks(nights)}\n${figuresLine(nights, { world, seed, cpuSeconds })}\n`,
  )
} finally {
  fs.rmSync(directory, { recursive: true, force: true })
}
