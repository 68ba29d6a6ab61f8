/** `npm run simulate -- --seeds 1000 [--first 1] [--seed N] [--only 2,4] [--jobs 2]`: see docs/explanation/simulation.md. */
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
    /** Runs one seed and prints its whole story. */
    seed: { type: 'string' },
    /** Plays these seeds, such as `3,14,15`. */
    only: { type: 'string' },
    jobs: { type: 'string', default: String(availableParallelism()) },
    /** Stops at the first failure and does not shrink it. */
    quick: { type: 'boolean', default: false },
    digests: { type: 'boolean', default: false },
    /** This process is one of `jobs` and runs every Nth seed. */
    every: { type: 'string', default: '1' },
  },
})

const print = (line: string) => process.stdout.write(`${line}\n`)

const runSeed = async (simulation: Simulation, seed: number, printsStory: boolean): Promise<boolean> => {
  const plan = drawPlan(seed)
  const result = await simulation.run(plan)
  const hasFailed = result.violations.length > 0
  if (values.digests) print(`seed ${seed} ${result.digest}`)
  if (hasFailed) {
    print(`FAILED: replay it with  npm run simulate -- --seed ${seed}`)
    printLines(result.violations, 5, '  ')
  }
  if (!(hasFailed || printsStory) || values.quick) return hasFailed
  const shortest = hasFailed ? await shrink(simulation, plan, result) : { plan, result }
  const { starts: _, ...rest } = shortest.plan
  print(`the story${shortest.plan === plan ? '' : ', shortened'}: ${JSON.stringify(rest)}`)
  printLines(shortest.result.story, 1_000, '')
  printLines(shortest.result.violations, 5, '  ')
  return hasFailed
}

const printLines = (lines: readonly string[], linesMax: number, indent: string): void => {
  for (const line of lines.slice(0, linesMax)) print(`${indent}${line.slice(0, 600)}`)
}

/** Runs these seeds in this process; returns how many failed. */
const runSeeds = async (seeds: readonly number[], printsStory: boolean): Promise<number> => {
  const realMs = process.hrtime.bigint()
  using taken = await takeOver()
  using simulation = await createSimulation(taken.time, taken.databases)
  let failed = 0
  for (const seed of seeds) {
    if (await runSeed(simulation, seed, printsStory)) failed += 1
    if (values.quick && failed > 0) break
  }
  const seconds = Number(process.hrtime.bigint() - realMs) / 1e9
  const { user, system } = process.cpuUsage()
  print(
    `${seeds.length} seeds in ${seconds.toFixed(1)} s (${((user + system) / 1e6).toFixed(1)} s of CPU), ${failed} failed`,
  )
  return failed
}

const range = (first: number, count: number, every: number): number[] =>
  Array.from({ length: Math.ceil(count / every) }, (_, place) => first + place * every)

const first = Number(values.first)
const count = Number(values.seeds)
const jobs = Number(values.jobs)
if (values.seed !== undefined) process.exitCode = (await runSeeds([Number(values.seed)], true)) > 0 ? 1 : 0
else if (values.only !== undefined)
  process.exitCode = (await runSeeds(values.only.split(',').map(Number), false)) > 0 ? 1 : 0
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
} else process.exitCode = (await runSeeds(range(first, count, Number(values.every)), false)) > 0 ? 1 : 0
