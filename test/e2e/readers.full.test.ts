/** Readers in other processes never fail, never see half a run, and never block a sync. */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readdir } from 'node:fs/promises'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { scriptedProgress, scriptedSurveys } from '../support/api/scripted-api.js'
import { openTrial, type Trial } from '../support/command/trial.js'
import { lacks } from '../support/suite/lacks.js'

const SURVEY_IDS = [1, 2, 3, 4, 5, 6]

/** One line of a reader's output. */
interface Look {
  /** The generations found in each survey's rows. A consistent survey has one. */
  readonly surveys?: Readonly<Record<string, readonly string[]>>
  readonly run?: string
  readonly looks?: number
  readonly failed?: string
}

/** Moves title, sources and progress of every survey to a generation at the same time. */
const toGeneration = ({ api }: Trial, generation: number): void => {
  api.now = new Date(Date.UTC(2026, 2, generation))
  for (const scripted of api.surveys) {
    const title = `generation ${generation}`
    Object.assign(scripted.survey, { title, updated_at: api.now.toISOString() })
    for (const source of scripted.sources) Object.assign(source, { name: title })
    scripted.progress = scriptedProgress(generation)
  }
}

const startReader = (command: string, args: readonly string[]) => {
  const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'inherit'] })
  onTestFinished(() => {
    child.kill('SIGKILL')
  })
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const ended = once(child, 'close')
  const seen: Look[] = []
  const next = async (): Promise<Look> => {
    const { done, value } = await lines.next()
    if (done === true) throw new Error(`${command} ${args[0]} ended after ${JSON.stringify(seen.at(-1))}`)
    const look: Look = JSON.parse(value)
    seen.push(look)
    return look
  }
  return {
    seen,
    next,
    /** Reads lines until one shows this run as the last. */
    untilRun: async (runId: string): Promise<Look> => {
      for (;;) {
        const look = await next()
        if (look.run?.startsWith(runId)) return look
        if (look.failed !== undefined) throw new Error(look.failed)
      }
    },
    lookAgain: (): Promise<Look> => {
      child.stdin.write('\n')
      return next()
    },
    /** Ends the reader's input and returns its exit code. */
    end: async (): Promise<unknown> => {
      child.stdin.end()
      const [code] = await ended
      return code
    },
  }
}

const nodeReader = (mode: 'hold' | 'loop', file: string) =>
  startReader(process.execPath, [fileURLToPath(new URL('fixtures/reader.mjs', import.meta.url)), mode, file])

const whole = (generation: number) =>
  Object.fromEntries(SURVEY_IDS.map((id) => [id, [`generation ${generation}`]]))

/** A trial after a sync of the first generation. */
const startGenerations = async (context: Parameters<typeof openTrial>[0]): Promise<Trial> => {
  const trial = await openTrial(context, scriptedSurveys(SURVEY_IDS.length))
  toGeneration(trial, 1)
  expect(await trial.runWarm(['sync'])).toMatchObject({ code: 0 })
  return trial
}

test('readers that hold the file or keep opening it see only whole surveys of finished runs during publishes', async (context) => {
  const trial = await startGenerations(context)
  const { warehouse, published: file } = trial
  const holder = nodeReader('hold', file)
  const opener = nodeReader('loop', file)
  expect((await holder.next()).surveys).toEqual(whole(1))
  expect((await opener.next()).surveys).toEqual(whole(1))

  // A run stops half way: different surveys have different generations, but each survey has one. The next run does the rest.
  for (const [generation, args, code] of [
    [2, ['--max-requests', '12'], 3],
    [3, [], 0],
  ] as const) {
    toGeneration(trial, generation)
    const ended = await trial.sync(args)
    expect(ended).toMatchObject({ code })
    expect(ended.run.surveys_refreshed).toBeGreaterThan(0)
    await opener.untilRun(ended.run.run_id)
    expect((await holder.lookAgain()).surveys).toEqual(whole(1))
  }
  expect(await holder.end()).toBe(0)
  expect(await opener.end()).toBe(0)

  while (opener.seen.at(-1)?.looks === undefined) await opener.next()
  expect(opener.seen.pop()?.looks).toBeGreaterThanOrEqual(3)
  expect(opener.seen).toHaveLength(3)
  for (const { surveys = {}, run } of opener.seen) {
    expect(Object.keys(surveys).map(Number)).toEqual(SURVEY_IDS)
    expect(Object.values(surveys).filter((generations) => generations.length !== 1)).toEqual([])
    expect(run).toMatch(/ (complete|partial)$/)
  }
  const generationCounts = opener.seen.map(({ surveys }) => new Set(Object.values(surveys ?? {}).flat()).size)
  expect(generationCounts[1]).toBe(2)
  expect(opener.seen.at(-1)?.surveys).toEqual(whole(3))
  expect((await readdir(warehouse)).filter((name) => name.includes('fieldwork.duckdb'))).toEqual([
    'fieldwork.duckdb',
  ])
  await trial.expectSound()
})

const pythonHasDuckdb = spawnSync('python3', ['-c', 'import duckdb']).status === 0

const pythonReader = (file: string) =>
  startReader('python3', [fileURLToPath(new URL('fixtures/reader.py', import.meta.url)), file])

const OPENS = 200

test(`a reader that opens the file at least ${OPENS} times during syncs never fails and never sees a mixture`, async (context) => {
  const trial = await startGenerations(context)
  const { published: file } = trial
  const holders = [nodeReader('hold', file)]
  for (const holder of holders) expect((await holder.next()).surveys).toEqual(whole(1))
  const openers = [nodeReader('loop', file)]
  let publishes = 0
  for (let generation = 2; generation <= 10; generation += 1) {
    toGeneration(trial, generation)
    const args = generation % 3 === 0 ? [] : ['--max-requests', '12']
    expect((await trial.run(['sync', ...args])).code).toBe(args.length === 0 ? 0 : 3)
    publishes += 1
    for (const holder of holders) expect((await holder.lookAgain()).surveys).toEqual(whole(1))
  }
  for (const reader of [...holders, ...openers]) expect(await reader.end()).toBe(0)
  let opens = 0
  for (const opener of openers) {
    while (opener.seen.at(-1)?.looks === undefined) await opener.next()
    opens += opener.seen.pop()?.looks ?? 0
    expect(opener.seen.length).toBeGreaterThan(1)
    for (const { surveys = {}, run } of opener.seen) {
      expect(Object.keys(surveys).map(Number)).toEqual(SURVEY_IDS)
      expect(Object.values(surveys).filter((generations) => generations.length !== 1)).toEqual([])
      expect(run).toMatch(/ (complete|partial)$/)
    }
  }
  console.info(`readers: ${opens} opens during ${publishes} publishes, ${holders.length} held throughout`)
  expect(opens).toBeGreaterThanOrEqual(OPENS)
  await trial.expectSound()
})

test.skipIf(lacks('duckdb of python3', pythonHasDuckdb))(
  'a Python reader holds the file through three publishes',
  async (context) => {
    const trial = await startGenerations(context)
    const holder = pythonReader(trial.published)
    expect((await holder.next()).surveys).toEqual(whole(1))
    for (const generation of [2, 3, 4]) {
      toGeneration(trial, generation)
      expect(await trial.run(['sync'])).toMatchObject({ code: 0 })
      expect((await holder.lookAgain()).surveys).toEqual(whole(1))
    }
    expect(await holder.end()).toBe(0)
    const successor = nodeReader('hold', trial.published)
    expect((await successor.next()).surveys).toEqual(whole(4))
    expect(await successor.end()).toBe(0)
  },
)
