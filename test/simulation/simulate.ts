/** One seed, from its empty warehouse to the last clean start. */
import { createHash } from 'node:crypto'
import fs from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openWarehouse } from '../../src/warehouse/open.js'
import { overCap } from './oracle/cap.js'
import { checkEnd } from './oracle/end.js'
import { checkFinal } from './oracle/final.js'
import { checkParquet } from './oracle/parquet.js'
import { checkPublished } from './oracle/published.js'
import type { Broken } from './oracle/row-text.js'
import { checkWork } from './oracle/work.js'
import { lastStart, type Plan, type Start } from './plan.js'
import { type Ended, runStart } from './process.js'
import { createRandom } from './random.js'
import { createReaders, type OpenFile, type Readers } from './readers.js'
import { StuckError, type VirtualTime } from './virtual-time.js'
import { createWorld, type World } from './world.js'

export interface Result {
  readonly broken: readonly Broken[]
  /** What happened, a line each. */
  readonly story: readonly string[]
  /** The same for the same seed, whatever the machine. */
  readonly digest: string
}

export interface Simulation extends Disposable {
  run(plan: Plan): Promise<Result>
}

/** `time` is installed, and so are the operations. */
export const createSimulation = async (time: VirtualTime): Promise<Simulation> => {
  const parent = fs.existsSync('/dev/shm') ? '/dev/shm' : tmpdir()
  const root = fs.mkdtempSync(join(parent, 'fieldwork-simulation-'))
  const empty = await emptyDatabase(join(root, 'empty'), time)
  const readers = await createReaders()
  return {
    run: (plan) => runPlan(plan, time, root, empty, readers),
    [Symbol.dispose]: () => {
      readers[Symbol.dispose]()
      fs.rmSync(root, { recursive: true, force: true })
    },
  }
}

const emptyDatabase = async (directory: string, time: VirtualTime): Promise<Buffer> => {
  const ignore = () => undefined
  const log = { debug: ignore, info: ignore, warn: ignore, error: ignore }
  const clock = { nowMs: () => time.wallMs, monotonicMs: () => 0, sleep: async () => undefined }
  const database = await openWarehouse({ directory, clock, log, command: 'a simulation' })
  await database.close()
  return fs.readFileSync(join(directory, 'work.duckdb'))
}

const WALL_MS = Date.UTC(2026, 2, 1)

const runPlan = async (
  plan: Plan,
  time: VirtualTime,
  root: string,
  empty: Buffer,
  readers: Readers,
): Promise<Result> => {
  time.nowMs = 0
  time.wallMs = WALL_MS + plan.skewMs
  const random = createRandom(plan.seed)
  Math.random = random.unit
  const world = await createWorld(plan, time)
  const digest = createHash('sha256')
  const story: string[] = []
  const broken: Broken[] = []
  const home = join(root, 'seed')
  fs.rmSync(home, { recursive: true, force: true })
  let directory = join(home, '0')
  fs.mkdirSync(directory, { recursive: true })
  if (!plan.freshDatabase) fs.writeFileSync(join(directory, 'work.duckdb'), empty)
  const starts = [...plan.starts, lastStart(plan)]
  for (const [place, start] of starts.entries()) {
    const isLast = place === starts.length - 1
    time.skip(start.gapMs)
    await prepare(world, start, isLast, directory)
    const toldBefore = world.told.length
    try {
      const ended = await runStart({
        plan: isLast ? { ...plan, settings: { ...plan.settings, attemptsMax: 6 } } : plan,
        start,
        world,
        time,
        directory,
        nextDirectory: join(home, String(place + 1)),
        lookDirectory: join(home, `${place}-look`),
        readAll: isLast,
      })
      directory = ended.directory
      digest.update(ended.generation.digest())
      story.push(...tell(place, start, ended, isLast))
      broken.push(...(await check({ plan, world, readers, ended, toldBefore, isLast })))
    } catch (error) {
      if (!(error instanceof StuckError)) throw error
      broken.push(`start ${place}: ${error.message}`)
    }
    if (broken.length > 0) break
  }
  await world.close()
  return { broken, story, digest: digest.digest('hex').slice(0, 16) }
}

const prepare = async (world: World, start: Start, isLast: boolean, directory: string): Promise<void> => {
  if (start.loseWork) {
    for (const name of ['work.duckdb', 'work.duckdb.wal']) fs.rmSync(join(directory, name), { force: true })
  }
  const surveys = await world.surveys()
  const ids = start.forget.flatMap((place) => surveys[place % Math.max(1, surveys.length)]?.id ?? [])
  await world.forget(ids.map(Number))
  if (isLast) await world.freeze()
}

interface Check {
  readonly plan: Plan
  readonly world: World
  readonly readers: Readers
  readonly ended: Ended
  readonly toldBefore: number
  readonly isLast: boolean
}

const check = async ({ plan, world, readers, ended, toldBefore, isLast }: Check): Promise<Broken[]> => {
  const { directory, lookedAt, report } = ended
  const published = join(directory, 'fieldwork.duckdb')
  const isPublished = publishedAll(plan, report)
  await using work = await openWork(readers, directory)
  return [
    ...(await overCap(world, plan)),
    ...(await checkEnd(world, ended, work, toldBefore)),
    ...(work === null ? [] : await checkWork(world, work)),
    ...(await checkPublished(world, readers, published, { work: isPublished ? work : null, isLast })),
    ...(await checkParquet(directory, isPublished ? work : null)),
    ...(lookedAt === null ? [] : await checkLook(world, readers, lookedAt)),
    ...(isLast ? await checkFinal(world, ended, readers) : []),
  ]
}

const publishedAll = ({ publish }: Plan, report: Ended['report']): boolean =>
  report?.published.length === publish.length

const openWork = async (readers: Readers, directory: string): Promise<OpenFile | null> => {
  const file = join(directory, 'work.duckdb')
  return fs.existsSync(file) ? await readers.open(file) : null
}

/** What a kill at that moment would have left. */
const checkLook = async (world: World, readers: Readers, directory: string): Promise<Broken[]> => {
  await using work = await openWork(readers, directory)
  const published = join(directory, 'fieldwork.duckdb')
  return [
    ...(work === null ? [] : await checkWork(world, work)),
    ...(await checkPublished(world, readers, published, { work: null, isLast: false })),
    ...(await checkParquet(directory, null)),
  ].map((line) => `${line} (looked at while it ran)`)
}

const EVENTS_TOLD_MAX = 30

const tell = (place: number, start: Start, ended: Ended, isLast: boolean): string[] => {
  const { networkSeed: _, ...drawn } = start
  const events = ended.network.events.slice(0, EVENTS_TOLD_MAX)
  const reason = ended.report?.accounts[0]?.reason ?? ended.problem ?? ''
  return [
    `start ${place}${isLast ? ', the last and clean one' : ''}: ${JSON.stringify(drawn)}`,
    ...events.map((event) => `  ${event}`),
    ...(ended.network.events.length > events.length
      ? [`  and ${ended.network.events.length - events.length} more`]
      : []),
    ...ended.generation.failed.map((step) => `  failed: step ${step}`),
    ended.exitCode === null
      ? `  killed at step ${ended.generation.lastStep}`
      : `  ended after ${Math.round(ended.tookMs)} ms and ${ended.generation.steps} steps with exit ${ended.exitCode} ${reason}`,
  ]
}
