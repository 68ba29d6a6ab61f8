/**
 * The simulation of the whole sync. It has a process of its own, because it replaces clocks, timers and files for good. CI runs it beside
 * `npm test`: `npm run simulate` looks for the place of every mutation, and plays the first seed of each process twice.
 */
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { beforeAll, describe, expect, test } from 'vitest'

const run = promisify(execFile)
const root = fileURLToPath(new URL('../..', import.meta.url))
const node = (args: readonly string[]) => run(process.execPath, args, { cwd: root })
const simulate = (...args: readonly string[]) => node(['.simulation/test/simulation/main.js', ...args])
const TSC = 'node_modules/@typescript/native/bin/tsc'
const seedsTo = (last: number) => Array.from({ length: last }, (_, place) => place + 1)
const SEEDS = seedsTo(20)

/** The seed of the worlds; `docs/reference/performance.md` has two more. */
const SEED = '42'
/** What `bench:requests` may show at most in each world (`Figures` in `month/figures.ts` says what each is). */
const NOTHING_BEHIND = { sourcesBehindMost: 0, textsBehindMost: 0, countsBehind: 0, hoursBehind: 0 }
const CEILINGS = {
  default: NOTHING_BEHIND,
  touch: NOTHING_BEHIND,
  // Complete interviews that are corrected later change no list, and closed surveys are read after 1, 2, 4, 8 … days.
  late: { sourcesBehindMost: 0, textsBehindMost: 0, hoursBehind: 0 },
  // Sources of inactive surveys change without a sign.
  free: { sourcesBehind: 14, hoursBehind: 0 },
}
const NIGHTS = { '2-30': { requests: 1_050 }, '31-45': { requests: 1_200 } }

describe('the simulation', () => {
  beforeAll(async () => {
    // `npm run check` checks the types.
    await node([TSC, '-p', 'test/simulation/tsconfig.json', '--noCheck'])
  })

  test('breaks no promise in any seed, and repeats the same seed to the last step', async () => {
    const digestsOf = async (seeds: readonly number[]) => {
      const { stdout } = await simulate('--only', seeds.join(), '--digests')
      return stdout.match(/^seed \d+ [0-9a-f]{16}$/gm) ?? []
    }
    const all = await digestsOf(SEEDS)
    expect(all.map((line) => Number(line.split(' ')[1]))).toEqual(SEEDS)
    expect(await digestsOf(SEEDS.slice(0, 2))).toEqual(all.slice(0, 2))
  })

  test('runs the first two nights of the month of bench:requests', async () => {
    const { stdout } = await node(['.simulation/test/simulation/month/main.js', '--nights', '2'])
    // All of every survey, then other readers, and ourselves between the first and the last of them.
    expect(stdout).toMatch(/^\| 2 \| \d+ \| 5,\d{3}(?: \| \d{3}){6} \|$/m)
    const figures = JSON.parse(/^figures (.*)$/m.exec(stdout)?.[1] ?? '')
    expect(figures).toMatchObject({ seed: 42, nights: 2, requests: [6_568, expect.any(Number)] })
    const { requests, inOrder, least, calculated, largest } = figures.ranges['2']
    expect(largest).toBe(requests)
    expect([requests, inOrder, least, calculated].toSorted((one, other) => other - one)).toEqual([
      ...[requests, inOrder, least, calculated],
    ])
    expect(stdout).toMatch(/^most requests in any 60 s: 60$/m)
  })

  test.each(Object.entries(CEILINGS))(
    'the month of bench:requests keeps its ceilings: world %s',
    async (world, ceilings) => {
      const { stdout } = await node([
        ...['.simulation/test/simulation/month/main.js', '--nights', '45'],
        ...['--world', world, '--seed', SEED],
      ])
      const { ranges } = JSON.parse(/^figures (.*)$/m.exec(stdout)?.[1] ?? '')
      const over = Object.entries(NIGHTS).flatMap(([range, requests]) =>
        Object.entries({ ...ceilings, ...requests, largest: 1_350, mostIn60s: 60 }).flatMap(([name, most]) =>
          ranges[range][name] <= most ? [] : [`${range} ${name}: ${ranges[range][name]} > ${most}`],
        ),
      )
      expect(over).toEqual([])
    },
  )
})
