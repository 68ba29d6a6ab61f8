/** `npm run simulate -- --seeds 1000 [--first 1] [--seed N] [--only 2,4] [--jobs 2]`: see docs/explanation/simulation.md. */
import { fork } from 'node:child_process'
import { availableParallelism } from 'node:os'
import { isDeepStrictEqual, parseArgs } from 'node:util'
import { takeOver } from './operations.js'
import { drawPlan, type Plan, type Start } from './plan.js'
import { createSimulation, type Result, type Simulation } from './simulate.js'

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '100' },
    first: { type: 'string', default: '1' },
    /** Runs one seed and prints its whole story. */
    seed: { type: 'string' },
    /** Plays these seeds, such as `3,14,15`. */
    only: { type: 'string' },
    jobs: { type: 'string', default: String(availableParallelism()) },
    /** Stops at the first failure and does not shrink it, and plays no seed twice. */
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

/** A failure can be replayed only if the same seed is the same to the last step. */
const repeats = async (simulation: Simulation, seed: number): Promise<boolean> => {
  const [one, other] = [await simulation.run(drawPlan(seed)), await simulation.run(drawPlan(seed))]
  if (one.digest !== other.digest) print(`FAILED: seed ${seed} does not repeat to the last step`)
  return one.digest === other.digest
}

const printLines = (lines: readonly string[], linesMax: number, indent: string): void => {
  for (const line of lines.slice(0, linesMax)) print(`${indent}${line.slice(0, 600)}`)
}

/** Runs these seeds in this process; returns how many failed. */
const runSeeds = async (seeds: readonly number[], printsStory: boolean): Promise<number> => {
  const realMs = process.hrtime.bigint()
  using taken = await takeOver()
  using simulation = await createSimulation(taken)
  let failed = 0
  const [first] = seeds
  if (first !== undefined && !printsStory && !values.quick && !(await repeats(simulation, first))) failed += 1
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

const TRIALS_MAX = 30

/** Shortens the story of a failure: removes every part of the plan that the failure does not need. */
const shrink = async (
  simulation: Simulation,
  plan: Plan,
  result: Result,
): Promise<{ readonly plan: Plan; readonly result: Result }> => {
  let best = { plan, result }
  let smaller = smallerPlans(plan)
  for (let trials = 0; trials < TRIALS_MAX; trials += 1) {
    const next = smaller.next()
    if (next.done) break
    const tried = await simulation.run(next.value)
    if (kindOf(tried) !== kindOf(result)) continue
    best = { plan: next.value, result: tried }
    smaller = smallerPlans(next.value)
  }
  return best
}

/** The promise that was broken first. A plan that breaks another one shows another failure. */
const kindOf = ({ violations }: Result): string => violations[0]?.split(':')[0] ?? ''

function* smallerPlans(plan: Plan): Generator<Plan> {
  for (const place of plan.starts.keys())
    yield { ...plan, starts: plan.starts.filter((_, at) => at !== place) }
  if (plan.skewMs !== 0) yield { ...plan, skewMs: 0 }
  for (const [place, start] of plan.starts.entries())
    for (const calmer of calmerStarts(start))
      yield { ...plan, starts: plan.starts.map((old, at) => (at === place ? calmer : old)) }
}

/** What a start is without, one by one. */
const CALM: readonly Partial<Start>[] = [
  ...[{ crash: null }, { disk: null }, { signal: null }, { snapshot: null }],
  ...[{ requestsMax: null }, { durationMsMax: null }, { wallJump: null }],
  ...[
    { moves: 0 },
    { moving: 0 },
    { forget: [] },
    { vanishing: 0 },
    { loseWork: false },
    { renamed: false },
    { planted: null },
    { shortSources: null },
    { full: false },
  ],
]
const CALM_BUCKET = [{ outage: null }, { lost: null }, { faults: {} }]

function* calmerStarts(start: Start): Generator<Start> {
  const { bucket, faults, jumps } = start
  for (const change of CALM) if (changes(start, change)) yield { ...start, ...change }
  for (const fault of Object.keys(faults))
    yield {
      ...start,
      faults: Object.fromEntries(Object.entries(faults).filter(([name]) => name !== fault)),
    }
  for (const change of CALM_BUCKET)
    if (bucket !== null && changes(bucket, change)) yield { ...start, bucket: { ...bucket, ...change } }
  if (jumps.probability > 0) yield { ...start, jumps: { ...jumps, probability: 0 } }
}

const changes = (thing: object, change: object): boolean => !isDeepStrictEqual({ ...thing, ...change }, thing)

const first = Number(values.first)
const count = Number(values.seeds)
const jobs = Number(values.jobs)
if (values.seed !== undefined || values.only !== undefined || jobs <= 1) {
  const seeds = values.seed ?? values.only
  const chosen = seeds?.split(',').map(Number) ?? range(first, count, Number(values.every))
  process.exitCode = (await runSeeds(chosen, values.seed !== undefined)) > 0 ? 1 : 0
} else {
  const codes = await Promise.all(
    Array.from({ length: jobs }, (_, job) => {
      const own = Math.ceil((count - job) / jobs)
      // The last value of a repeated option counts.
      const share = ['--first', first + job, '--seeds', own * jobs, '--every', jobs, '--jobs', 1]
      const child = fork(process.argv[1] ?? '', [...process.argv.slice(2), ...share.map(String)])
      return new Promise<number>((resolve) => child.on('exit', (code) => resolve(code ?? 1)))
    }),
  )
  process.exitCode = codes.every((code) => code === 0) ? 0 : 1
}
