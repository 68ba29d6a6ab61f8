/** `npm run simulate:bucket -- --seeds 5000 [--first 1] [--seed N] [--quick]`: see docs/explanation/simulation.md. */
import { parseArgs } from 'node:util'
import { createBucketSimulation } from './simulate.js'

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '1000' },
    first: { type: 'string', default: '1' },
    /** Plays one seed and prints its whole story. */
    seed: { type: 'string' },
    /** Stops at the first failure, without its story. */
    quick: { type: 'boolean', default: false },
    /** Accepted as by the other simulation: this one has one process. */
    jobs: { type: 'string' },
  },
})

const print = (line: string) => process.stdout.write(`${line}\n`)
const LINES_MAX = 5
const STORY_LINES_MAX = 3_000

const play = async (
  simulation: ReturnType<typeof createBucketSimulation>,
  seed: number,
  printsStory: boolean,
) => {
  const { violations, steps } = await simulation.run(seed, false)
  totalSteps += steps
  const hasFailed = violations.length > 0
  if (hasFailed) {
    print(`FAILED: replay it with  npm run simulate:bucket -- --seed ${seed}`)
    for (const violation of violations.slice(0, LINES_MAX)) print(`  ${violation.slice(0, 600)}`)
  }
  if (!printsStory && (!hasFailed || values.quick)) return hasFailed
  const { story } = await simulation.run(seed, true)
  for (const line of story.slice(0, STORY_LINES_MAX)) print(line.slice(0, 300))
  return hasFailed
}

let totalSteps = 0
const isSingle = values.seed !== undefined
const first = Number(values.seed ?? values.first)
const count = isSingle ? 1 : Number(values.seeds)
const startedMs = performance.now()
using simulation = createBucketSimulation()
let failed = 0
for (let seed = first; seed < first + count && !(values.quick && failed > 0); seed += 1)
  if (await play(simulation, seed, isSingle)) failed += 1
const seconds = (performance.now() - startedMs) / 1_000
print(`${count} seeds in ${seconds.toFixed(1)} s, ${totalSteps} steps, ${failed} failed`)
process.exitCode = failed === 0 ? 0 : 1
