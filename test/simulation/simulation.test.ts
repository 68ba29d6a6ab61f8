/** Some seeds of the simulation, in a process of its own, because it replaces clocks, timers and files for good. */
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { beforeAll, describe, expect, test } from 'vitest'
import { SLOW, slow } from '../support/suite/slow.js'

const run = promisify(execFile)
const root = fileURLToPath(new URL('../..', import.meta.url))
const node = (args: readonly string[]) => run(process.execPath, args, { cwd: root })
const simulate = (...args: readonly string[]) => node(['.simulation/test/simulation/main.js', ...args])

/**
 * Two seeds, because CI plays 1,000 beside the tests (`npm run simulate -- --seeds 1000`). They are the shortest with a directory and
 * with a bucket.
 */
const SEEDS_QUICK = [8, 35]
const SEEDS = SLOW ? Array.from({ length: 300 }, (_, place) => place + 1) : SEEDS_QUICK

describe('the simulation', () => {
  beforeAll(async () => {
    // `npm run check` checks the types.
    await node([
      'node_modules/@typescript/native/bin/tsc',
      '-p',
      'test/simulation/tsconfig.json',
      '--noCheck',
    ])
  }, 300_000)

  test('breaks no promise in any seed, and repeats the same seed to the last step', async () => {
    const digestsOf = async (seeds: readonly number[]) => {
      const { stdout } = await simulate('--only', seeds.join(), '--digests')
      return stdout.match(/^seed \d+ [0-9a-f]{16}$/gm) ?? []
    }
    const [first = 0] = SEEDS
    const [repeated, ...all] = await digestsOf([first, ...SEEDS])
    expect(all.map((line) => Number(line.split(' ')[1]))).toEqual(SEEDS)
    expect(repeated).toBe(all[0])
    if (SLOW) expect(await digestsOf(SEEDS.slice(0, 2))).toEqual(all.slice(0, 2))
  }, 1_200_000)

  test('breaks no promise of the bucket in any seed', async () => {
    const seeds = SLOW ? 5_000 : 25
    const main = '.simulation/test/simulation/bucket/main.js'
    const { stdout } = await node([main, '--seeds', String(seeds), '--quick'])
    expect(stdout).toMatch(new RegExp(`^${seeds} seeds in .* 0 failed$`, 'm'))
  }, 1_800_000)

  slow(
    'runs the first two nights of the month of bench:requests',
    async () => {
      const { stdout } = await node(['.simulation/test/simulation/month/main.js', '--nights', '2'])
      expect(stdout).toMatch(/^\| 2 \| \d+ \| 5,\d{3} \| \d+ \| \d+ \| \d+ \|$/m)
      expect(stdout).toMatch(/^most requests in any 60 s: 60$/m)
    },
    600_000,
  )

  test('has a place in the code for every mutation', async () => {
    const { stdout } = await node(['.simulation/test/simulation/mutations.js', '--dry'])
    expect(stdout).toBe('')
  })
})
