/**
 * `npm run bench`: measures every figure that has a budget, and compares it with the budget and with the last figures, which
 * `test/bench/budgets/figures.json` keeps. A figure over its budget ends the command with exit 1. A figure that is a quarter higher
 * than the last one is marked, so that a change that costs a factor is seen. `--only start,fan-out` measures some groups, `--write` keeps
 * the new figures. All of them take half an hour, and the machine should be quiet.
 *
 * Each figure is the lowest of `--repeat` runs, because other work on the machine can only raise it. CPU is that of all threads.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { GROUPS } from './budgets/groups.mjs'

const KEPT = new URL('budgets/figures.json', import.meta.url)
const MARKED_FROM = 1.25

const { values: options } = parseArgs({
  options: {
    only: { type: 'string', default: Object.keys(GROUPS).join(',') },
    repeat: { type: 'string', default: '3' },
    /** Divides the sizes of the worlds, for a first look. Such figures are not kept. */
    divide: { type: 'string', default: '1' },
    write: { type: 'boolean', default: false },
  },
})
const names = options.only.split(',')
const unknown = names.filter((name) => !Object.hasOwn(GROUPS, name))
if (unknown.length > 0) {
  console.error(`--only has ${unknown.join(', ')}: choose among ${Object.keys(GROUPS).join(', ')}`)
  process.exit(2)
}

const divide = Number(options.divide)
const kept = JSON.parse(readFileSync(KEPT, 'utf8'))
const measured = {}
let isOver = false
console.log(`lowest of ${options.repeat} runs, Node ${process.version}\n`)
console.log(line(['figure', 'now', 'budget', 'last', 'of the last']))
for (const name of names) {
  const group = GROUPS[name]
  const runs = []
  for (let run = 0; run < (group.isLong ? 1 : Number(options.repeat)); run += 1)
    runs.push(await group.measure(divide))
  for (const [figure, [budget, unit, of]] of Object.entries(group.figures)) {
    if (runs.some((one) => one[of] === undefined)) {
      console.log(`${figure.padEnd(58)} not measured`)
      continue
    }
    const now = Math.min(...runs.map((one) => one[of]))
    measured[figure] = Number(now.toPrecision(3))
    if (now > budget) isOver = true
    const last = kept[figure]
    const factor = last === undefined || last === 0 ? null : now / last
    const mark = now > budget ? '  over its budget' : factor > MARKED_FROM ? '  higher than the last' : ''
    const cells = [now, budget, last].map((value) => (value === undefined ? '' : shown(value, unit)))
    console.log(line([figure, ...cells, factor === null ? '' : `${factor.toFixed(2)} x`]) + mark)
  }
}
if (options.write && divide === 1)
  writeFileSync(KEPT, `${JSON.stringify({ ...kept, ...measured }, null, 2)}\n`)
if (isOver && divide === 1) process.exitCode = 1

function line([figure, ...cells]) {
  return figure.padEnd(58) + cells.map((cell) => cell.padStart(12)).join('')
}

function shown(value, unit) {
  return `${Number(value.toPrecision(3))} ${unit}`
}
