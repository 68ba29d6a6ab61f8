/** `npm run simulate -- --seeds 1000 [--first 1] [--seed N] [--jobs 2]`: see docs/explanation/simulation.md. */
import { fork } from 'node:child_process'
import { availableParallelism } from 'node:os'
import { parseArgs } from 'node:util'
import { drawPlan } from './plan.js'
import { shrink } from './shrink.js'
import { createSimulation, type Simulation } from './simulate.js'
import { takeOver } from './take-over.js'

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '100' },
    first: { type: 'string', default: '1' },
    /** One seed, with its whole story. */
    seed: { type: 'string' },
    jobs: { type: 'string', default: String(availableParallelism()) },
    /** Stop at the first failure, and do not shrink it. */
    quick: { type: 'boolean', default: false },
    digests: { type: 'boolean', default: false },
    /** This process is one of `jobs`: every so many-th seed is its own. */
    every: { type: 'string', default: '1' },
  },
})

const say = (line: string) => process.stdout.write(`${line}\n`)

const fails = async (simulation: Simulation, seed: number, tellsAll: boolean): Promise<boolean> => {
  const plan = drawPlan(seed)
  const result = await simulation.run(plan)
  const isBroken = result.broken.length > 0
  if (values.digests) say(`seed ${seed} ${result.digest}`)
  if (isBroken) {
    say(`FAILED: replay with  npm run simulate -- --seed ${seed}`)
    sayLines(result.broken, 5, '  ')
  }
  if (!(isBroken || tellsAll) || values.quick) return isBroken
  const told = isBroken ? await shrink(simulation, plan, result) : { plan, result }
  const { starts: _, ...rest } = told.plan
  say(`the story${told.plan === plan ? '' : ', shrunk'}: ${JSON.stringify(rest)}`)
  sayLines(told.result.story, 1_000, '')
  sayLines(told.result.broken, 5, '  ')
  return isBroken
}

const sayLines = (lines: readonly string[], linesMax: number, indent: string): void => {
  for (const line of lines.slice(0, linesMax)) say(`${indent}${line.slice(0, 600)}`)
}

/** Seeds in this process; returns how many failed. */
const work = async (seeds: readonly number[], tellsAll: boolean): Promise<number> => {
  const realMs = process.hrtime.bigint()
  using taken = await takeOver()
  using simulation = await createSimulation(taken.time, taken.databases)
  let failed = 0
  for (const seed of seeds) {
    if (await fails(simulation, seed, tellsAll)) failed += 1
    if (values.quick && failed > 0) break
  }
  const seconds = Number(process.hrtime.bigint() - realMs) / 1e9
  const { user, system } = process.cpuUsage()
  say(
    `${seeds.length} seeds in ${seconds.toFixed(1)} s (${((user + system) / 1e6).toFixed(1)} s of CPU), ${failed} failed`,
  )
  return failed
}

const range = (first: number, count: number, every: number): number[] =>
  Array.from({ length: Math.ceil(count / every) }, (_, place) => first + place * every)

const first = Number(values.first)
const count = Number(values.seeds)
const jobs = Number(values.jobs)
if (values.seed !== undefined) process.exitCode = (await work([Number(values.seed)], true)) > 0 ? 1 : 0
else if (jobs > 1) {
  const codes = await Promise.all(
    Array.from({ length: jobs }, (_, job) => {
      const own = Math.ceil((count - job) / jobs)
      const child = fork(process.argv[1] ?? '', [
        ...[
          '--first',
          String(first + job),
          '--seeds',
          String(own * jobs),
          '--every',
          String(jobs),
          '--jobs',
          '1',
        ],
        ...(values.quick ? ['--quick'] : []),
        ...(values.digests ? ['--digests'] : []),
      ])
      return new Promise<number>((resolve) => child.on('exit', (code) => resolve(code ?? 1)))
    }),
  )
  process.exitCode = codes.every((code) => code === 0) ? 0 : 1
} else process.exitCode = (await work(range(first, count, Number(values.every)), false)) > 0 ? 1 : 0
