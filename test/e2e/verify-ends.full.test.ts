/** How `verify` ends: with whatever it could show until then, and with an exit code for each cause. */
import { chmod, readFile, rm, writeFile } from 'node:fs/promises'
import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import {
  refusing,
  type ScriptedSurvey,
  scriptedProgress,
  scriptedSurvey,
  scriptedSurveys,
  sendJson,
} from '../support/api/scripted-api.js'
import { lastLine, openSynced, openTrial, stopWith, type Trial } from '../support/command/trial.js'
import { mountReadOnly } from '../support/files/disk.js'
import { atEndOfFile } from '../support/files/temporary.js'
import { failing } from '../support/process/failing-calls.js'
import { keysIn, openBucketTrial } from '../support/storage/bucket-trial.js'
import { type Chance, chance } from '../support/suite/chance.js'
import { lacks } from '../support/suite/lacks.js'
import { verifyJson } from './verify-ends-shared.js'

const surveys = () => scriptedSurveys(3, {}, 1)

/** Flips the highest bit of two words of a block that are not zero. Its checksum stays the same. */
const withTwoFlips = (file: Buffer, lots: Chance): Buffer => {
  const flipped = Buffer.from(file)
  const block = 12_288 + 262_144 * lots.below((file.length - 12_288) / 262_144)
  const words = new Set<number>()
  for (let attempt = 0; words.size < 2 && attempt < 10_000; attempt += 1) {
    const at = block + 8 * (1 + lots.below(262_144 / 8 - 1))
    if (file.readBigUInt64LE(at) !== 0n) words.add(at)
  }
  if (words.size === 2) for (const at of words) flipped[at + 7] = (flipped[at + 7] ?? 0) ^ 0x80
  return flipped
}

describe('after a sync', () => {
  let synced: Trial
  beforeAll(async () => {
    synced = await openSynced({ onTestFinished: atEndOfFile }, surveys())
  })
  beforeEach(() => {
    synced.api.hook = () => false
  })

  test('a budget decides the size of the sample, unless it is given', async (context) => {
    const trial = await openSynced(context, surveys())
    const before = trial.api.arrivals.length
    const few = await verifyJson(trial, ['--max-requests', '3'])
    expect(few).toMatchObject({
      code: 3,
      json: { sample: { accounts: [{ compared: 0, stopped: 'stopped by --max-requests 3' }] } },
    })
    expect(trial.api.arrivals.length - before).toBe(3)
    const enough = await verifyJson(trial, ['--max-requests', '8'])
    expect(enough).toMatchObject({ code: 0, json: { sample: { accounts: [{ compared: 2, requests: 8 }] } } })
    const given = await verifyJson(trial, ['--max-requests', '8', '--sample', '3'])
    expect(given).toMatchObject({ code: 3, json: { sample: { accounts: [{ compared: 2, chosen: 3 }] } } })
  })

  test('a signal ends it with exit 3, and it prints what it has compared; another process waits outside meanwhile', async () => {
    const trial = synced
    const from = trial.api.arrivals.length
    trial.api.hook = ({ number }) => number > from + 4
    const running = trial.start(['verify', '--json'])
    await trial.api.arrived(({ number }) => number > from + 4)
    const other = await trial.runWarm(['verify', '--json'])
    expect(other).toMatchObject({ code: 6 })
    expect(other.stdout).toContain('warehouse_is_held')
    const ended = await stopWith(running, 'SIGINT')
    expect(ended.code, ended.stderr).toBe(3)
    expect(JSON.parse(ended.stdout)).toMatchObject({
      exit_code: 3,
      sample: { accounts: [{ compared: 1 }] },
    })
  })

  test('a survey that the API refuses is left out and named, and the rest is compared', async (context) => {
    const trial = await openSynced(context, surveys())
    trial.api.hook = ({ path }, response) => {
      if (path !== '/surveys/2/fieldwork_progress') return false
      sendJson(trial.api, response, 403, {})
      return true
    }
    const { code, json } = await verifyJson(trial)
    expect(code).toBe(3)
    expect(json.sample.accounts[0]).toMatchObject({
      compared: 2,
      unread: [{ survey_id: 2 }],
      stopped: null,
    })
  })

  test('without started_before no progress is proven wrong; gone surveys have moved', async (context) => {
    const trial = await openSynced(context, surveys())
    for (const survey of trial.api.surveys) survey.progress = scriptedProgress(25)
    trial.api.surveys.splice(0, 1)
    const { code, json } = await verifyJson(trial)
    expect(code).toBe(0)
    const [account] = json.sample.accounts
    expect(account.tables[0]).toMatchObject({ table: 'surveys', rows: 3, equal: 2, moved: 1 })
    expect(account.findings).toContainEqual(
      expect.objectContaining({ table: 'survey_progress', verdict: 'unclear' }),
    )
  })

  test.skipIf(lacks('gcc'))('a file at which DuckDB crashes is damaged, and verify survives', async () => {
    const trial = synced
    const crash = failing({ stop: { atCall: 5, below: trial.published, signal: 'SIGSEGV' } })
    const ended = await trial.run(['verify', '--local', '--json'], crash)
    expect(ended).toMatchObject({ code: 5, signal: null, stderr: '' })
    expect(JSON.parse(ended.stdout).local.problems).toMatchObject([
      { rule: 'state_can_be_read', example: 'DuckDB does not notice it, but reading ends by SIGSEGV' },
    ])
  })

  test('two equal flips in a block, which pass its checksum, never end verify by a signal', async (context) => {
    const trial = await openSynced(context, scriptedSurveys(30))
    const intact = await readFile(trial.published)
    const lots = chance(Number(process.env.CHAOS_SEED ?? 5))
    await chmod(trial.published, 0o644)
    const crashes: string[] = []
    for (let round = 0; round < 40; round += 1) {
      await writeFile(trial.published, withTwoFlips(intact, lots))
      const ended = await trial.run(['verify', '--local'])
      expect(ended.signal, `${lots.replay}, round ${round}`).toBeNull()
      expect([0, 5], `${lots.replay}, round ${round}\n${ended.stderr}`).toContain(ended.code)
      if (ended.stdout.includes('reading ends by SIG')) crashes.push(ended.stdout)
    }
    expect(crashes.length, lots.replay).toBeGreaterThan(0)
  })

  test('--local reads a directory that nobody may write', async (context) => {
    const trial = await openTrial(context, surveys())
    expect(await trial.runWarm(['sync', '--publish', 'duckdb,parquet'])).toMatchObject({ code: 0 })
    if (mountReadOnly(context, trial.warehouse) === null) return
    const ended = await trial.runWarm(['verify', '--local'], { FIELDWORK_SYNC_API_TOKEN: undefined })
    expect(ended, ended.stderr).toMatchObject({ code: 0, stderr: '' })
    expect(lastLine(ended)).toBe('verified: nothing wrong.')
  })

  test('a service that is away ends it with exit 4, one that refuses the token too; the local half is printed', async () => {
    const trial = synced
    const limits = await trial.settings({ limits: { attempts: 1 } })
    const away = await trial.runWarm(['verify', ...limits], {
      FIELDWORK_SYNC_BASE_URL: 'http://127.0.0.1:1/api/v1',
    })
    expect(away.code, away.stderr).toBe(4)
    expect(away.stdout).toMatch(/fieldwork\.duckdb: \d+ checks, nothing wrong\n/)
    expect(away.stdout).toContain('ECONNREFUSED')
    expect(lastLine(away)).toBe('not verified completely (exit 4): nothing wrong so far.')
    trial.api.hook = refusing(trial.api, 401)
    const refused = await trial.runWarm(['verify', ...limits])
    expect(refused.code).toBe(4)
    expect(refused.stdout).toContain('refused the credentials (401)')
  })
})

describe('a bucket', () => {
  const change = (
    trial: Awaited<ReturnType<typeof openBucketTrial>>,
    key: string,
    to: (body: Buffer) => Buffer,
  ) => {
    const { objects } = trial.s3.store
    const name = `fieldwork/${key}`
    const found = objects.get(name)
    if (found === undefined) throw new Error(`there is no ${name}`)
    objects.set(name, { ...found, body: to(found.body) })
    return () => objects.set(name, found)
  }

  test('its objects, its database and a sample are verified; damage is named', async (context) => {
    const trial = await openBucketTrial(context, surveys())
    const pod = await trial.pod()
    expect(await verifyJson(trial, [], pod)).toMatchObject({
      code: 2,
      json: { error: { code: 'nothing_published' } },
    })
    expect(
      await trial.runWarm(['sync', '--publish', 'duckdb,parquet', '--log-level', 'warn'], pod),
    ).toMatchObject({
      code: 0,
    })
    const good = await verifyJson(trial, ['--log-level', 'warn'], await trial.pod())
    expect(good, good.stderr).toMatchObject({
      code: 0,
      json: { local: { problems: [] }, sample: { accounts: [{ compared: 3 }] } },
    })

    const data = keysIn(trial).find((key) => key.startsWith('data/surveys/')) ?? ''
    const undo = change(trial, data, (body) => body.subarray(0, -1))
    const short = await verifyJson(trial, ['--local'], pod)
    expect(short).toMatchObject({
      code: 5,
      json: { local: { problems: [{ rule: 'objects_are_intact', example: data }] } },
    })
    undo()

    const database = String(trial.document('current.json').database)
    change(trial, database, (body) => {
      const other = Buffer.from(body)
      other.writeUInt8(other.readUInt8(20_000) ^ 1, 20_000)
      return other
    })
    const requests = trial.api.arrivals.length
    const damaged = await verifyJson(trial, ['--log-level', 'warn'], pod)
    expect(damaged, damaged.stderr).toMatchObject({
      code: 5,
      json: {
        local: { problems: [{ rule: 'objects_are_intact', example: `${database} has another checksum` }] },
      },
    })
    expect(trial.api.arrivals.length).toBe(requests)
    await rm(String(pod.FIELDWORK_SYNC_WAREHOUSE), { recursive: true })
  })
})

describe('what has changed since is no error', () => {
  /** A survey with two sources that was read on the second night, a day before the service is compared. */
  const readTwice = async (
    context: Parameters<typeof openTrial>[0],
    change: (one: ScriptedSurvey) => void,
  ) => {
    const one = scriptedSurvey(1, {}, 2)
    for (const source of one.sources) source.sample_size = 50
    one.progress.sample_size = 100
    one.sourceProgress = { 101: scriptedProgress(5), 102: scriptedProgress(5) }
    const trial = await openTrial(context, [one])
    const [first, second] = ['2026-03-02T00:00:00Z', '2026-03-03T00:00:00Z']
    trial.api.now = new Date(first)
    expect(await trial.runWarm(['sync'])).toMatchObject({ code: 0 })
    change(one)
    one.survey.updated_at = '2026-03-02T12:00:00Z'
    trial.api.now = new Date(second)
    expect(await trial.runWarm(['sync'])).toMatchObject({ code: 0 })
    trial.api.now = new Date('2026-03-04T00:00:00Z')
    return { trial, one }
  }
  const wrongIn = (json: { sample: { accounts: { tables: { wrong: number }[] }[] } }) =>
    json.sample.accounts.flatMap(({ tables }) => tables.map(({ wrong }) => wrong))

  test('a source that was removed comes back as it was', async (context) => {
    let removed: ScriptedSurvey['sources'] = []
    const { trial, one } = await readTwice(context, (survey) => {
      removed = survey.sources.splice(1)
      survey.progress.sample_size = 50
    })
    one.sources.push(...removed)
    one.progress.sample_size = 100
    const { code, json } = await verifyJson(trial)
    expect(wrongIn(json)).toEqual([0, 0, 0, 0])
    expect(code).toBe(0)
  })

  test('a target changes, and only the survey says so', async (context) => {
    const { trial, one } = await readTwice(context, () => undefined)
    for (const source of one.sources) source.sample_size = 60
    one.progress.sample_size = 120
    const changed = await verifyJson(trial)
    expect([changed.code, wrongIn(changed.json)]).toEqual([5, [0, 2, 1, 0]])
    one.survey.updated_at = '2026-03-03T12:00:00Z'
    const explained = await verifyJson(trial)
    expect([explained.code, wrongIn(explained.json)]).toEqual([0, [0, 0, 0, 0]])
  })
})

test('a field that the service gives no longer is reported once, and no row is wrong for it', async (context) => {
  const trial = await openSynced(context, scriptedSurveys(3, { status: 'complete', project_id: 'P1' }, 2))
  for (const one of trial.api.surveys) {
    one.survey.project_id = null
    one.progress = { ...one.progress, incidence_rate: undefined }
  }
  const { code, json } = await verifyJson(trial)
  expect(code).toBe(0)
  expect(json.sample.accounts[0]).toMatchObject({
    dropped_fields: [
      { resource: 'survey', field: 'project_id', rows: 3 },
      // Of three surveys and their six sources.
      { resource: 'fieldwork_progress', field: 'incidence_rate', rows: 9 },
    ],
    findings: expect.arrayContaining([
      expect.objectContaining({ verdict: 'moved', why: 'the API no longer gives a field that it has' }),
    ]),
  })
  const text = await trial.runWarm(['verify'])
  expect(text.stdout.match(/in no answer any more/g)).toHaveLength(2)
  expect(text.stdout).toContain(
    'default: the API gives fieldwork_progress.incidence_rate in no answer any more; 9 rows still have a value of before, until it changes',
  )
  expect(lastLine(text)).toBe('verified: nothing wrong.')
  // One answer that has it is enough to expect it of all.
  const [first] = trial.api.surveys
  if (first !== undefined) first.progress = { ...first.progress, incidence_rate: 1 }
  expect(await verifyJson(trial)).toMatchObject({ code: 5 })
})

test('what it advises reads the wrong rows again', async (context) => {
  const trial = await openSynced(context, scriptedSurveys(3, {}, 2))
  const [first] = trial.api.surveys
  if (first === undefined) throw new Error('no survey')
  // The sum of the survey does not show it, so no night reads it for a week, however it lists.
  first.sourceProgress[101] = scriptedProgress(11)
  trial.api.hook = (arrival, response) => {
    if (!(arrival.query.get('started_before') ?? '').startsWith('1970')) return false
    sendJson(trial.api, response, 200, { fieldwork_progress: scriptedProgress(0) })
    return true
  }
  expect(await trial.runWarm(['sync', '--full'])).toMatchObject({ code: 0 })
  const wrong = await trial.runWarm(['verify'])
  expect(wrong.code, wrong.stdout).toBe(5)
  const [, advised] = /sources and progress are read again by: fieldwork-sync (.*)\n/.exec(wrong.stdout) ?? []
  expect(advised).toBe('sync --surveys 1')
  expect(await trial.runWarm(advised?.split(' ') ?? [])).toMatchObject({ code: 0 })
  expect(await trial.runWarm(['verify'])).toMatchObject({ code: 0 })
})
