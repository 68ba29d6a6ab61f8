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
const SEEDS = seedsTo(300)

const WORLDS = ['default', 'free', 'touch', 'late'] as const
const MONTH_SEEDS = [42, 1, 7]
/** What `bench:requests` may show at most, for every seed, or for each (`Figures` in `month/figures.ts` says what each is). */
const CEILINGS: Record<
  (typeof WORLDS)[number],
  Record<string, Readonly<Record<string, number | readonly number[]>>>
> = {
  default: {
    '2-30': {
      requests: 786,
      timesLeast: 1.245,
      largest: 931,
      sourcesBehind: 2.5,
      sourcesBehindMost: 7,
      countsBehind: 3,
      countsBehindOfClosed: 0,
      oldest: 3,
      hoursBehind: 0.4,
      estimateError: 5,
      estimateErrorMost: 12,
    },
    '31-60': { timesLeast: 1.3, largest: 950, sourcesBehind: 2.5, estimateError: 5, estimateErrorMost: 12 },
  },
  free: {
    '2-30': { timesLeast: 1.41, largest: 1_041, sourcesBehind: 10, sourcesBehindMost: 14, countsBehind: 121 },
    '31-60': {},
  },
  touch: {
    '2-30': { timesLeast: 1.25, largest: 931, sourcesBehind: 2.5, countsBehind: 3 },
    '31-60': {},
  },
  late: {
    '2-30': { timesLeast: 1.26, largest: 935, sourcesBehind: 2.5, countsBehind: [139, 216, 139] },
    '31-60': { timesLeast: 1.31, largest: 965, sourcesBehind: 2.5, countsBehind: 216 },
  },
}
const MONTHS = WORLDS.flatMap((world) => MONTH_SEEDS.map((seed) => [world, seed] as const))

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
    expect(figures).toMatchObject({ seed: 42, nights: 2, requests: [5_641, expect.any(Number)] })
    const { requests, inOrder, least, calculated, largest } = figures.ranges['2']
    expect(largest).toBe(requests)
    expect([requests, inOrder, least, calculated].toSorted((one, other) => other - one)).toEqual([
      ...[requests, inOrder, least, calculated],
    ])
    expect(stdout).toMatch(/^most requests in any 60 s: 60$/m)
  })

  test.each(MONTHS)(
    'the month of bench:requests keeps its ceilings: world %s, seed %i',
    async (world, seed) => {
      const { stdout } = await node([
        ...['.simulation/test/simulation/month/main.js', '--nights', '60'],
        ...['--world', world, '--seed', String(seed)],
      ])
      const { ranges } = JSON.parse(/^figures (.*)$/m.exec(stdout)?.[1] ?? '')
      const over = Object.entries(CEILINGS[world]).flatMap(([range, ceilings]) =>
        Object.entries(ceilings).flatMap(([name, ceiling]) => {
          const most = [ceiling].flat()[MONTH_SEEDS.indexOf(seed)] ?? ceiling
          return ranges[range][name] <= most ? [] : [`${range} ${name}: ${ranges[range][name]} > ${most}`]
        }),
      )
      expect(over).toEqual([])
    },
  )
})
