/** One seed: several writers, readers and damages for some hours, and then whether everything is there and nothing else. */
import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ExpectedError } from '../../../src/base/errors.js'
import type { Ledger } from '../../../src/http/rate-limit/ledger.js'
import { LEASE_KEY, LEDGERS } from '../../../src/storage/bucket/documents.js'
import { STORES_WITHOUT_CONDITIONS } from '../plan-bucket.js'
import { createRandom, type Random } from '../random.js'
import { MEMORY, MemoryFiles } from './files.js'
import { type Fate, Machine, type Place, Schedule } from './machine.js'
import { networkStore } from './network.js'
import { LIMITS, Oracle } from './oracle.js'
import { readOnce } from './reader.js'
import { type Work, writerRun } from './writer.js'

interface Result {
  readonly violations: readonly string[]
  readonly story: readonly string[]
  readonly steps: number
}

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
/** Of virtual time. The writers end long before. */
const END_MS = 100 * HOUR_MS

export const createBucketSimulation = () => {
  const current: { schedule: Schedule | null } = { schedule: null }
  const files = new MemoryFiles(() => current.schedule?.current ?? null)
  files.install()
  const root = mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'fieldwork-bucket-'))
  return {
    run: async (seed: number, keepsStory: boolean): Promise<Result> => {
      const schedule = new Schedule()
      current.schedule = schedule
      const world = new World(seed, { schedule, files, root, keepsStory })
      try {
        return await world.run()
      } finally {
        world.close()
        files.clear()
      }
    },
    [Symbol.dispose]: () => {
      files.remove()
      rmSync(root, { recursive: true, force: true })
    },
  }
}

/** Steps at which a kill or a pause is most likely to matter. */
const TURNING_POINTS: readonly string[] = [
  ...['get current.json', 'answer of get current.json'],
  ...['putIfMatch current.json', 'putIfMatch current.json', 'putIfMatch current.json'],
  ...['answer of putIfMatch current.json', 'putIfMatch lease.json', 'answer of putIf'],
  ...['putIfAbsent versions/', 'rename', 'writeFile', 'delete'],
]

type Then = (error: unknown, isKilled: boolean) => void

const RESTART_MS_MAX = 30_000

interface WorldOptions {
  readonly schedule: Schedule
  readonly files: MemoryFiles
  readonly root: string
  readonly keepsStory: boolean
}

class World {
  readonly #random: Random
  readonly #options: WorldOptions
  readonly #oracle: Oracle
  readonly #story: string[] = []
  readonly #openLedgers = new Set<Ledger>()
  readonly #faulty: number
  readonly #outages: { readonly fromMs: number; readonly toMs: number }[] = []
  #freeLease: string | null = null
  #runs = 0
  #steps = 0
  #active = 0
  /** The last runs meet no fault. */
  #isEnding = false

  constructor(seed: number, options: WorldOptions) {
    this.#random = createRandom(seed)
    this.#options = options
    this.#oracle = new Oracle(options.schedule)
    this.#faulty = this.#random.pick([0, 0.01, 0.03, 0.08])
    if (this.#random.chance(0.06))
      for (const verb of this.#random.pick(STORES_WITHOUT_CONDITIONS)) this.#oracle.model.ignored.add(verb)
    for (let left = this.#random.whole(0, 2); left > 0; left -= 1) {
      const fromMs = this.#random.whole(0, 3 * HOUR_MS)
      this.#outages.push({ fromMs, toMs: fromMs + this.#random.whole(5_000, 150_000) })
    }
  }

  async run(): Promise<Result> {
    const { schedule } = this.#options
    const random = this.#random
    for (let writer = random.whole(2, 5); writer > 0; writer -= 1) {
      const place = this.#place(`pod${writer}`)
      this.#active += 1
      schedule.after(random.whole(0, 5 * MINUTE_MS), () => this.#start(place, random.whole(2, 5)))
    }
    for (let reads = random.whole(3, 8); reads > 0; reads -= 1) {
      this.#active += 1
      schedule.after(random.whole(0, 4 * HOUR_MS), () => {
        void readOnce(schedule, this.#oracle, random).then(() => {
          this.#active -= 1
        })
      })
    }
    for (let damages = random.chance(0.4) ? random.whole(1, 2) : 0; damages > 0; damages -= 1)
      schedule.after(random.whole(10 * MINUTE_MS, 4 * HOUR_MS), () => this.#damage())
    for (let losses = random.chance(0.3) ? random.whole(1, 2) : 0; losses > 0; losses -= 1)
      schedule.after(random.whole(MINUTE_MS, 4 * HOUR_MS), () => void this.#lose())
    const isDone = await schedule.drive(() => this.#active === 0, END_MS)
    if (!isDone) this.#oracle.fail('the writers do not end')
    else if (this.#oracle.model.ignored.size > 0) await this.#endRefused()
    else await this.#end()
    return { violations: this.#oracle.violations, story: this.#story, steps: this.#steps }
  }

  close(): void {
    this.#options.schedule.clear()
    for (const ledger of this.#openLedgers) ledger.close()
    rmSync(this.#options.root, { recursive: true, force: true })
  }

  #say(text: string): void {
    if (this.#options.keepsStory) this.#story.push(text)
  }

  #place(name: string): Place {
    const random = this.#random
    const ledgers = join(this.#options.root, name)
    mkdirSync(ledgers, { recursive: true })
    const skewMs = random.pick([0, 0, random.whole(-HOUR_MS, HOUR_MS), random.whole(-1_000, 1_000) * HOUR_MS])
    // The rate limiter allows for clocks that are slewed by 30 ms a minute.
    const speed = 1 + random.whole(-4, 4) / 10_000
    return { name, skewMs, speed, directory: `${MEMORY}${name}`, ledgers }
  }

  #start(place: Place, runsLeft: number): void {
    if (runsLeft === 0) {
      this.#active -= 1
      return
    }
    const random = this.#random
    if (random.chance(0.4)) {
      this.#options.files.empty(place.directory)
      rmSync(place.ledgers, { recursive: true, force: true })
      mkdirSync(place.ledgers)
    }
    const requests = random.whole(0, 7)
    const work = { requests, snapshots: random.chance(0.3), cleansUp: random.chance(0.6) }
    this.#play(place, this.#fate(), work, this.#faulty, (_, isKilled) => {
      const isLost = random.chance(0.1) && this.#lose()
      // A killed pod is started again at once, and so is one for which a person has deleted the lease.
      const gapMs =
        (isKilled || isLost) && random.chance(0.7) ? random.whole(0, RESTART_MS_MAX) : this.#gapMs()
      this.#options.schedule.after(gapMs, () => this.#start(place, runsLeft - 1))
    })
  }

  #fate(): Fate {
    const random = this.#random
    const at = () =>
      random.chance(0.5)
        ? { name: '', nth: random.whole(1, random.chance(0.3) ? 250 : 90) }
        : { name: random.pick(TURNING_POINTS), nth: random.whole(1, 3) }
    const pause = {
      at: at(),
      ms: random.whole(1_000, random.chance(0.2) ? HOUR_MS : 200_000),
      isSuspended: random.chance(0.5),
    }
    return { killAt: random.chance(0.3) ? at() : null, pause: random.chance(0.25) ? pause : null }
  }

  #gapMs(): number {
    const random = this.#random
    const longestMs = random.pick([MINUTE_MS, 3 * MINUTE_MS, 20 * MINUTE_MS, 40 * MINUTE_MS, 3 * HOUR_MS])
    return random.whole(0, longestMs)
  }

  /** Starts a process. Calls `then` when it has ended or is dead. */
  #play(place: Place, fate: Fate, work: Work, faulty: number, then: Then): void {
    const { schedule, files } = this.#options
    const oracle = this.#oracle
    this.#runs += 1
    const run = `20260301T000000Z-${this.#runs.toString(16).padStart(6, '0')}`
    const story = (line: string) => this.#say(line)
    const machine = new Machine(run, place, { random: this.#random, schedule, fate, story })
    const outages = faulty === 0 ? [] : this.#outages
    const store = networkStore({ machine, store: oracle.client(), files, faulty, outages })
    let hasEnded = false
    const ended = (error: unknown) => {
      if (hasEnded) return
      hasEnded = true
      const isKilled = machine.isDead
      // Nothing of a process that has ended continues.
      machine.isDead = true
      this.#steps += machine.steps
      if (error !== null && !(error instanceof ExpectedError))
        oracle.fail(`${run}: ${error instanceof Error ? error.stack : error}`)
      if (error instanceof ExpectedError && error.code === 'other_bucket')
        oracle.fail(`${run}: ${error.message}`)
      machine.say(error instanceof Error ? `ended: ${error.message}` : 'ended')
      schedule.after(0, () => then(error, isKilled))
    }
    machine.onDeath = () => ended(null)
    machine.after(0, () => {
      writerRun({ machine, store, oracle, work, openLedgers: this.#openLedgers }).then(
        () => ended(null),
        ended,
      )
    })
  }

  /** Changes, cuts or removes an object, as no writer would. */
  #damage(): void {
    if (this.#isEnding) return
    const { objects } = this.#oracle.model
    const keys = [...objects.keys()].filter((key) => /^(versions|data|duckdb|snapshots)\//.test(key))
    if (keys.length === 0) return
    const key = this.#random.pick(keys)
    const found = objects.get(key)
    if (found === undefined) return
    this.#oracle.damaged.add(key)
    // Of a Parquet file, a run compares the size only.
    const isDatabase = /^(duckdb|snapshots)\//.test(key)
    const how = this.#random.pick(isDatabase ? HOWS : HOWS.slice(0, 2))
    this.#say(`${this.#options.schedule.nowMs / 1_000} s  ${how} ${key}`)
    if (how === 'REMOVED') objects.delete(key)
    else objects.set(key, { ...found, body: damaged(found.body, how) })
  }

  /** Deletes the lease or the ledger, cuts the ledger, or restores an older lease. Returns whether there was one. */
  #lose(): boolean {
    if (this.#isEnding) return false
    const { objects } = this.#oracle.model
    const keys = [...objects.keys()].filter((key) => key === LEASE_KEY || key.startsWith(LEDGERS))
    if (keys.length === 0) return false
    const key = this.#random.pick(keys)
    const body = String(objects.get(key)?.body)
    const isFree = body.includes('"state": "free"')
    const freeLease = this.#freeLease
    if (key === LEASE_KEY && isFree) this.#freeLease = body
    if (key !== LEASE_KEY) this.#oracle.isLedgerLost = true
    const say = (what: string) => this.#say(`${this.#options.schedule.nowMs / 1_000} s  ${what} ${key}`)
    if (key === LEASE_KEY && isFree && freeLease !== null && this.#random.chance(0.5)) {
      say('RESTORED')
      this.#oracle.model.write(key, freeLease)
    } else if (key !== LEASE_KEY && this.#random.chance(0.3)) {
      say('CUT')
      this.#oracle.model.write(key, body.slice(0, body.length / 2))
    } else {
      say('REMOVED')
      objects.delete(key)
    }
    return true
  }

  /** A run without faults is refused, whatever runs were here before. */
  async #endRefused(): Promise<void> {
    const refusal = await this.#playLast('last', 5 * MINUTE_MS)
    if (!/no reliable conditional writes/.test(String(refusal)))
      this.#oracle.fail(`a store without conditional writes was not refused: ${refusal}`)
  }

  /** Runs without faults on a new machine: they must work, and leave nothing that is not named. */
  async #end(): Promise<void> {
    for (let run = 1; run <= LAST_RUNS; run += 1) {
      const error = await this.#playLast(`last${run}`, run <= 3 ? 5 * MINUTE_MS : LIMITS.keepMs + HOUR_MS)
      if (error === undefined) return this.#oracle.fail('a run without faults does not end')
      if (error instanceof ExpectedError && error.code === 'bucket_damaged' && this.#oracle.damaged.size > 0)
        return
      if (error !== null) return this.#oracle.fail(`a run without faults ended: ${error}`)
    }
    this.#oracle.checkNamed()
  }

  /** A run without faults after this time. Returns its error, null for none; undefined if it does not end. */
  async #playLast(name: string, afterMs: number): Promise<unknown> {
    const { schedule } = this.#options
    this.#isEnding = true
    await this.#pass(afterMs)
    let error: unknown
    const work = { requests: 1, snapshots: false, cleansUp: true }
    this.#play(this.#place(name), { killAt: null, pause: null }, work, 0, (thrown) => {
      error = thrown
    })
    await schedule.drive(() => error !== undefined, schedule.nowMs + HOUR_MS)
    return error
  }

  /** Requests that are still under way arrive meanwhile. */
  async #pass(ms: number): Promise<void> {
    let isOver = false
    this.#options.schedule.after(ms, () => {
      isOver = true
    })
    await this.#options.schedule.drive(() => isOver, END_MS * 2)
  }
}

const HOWS = ['REMOVED', 'CUT', 'CHANGED'] as const

/** A changed object has its size and another byte in the middle. */
const damaged = (body: Buffer, how: (typeof HOWS)[number]): Buffer => {
  const half = Math.floor(body.length / 2)
  return how === 'CUT'
    ? body.subarray(0, half)
    : Buffer.concat([body.subarray(0, half), Buffer.from('?'), body.subarray(half + 1)])
}

/** The last one comes after everything old may be removed, and every damaged manifest is too old to be named. */
const LAST_RUNS = 5
