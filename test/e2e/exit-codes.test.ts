/** Every exit code of the command, with its run record, its output, and the published data. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { describe, expect, test } from 'vitest'
import { type Hook, refusing, type ScriptedApi, scriptedSurvey } from '../support/api/scripted-api.js'
import { type Ended, MAIN } from '../support/command/command.js'
import { otherBuild } from '../support/command/mutant.js'
import { gate, lastLine, openTrial, type Trial } from '../support/command/trial.js'
import { freePort } from '../support/servers/server.js'
import { SLOW, slow } from '../support/suite/slow.js'
import { query } from '../support/warehouse/duckdb.js'

const ids = async (trial: Trial): Promise<unknown[]> =>
  (await query(trial.published, 'SELECT id FROM surveys ORDER BY id')).map(({ id }) => id)

/** Parses stdout, which must be one JSON document. */
const json = ({ stdout }: Ended): unknown => JSON.parse(stdout)

test.concurrent('0: a sync without leftovers is complete', async (context) => {
  const trial = await openTrial(context, [scriptedSurvey(1)])
  const ended = await trial.runWarm(['sync'])
  expect(ended).toMatchObject({ code: 0, signal: null })
  expect(lastLine(ended)).toMatch(/^complete: 1 survey refreshed/)
  expect(await trial.runs()).toEqual([{ status: 'complete', exit_code: 0, reason: null }])
})

test.concurrent('1: a bug is reported with its stack and recorded, and the next run is complete', async (context) => {
  const trial = await openTrial(context, [scriptedSurvey(1)])
  const broken = await otherBuild(
    context.onTestFinished,
    'sync/planning.js',
    `export const planOf = async () => null\nexport const queueDue = async ({ warehouse }) => { throw new TypeError('no such thing as ' + warehouse.account) }\n`,
  )
  const ended = await trial.run(['sync', '--json'], {}, broken)
  expect(ended.code).toBe(1)
  expect(ended.stderr).toMatch(
    /this is a bug in fieldwork-sync, please report it: TypeError: no such thing as default\n\s+at queueDue/,
  )
  expect(json(ended)).toEqual({ error: { code: 'bug', message: 'no such thing as default', exit_code: 1 } })
  expect(await trial.runs('work.duckdb')).toEqual([
    { status: 'failed', exit_code: 1, reason: 'a bug: no such thing as default' },
  ])
  expect(await trial.runWarm(['sync'])).toMatchObject({ code: 0 })
  expect((await trial.runs()).map(({ status, exit_code }) => [status, exit_code])).toEqual([
    ['failed', 1],
    ['complete', 0],
  ])
})

test.concurrent('2: wrong settings are refused before any request and any write', async (context) => {
  const trial = await openTrial(context, [scriptedSurvey(1)])
  const ended = await trial.run(['sync', '--json', '--max-requests', '0'])
  expect(ended.code).toBe(2)
  expect(ended.stderr).toContain('--max-requests: must be a whole number from 1')
  expect(json(ended)).toMatchObject({ error: { code: 'settings_invalid', exit_code: 2 } })
  expect(trial.api.arrivals).toHaveLength(0)
  await expect(trial.runs('work.duckdb')).rejects.toThrow()
})

slow.concurrent('3: a budget ends the run as partial, and the next run does the rest', async (context) => {
  const trial = await openTrial(context, [scriptedSurvey(1), scriptedSurvey(2), scriptedSurvey(3)])
  const ended = await trial.run(['sync', '--max-requests', '6'])
  expect(ended.code).toBe(3)
  expect(lastLine(ended)).toMatch(/^partial \(exit 3\): stopped by --max-requests 6; 2 surveys are queued/)
  expect(trial.api.arrivals.length).toBeLessThanOrEqual(6)
  expect(await ids(trial)).toEqual([1, 2, 3])
  const rest = await trial.runWarm(['sync', '--json'])
  expect(json(rest)).toMatchObject({ status: 'complete', exit_code: 0 })
  expect((await trial.runs()).map(({ status, exit_code }) => [status, exit_code])).toEqual([
    ['partial', 3],
    ['complete', 0],
  ])
})

interface Refusal {
  readonly when: string
  readonly hook: (api: ScriptedApi) => Hook
  readonly says: RegExp
  readonly arrivals: number
  readonly limits?: object
  readonly env?: Record<string, string>
  /** Only `npm run test:slow` runs it; test/unit/http has all of them. */
  readonly slow?: true
}

const FAST = { attempts: 2, backoff_base: '1ms', backoff_max: '1ms' }

const REFUSALS: readonly Refusal[] = [
  { when: '401', hook: (api) => refusing(api, 401), says: /refused the credentials \(401\)/, arrivals: 2 },
  {
    when: '500 at every attempt',
    slow: true,
    hook: (api) => refusing(api, 500),
    says: /gave up on .* after 2 attempts: .* 500/,
    arrivals: 2,
    limits: FAST,
  },
  {
    when: '429 at every attempt, five pauses long',
    hook: (api) => refusing(api, 429),
    says: /answered 429 \(too many requests\) for account 'default' 5 times in a row/,
    arrivals: 5,
    env: { FIELDWORK_SYNC_RATE_LIMIT: '60/100ms' },
  },
  {
    when: 'HTML instead of JSON',
    slow: true,
    hook: () => (_, response) => {
      response.writeHead(200, { 'content-type': 'text/html' }).end('<html>sign in</html>')
      return true
    },
    says: /not valid JSON: it begins with <html>/,
    arrivals: 2,
    limits: FAST,
  },
  {
    when: 'a request that is never answered',
    slow: true,
    hook: () => () => true,
    says: /gave no complete answer within 0.2 s/,
    arrivals: 2,
    limits: { ...FAST, request_timeout: '200ms' },
  },
]

describe('4: the API refuses or stays unreachable', () => {
  test.concurrent.for(REFUSALS.filter(({ slow }) => SLOW || slow !== true))(
    '$when',
    async ({ hook, says, arrivals, limits = {}, env = {} }, context) => {
      const trial = await openTrial(context, [scriptedSurvey(1)])
      trial.api.hook = hook(trial.api)
      const ended = await trial.runWarm(['sync', ...(await trial.settings({ limits }))], env)
      expect(ended.code).toBe(4)
      expect(lastLine(ended)).toMatch(/^failed \(exit 4\): /)
      expect(lastLine(ended)).toMatch(says)
      expect(trial.api.arrivals).toHaveLength(arrivals)
      expect(await trial.runs()).toEqual([
        { status: 'failed', exit_code: 4, reason: expect.stringMatching(says) },
      ])
    },
  )

  test.concurrent('a redirect, which the credentials do not follow', async (context) => {
    const trial = await openTrial(context, [scriptedSurvey(1)])
    let redirected = 0
    const elsewhere = createServer((_, response) => {
      redirected += 1
      response.end('{}')
    })
    await new Promise<void>((resolve) => elsewhere.listen(0, '127.0.0.1', resolve))
    context.onTestFinished(() => void elsewhere.close())
    const location = `http://127.0.0.1:${(elsewhere.address() as AddressInfo).port}/api/v1/surveys`
    trial.api.hook = refusing(trial.api, 302, undefined, { location })
    const ended = await trial.runWarm(['sync', '--json'])
    expect(ended.code).toBe(4)
    expect(json(ended)).toMatchObject({ status: 'failed', exit_code: 4 })
    expect(ended.stdout).toMatch(/the API redirects \(302\) .*, but credentials are sent only to base_url/)
    expect([trial.api.arrivals.length, redirected]).toEqual([2, 0])
  })

  test.concurrent('no server at the address', async (context) => {
    const trial = await openTrial(context)
    const port = await freePort()
    const ended = await trial.run(['sync', ...(await trial.settings({ limits: FAST }))], {
      FIELDWORK_SYNC_BASE_URL: `http://127.0.0.1:${port}/api/v1`,
    })
    expect(ended.code).toBe(4)
    expect(lastLine(ended)).toMatch(/^failed \(exit 4\): .*connection refused \(ECONNREFUSED\)/)
  })

  test.concurrent('five surveys in a row fail: rows that were read stay, and the next run continues', async (context) => {
    const surveys = Array.from({ length: 12 }, (_, index) => scriptedSurvey(index + 1))
    const trial = await openTrial(context, surveys)
    trial.api.hook = refusing(trial.api, 400, ({ path }) => path !== '/surveys')
    const ended = await trial.runWarm(['sync'])
    expect(ended.code).toBe(4)
    expect(lastLine(ended)).toMatch(
      /^failed \(exit 4\): 5 surveys failed one after the other, the last with: .*\(400\)/,
    )
    expect(await ids(trial)).toHaveLength(12)
    trial.api.hook = () => false
    expect(await trial.runWarm(['sync'])).toMatchObject({ code: 0 })
    expect((await trial.runs()).map(({ status, exit_code }) => [status, exit_code])).toEqual([
      ['failed', 4],
      ['complete', 0],
    ])
    expect(await query(trial.published, 'SELECT count(*) AS n FROM survey_progress')).toEqual([{ n: 12 }])
  })
})

describe('5: problems with the data', () => {
  test.concurrent('a row that cannot be typed is quarantined, and all others are stored', async (context) => {
    const trial = await openTrial(context, [scriptedSurvey(1), scriptedSurvey(2, { title: 7 })])
    const ended = await trial.runWarm(['sync'])
    expect(ended.code).toBe(5)
    expect(lastLine(ended)).toMatch(/^failed \(exit 5\): 1 row could not be typed/)
    expect(await ids(trial)).toEqual([1])
    expect(await query(trial.published, `SELECT raw->>'title' AS title FROM _sync.rejected_rows`)).toEqual([
      { title: '7' },
    ])
    expect(await trial.runs()).toMatchObject([{ status: 'failed', exit_code: 5 }])
  })
})

test.concurrent('6: a second sync names the first and does not disturb it', async (context) => {
  const trial = await openTrial(context, [scriptedSurvey(1)])
  const release = gate<boolean>()
  const arrived = trial.api.arrived(() => true)
  trial.api.hook = () => release.opened
  const first = trial.start(['sync'])
  await arrived
  const second = await trial.runWarm(['sync', '--json'])
  expect(second.code).toBe(6)
  expect(second.stderr).toMatch(
    new RegExp(`is held by "fieldwork-sync sync", process ${first.child.pid} on `),
  )
  expect(json(second)).toMatchObject({ error: { code: 'warehouse_is_held', exit_code: 6 } })
  expect(trial.api.arrivals).toHaveLength(1)
  release.open(false)
  expect(await first.ended).toMatchObject({ code: 0 })
  expect(await trial.runs()).toMatchObject([{ status: 'complete', exit_code: 0 }])
})

test.concurrent('7: a warehouse that cannot be written ends the run before any request', async (context) => {
  const trial = await openTrial(context, [scriptedSurvey(1)])
  await writeFile(trial.warehouse, 'mine')
  const ended = await trial.runWarm(['sync', '--json'])
  expect(ended.code).toBe(7)
  expect(json(ended)).toMatchObject({ error: { code: 'warehouse_unusable', exit_code: 7 } })
  expect(trial.api.arrivals).toHaveLength(0)
})

const LIMITS = [
  [
    'DuckDB cannot be loaded',
    1_000_000,
    /^fieldwork-sync: .*libduckdb.*\. The address space of the process is limited to 1\.0 GiB/m,
  ],
  [
    'no answer can be parsed',
    4_000_000,
    /^fieldwork-sync: .*Wasm memory.*\. The address space of the process is limited to 3\.8 GiB/m,
  ],
] as const

test.concurrent.for(SLOW ? LIMITS : LIMITS.slice(0, 1))(
  '7: %s within a limit of address space, which is named',
  async ([, kib, message], context) => {
    const trial = await openTrial(context, [scriptedSurvey(1)])
    const env = { PATH: process.env.PATH, ...trial.api.env, FIELDWORK_SYNC_WAREHOUSE: trial.warehouse }
    const script = `ulimit -v ${kib} && exec "$0" "$1" sync`
    const child = spawn('sh', ['-c', script, process.execPath, MAIN], {
      env,
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    const stderr = await text(child.stderr)
    expect(stderr).toMatch(message)
    expect(stderr).not.toMatch(/please report|^ +at /m)
    expect(child.exitCode ?? (await once(child, 'close'))[0]).toBe(7)
  },
)
