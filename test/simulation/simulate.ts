/** One seed, from its empty warehouse to the last clean start. */
import { createHash } from 'node:crypto'
import fs from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { messageOf } from '../../src/base/errors.js'
import type { PointerContents } from '../../src/storage/bucket/documents.js'
import { openWarehouse } from '../../src/warehouse/lifecycle/open.js'
import { SILENT } from '../support/log/test-log.js'
import { BucketSide } from './bucket-side.js'
import type { TakenOver } from './operations.js'
import { checkEnd, checkNight, type NightCheck, overCap } from './oracle/end.js'
import { checkFinal } from './oracle/final.js'
import {
  checkDelta,
  checkDeltaFiles,
  checkParquet,
  checkPublished,
  checkSound,
  leftLog,
  openPublished,
} from './oracle/published.js'
import type { Violation } from './oracle/row-text.js'
import { checkVerdict } from './oracle/verdict.js'
import { checkWork } from './oracle/work.js'
import { type Plan, publishOf, type Start } from './plan.js'
import { lastStart } from './plan-start.js'
import { plantBefore, plantGone } from './planted.js'
import { runStart, type StartResult } from './process.js'
import { createRandom } from './random.js'
import { createReaders, type OpenFile, type Readers } from './readers.js'
import { StuckError } from './virtual-time.js'
import { createWorld, type World } from './world.js'

export interface Result {
  readonly violations: readonly Violation[]
  /** The events, one per line. */
  readonly story: readonly string[]
  /** Equal for the same seed on every machine. */
  readonly digest: string
}

export interface Simulation extends Disposable {
  run(plan: Plan): Promise<Result>
}

export const createSimulation = async ({ time, databases }: TakenOver): Promise<Simulation> => {
  const parent = fs.existsSync('/dev/shm') ? '/dev/shm' : tmpdir()
  const root = fs.mkdtempSync(join(parent, 'fieldwork-simulation-'))
  const empty = await emptyDatabase(join(root, 'empty'), { time, databases })
  const readers = await createReaders()
  return {
    run: (plan) => runPlan(plan, { time, root, empty, readers, databases }),
    [Symbol.dispose]: () => {
      readers[Symbol.dispose]()
      fs.rmSync(root, { recursive: true, force: true })
    },
  }
}

const emptyDatabase = async (directory: string, { time, databases }: TakenOver): Promise<Buffer> => {
  fs.mkdirSync(directory)
  const file = join(directory, 'work.duckdb')
  ;(await databases.open(file, false)).close()
  await databases.settled()
  const clock = { nowMs: () => time.wallMs, monotonicMs: () => 0, after: () => () => undefined }
  const database = await openWarehouse({ directory, clock, log: SILENT, command: 'a simulation' })
  await database.close()
  return fs.readFileSync(file)
}

const WALL_MS = Date.UTC(2026, 2, 1)

interface Surroundings extends TakenOver {
  readonly root: string
  readonly empty: Buffer
  readonly readers: Readers
}

const runPlan = async (
  plan: Plan,
  { time, root, empty, readers, databases }: Surroundings,
): Promise<Result> => {
  time.nowMs = 0
  time.wallMs = WALL_MS + plan.skewMs
  const random = createRandom(plan.seed)
  Math.random = random.unit
  const world = await createWorld(plan, time)
  const digest = createHash('sha256')
  const story: string[] = []
  const violations: Violation[] = []
  const home = join(root, 'seed')
  fs.rmSync(home, { recursive: true, force: true })
  const bucket = plan.hasBucket
    ? new BucketSide(time, home, plan.freshDatabase ? null : empty, plan.ignored)
    : null
  let directory = join(home, '0')
  fs.mkdirSync(directory, { recursive: true })
  if (!plan.freshDatabase) fs.writeFileSync(join(directory, 'work.duckdb'), empty)
  const starts = [...plan.starts, lastStart(plan)]
  const names = [world.account.name, `${world.account.name}-renamed`] as const
  let account: string = names[0]
  for (const [place, start] of starts.entries()) {
    const isLast = place === starts.length - 1
    if (start.renamed) account = account === names[0] ? names[1] : names[0]
    if (bucket === null) time.nowMs += start.gapMs
    else await bucket.pass(start.gapMs)
    const aheadMs = aheadOf(start)
    time.wallMs += aheadMs
    directory = bucket?.prepare(place, start) ?? directory
    const moved = await prepare(world, start, isLast, directory)
    story.push(...moved.map((move) => `before start ${place} ${move}`))
    const before = { receivedBefore: world.received.length, refusedBefore: new Set(world.refusals) }
    try {
      const ended = await runStart({
        plan: isLast ? { ...plan, settings: { ...plan.settings, attemptsMax: 6 } } : plan,
        start,
        world,
        account,
        time,
        databases,
        directory,
        bucket: bucket?.versions ?? null,
        nextDirectory: join(home, String(place + 1)),
        snapshotDirectory: join(home, `${place}-snapshot`),
        readAll: isLast,
      })
      directory = ended.directory
      bucket?.leave(start, directory)
      digest.update(`${ended.generation.digest()} ${ended.rival?.exitCode}`)
      story.push(...storyOf(place, start, ended, isLast))
      starts.push(...startsAfter(plan, place, ended))
      const nowMs = time.wallMs + time.nowMs
      const found = { plan, start, world, account, readers, bucket, ended, nowMs, ...before }
      violations.push(...(await check({ ...found, isLast: place === starts.length - 1 })))
    } catch (error) {
      if (!(error instanceof StuckError)) throw error
      violations.push(`start ${place}: ${error.message}`)
    }
    time.wallMs -= aheadMs
    if (violations.length > 0) break
  }
  await world.close()
  return { violations, story, digest: digest.digest('hex').slice(0, 16) }
}

/**
 * The start after those of the plan may fail at a survey that has gone: it goes on with a listing that an earlier one began, and whose pages
 * showed the survey. The 404 makes the next listing a full one, so the start after it must succeed.
 */
const startsAfter = (plan: Plan, place: number, { exitCode, report }: StartResult): readonly Start[] => {
  const { starts } = plan
  const mayBeGone = exitCode === 3 && /^\d+ surveys? failed$/.test(report?.accounts[0]?.reason ?? '')
  const hasVanished = starts.some(({ vanishing }) => vanishing > 0)
  return place === starts.length && mayBeGone && hasVanished ? [lastStart(plan)] : []
}

/** How far our wall clock is ahead during a start. */
const aheadOf = ({ clockAhead, bucket }: Start): number =>
  (clockAhead?.whose === 'ours' ? clockAhead.byMs : 0) + (bucket?.skewMs ?? 0)

/** Returns what moves before the start. */
const prepare = async (
  world: World,
  start: Start,
  isLast: boolean,
  directory: string,
): Promise<readonly string[]> => {
  await plantBefore(start, directory)
  if (start.loseWork) {
    for (const name of ['work.duckdb', 'work.duckdb.wal']) fs.rmSync(join(directory, name), { force: true })
  }
  const surveys = await world.surveys()
  const ids = start.forget.flatMap((place) => surveys[place % Math.max(1, surveys.length)]?.id ?? [])
  await world.forget(ids.map(Number))
  const random = createRandom(start.networkSeed)
  const moved = Array.from({ length: start.moves }, () => world.move(null, random))
  if (!isLast) return moved
  world.showKnownStatuses()
  await world.stopClock()
  return moved
}

interface Check extends NightCheck {
  readonly readers: Readers
  readonly bucket: BucketSide | null
  readonly isLast: boolean
  /** By the clock of the machine. */
  readonly nowMs: number
}

const check = async (given: Check): Promise<Violation[]> => {
  const { plan, world, readers, ended } = given
  if (plan.ignored.length > 0) return checkRefused(given)
  const { directory, snapshot } = ended
  const planted = await plantGone(readers, given.start, ended)
  if (planted.length > 0) return planted
  await using work = await openWork(readers, directory)
  const published = publishedIn(given, directory)
  return [
    ...(await overCap(world, plan)),
    ...(await checkEnd(given, work)),
    ...(work === null ? [] : [...(await checkWork(world, work, given)), ...(await checkNight(given, work))]),
    ...(snapshot === null ? [] : await checkSnapshot(given, snapshot)),
    ...(await checkBucket(given, given.bucket?.versions.pointer ?? null)),
    ...(await checkReaders(given, published, isPublished(given) ? work : null)),
    ...(await checkVerdict(given, published)),
    ...(await checkWholeBucket(given)),
  ]
}

const isPublished = ({ plan, start, ended: { report } }: Pick<Check, 'plan' | 'start' | 'ended'>): boolean =>
  report?.published.length === publishOf(plan, start).length

/** In a store without conditional writes, a run sends no request and writes no row, whatever runs were there before. */
const checkRefused = ({ world, bucket, ended: { exitCode } }: Check): Violation[] => [
  ...(bucket?.versions.violations ?? []),
  ...(world.received.length > 0 ? ['P1: a request was sent with a store without conditional writes'] : []),
  ...(exitCode === 0 ? ['P4: exit 0 with a store without conditional writes'] : []),
]

const publishedIn = ({ bucket }: Check, directory: string): string =>
  bucket === null ? directory : bucket.publishInto(join(directory, '..', 'readers'), bucket.versions.pointer)

/** P1 for the state that a new machine would restore. */
const checkBucket = async (given: Check, pointer: PointerContents | null): Promise<Violation[]> => {
  const { world, readers, bucket } = given
  if (bucket === null || pointer === null) return []
  await using state = await bucket.openState(readers, pointer)
  await bucket.checkRuns(state)
  return state === null ? [] : await checkWork(world, state, given)
}

const checkWholeBucket = async ({ plan, start, bucket, ended, isLast }: Check): Promise<Violation[]> => {
  if (bucket === null) return []
  bucket.checkReport(ended)
  const { model, pointer, violations } = bucket.versions
  const { manifest } = bucket.versions.at(pointer)
  const hasDelta = ended.report?.published.some(({ format }) => format === 'delta') === true
  if (isLast) await bucket.checkCleanUp(publishOf(plan, start))
  return [
    ...violations.map((line) => `bucket: ${line}`),
    ...(hasDelta && manifest !== null ? checkDelta(model, manifest) : []),
    ...checkDeltaFiles(model),
    ...(isPublished({ plan, start, ended }) && manifest?.run_id !== ended.report?.accounts[0]?.runId
      ? [`P3: the version in the bucket is of the run ${manifest?.run_id}`]
      : []),
  ]
}

const openWork = async (readers: Readers, directory: string): Promise<OpenFile | null> => {
  const file = join(directory, 'work.duckdb')
  return fs.existsSync(file) ? await readers.open(file) : null
}

/** Checks the files that a kill at the moment of the snapshot would have left. */
const checkSnapshot = async (given: Check, directory: string): Promise<Violation[]> => {
  await using work = await openWork(given.readers, directory)
  return [
    ...(work === null ? [] : await checkWork(given.world, work, given)),
    ...(await checkBucket(given, given.ended.snapshotPointer)),
    ...(given.bucket === null ? await checkReaders({ ...given, isLast: false }, directory, null) : []),
  ].map((line) => `${line} (in a snapshot that was taken while it ran)`)
}

/** Checks the published files; `work` is null unless everything was published. */
const checkReaders = async (given: Check, directory: string, work: OpenFile | null): Promise<Violation[]> => {
  const { plan, world, readers, ended, isLast } = given
  const file = join(directory, 'fieldwork.duckdb')
  const runId = ended.report?.accounts[0]?.runId ?? null
  const found = [...leftLog(file), ...(await checkParquet(directory, work, runId))]
  try {
    await using published = await openPublished(world, readers, file, { work, isLast })
    if (published !== null) {
      const isRecordedAgain = ended.report?.accounts[0]?.errorCode === 'address_behind'
      found.push(...(await checkPublished(world, published, work, isRecordedAgain)))
      if (isLast) found.push(...(await checkSound(published, plan.checksViews)))
    }
    if (isLast) found.push(...(await checkFinal(given, published?.reader ?? null)))
    return found
  } catch (error) {
    return [...found, `P3: the published file cannot be read: ${messageOf(error)}`]
  }
}

const EVENTS_PRINTED_MAX = 30

const storyOf = (place: number, start: Start, ended: StartResult, isLast: boolean): string[] => {
  const { networkSeed: _, ...drawn } = start
  const events = ended.network.events.slice(0, EVENTS_PRINTED_MAX)
  const rival = ended.rival === null ? [] : [`  a second run ended with exit ${ended.rival.exitCode}`]
  const reason = ended.report?.accounts[0]?.reason ?? ended.problem ?? ''
  const more = ended.network.events.length - events.length
  return [
    `start ${place}${isLast ? ', the last one, without faults' : ''}: ${JSON.stringify(drawn)}`,
    ...events.map((event) => `  ${event}`),
    ...(more > 0 ? [`  and ${more} more events`] : []),
    ...rival,
    ...ended.generation.failed.map((step) => `  failed step: ${step}`),
    ended.exitCode === null
      ? `  killed at step ${ended.generation.lastStep}`
      : `  ended after ${Math.round(ended.tookMs)} ms and ${ended.generation.steps} steps with exit ${ended.exitCode} ${reason}`,
  ]
}
