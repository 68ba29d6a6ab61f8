/** What others wrote reaches a terminal as text: no title, no error of a server and no file name moves its cursor or shows another text. */
import { writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { refusing, scriptedSurveys } from '../support/api/scripted-api.js'
import { MAIN } from '../support/command/command.js'
import { openSynced, openTrial } from '../support/command/trial.js'
import { openTerminal, screenOf } from '../support/process/terminal.mjs'
import { openBucketTrial } from '../support/storage/bucket-trial.js'
import { lacks } from '../support/suite/lacks.js'

/** A title of the window, a colour by C1, DEL, the direction, no width, a line separator, and a tag of Unicode. */
const HOSTILE = 'a\u001b]0;owned\u0007b\u009b31mc\u007fd\u202ee\u200bf\u2028g\u{e0041}h\ri'

/** Apart from line breaks. */
const HIDDEN = /(?!\n)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u

test('in errors: of a path, of an S3 server, of a Redis and of a lease', async (context) => {
  const trial = await openBucketTrial(context, scriptedSurveys(1))
  const place = await trial.temporary()
  const absent = join(place, HOSTILE)
  const gone = await trial.run(['status', '--warehouse', absent], { FIELDWORK_SYNC_CONFIG: undefined })
  expect(gone.stderr).toContain('a\\u001b]0;owned\\u0007b\\u009b31mc\\u007fd\\u202ee\\u200bf\\u2028g')
  const json = await trial.run(['status', '--json', '--warehouse', absent], {
    FIELDWORK_SYNC_CONFIG: undefined,
  })
  expect(json.stdout).not.toMatch(HIDDEN)
  expect(JSON.parse(json.stdout).error.message).toContain(absent)

  trial.fault = () => ({ kind: 'refused', status: 400, code: `Bad${HOSTILE}` })
  const refused = await trial.run(['status'], await trial.pod())

  trial.fault = () => null
  const pod = await trial.pod()
  expect((await trial.run(['sync'], pod)).code).toBe(0)
  const lease = trial.document('lease.json')
  const holder = { ...Object(lease.holder), host: HOSTILE, command: HOSTILE }
  const held = (token: string) => JSON.stringify({ ...lease, state: 'held', token, holder })
  trial.s3.store.write('fieldwork/lease.json', held('one'))
  let looks = 0
  trial.fault = ({ verb, key }) => {
    if (verb === 'get' && key.endsWith('lease.json')) {
      looks += 1
      trial.s3.store.write('fieldwork/lease.json', held(`look ${looks}`))
    }
    return null
  }
  const beside = await trial.run(['sync'], await trial.pod())
  expect(beside.stderr).toContain('owned')

  const redis = createServer((socket) => {
    socket
      .on('error', () => undefined)
      .on('data', () => socket.write(`-ERR ${HOSTILE.replace('\r', '')}\r\n`))
  }).listen(0, '127.0.0.1')
  context.onTestFinished(() => {
    redis.close()
  })
  const address = redis.address()
  const port = typeof address === 'object' ? address?.port : 0
  const file = join(place, 'settings.json')
  const {
    FIELDWORK_SYNC_BASE_URL: base_url,
    FIELDWORK_SYNC_API_ID: id,
    FIELDWORK_SYNC_API_TOKEN: token,
  } = trial.api.env
  const account = {
    name: 'acme',
    base_url,
    id: Number(id),
    token,
    shared_rate: { redis: `redis://127.0.0.1:${port}` },
  }
  await writeFile(file, JSON.stringify({ accounts: [account], warehouse: { directory: join(place, 'w') } }))
  const wrong = await trial.run(['sync', '--config', file], { FIELDWORK_SYNC_WAREHOUSE: undefined })

  for (const ended of [gone, refused, beside, wrong]) {
    expect(ended.code).not.toBe(0)
    expect(ended.stderr).not.toMatch(HIDDEN)
    expect(ended.stdout).not.toMatch(HIDDEN)
  }
})

const ESCAPE = '\u001b'

const OURS = new RegExp(`\\r\\n|\\r${ESCAPE}\\[K|${ESCAPE}\\[(?:0|\\d\\d)m`, 'g')

const onTerminal = test.skipIf(lacks('script') || lacks('bash'))

onTerminal('on a terminal, in tables, JSON and CSV; a pipe gets the CSV as it is', async (context) => {
  const trial = await openTrial(context, scriptedSurveys(1, { title: HOSTILE, status: HOSTILE }))
  expect((await trial.run(['sync'])).code).toBe(0)
  const csv = ['query', 'SELECT title FROM surveys', '--format', 'csv']
  expect((await trial.run(csv)).stdout).toContain(HOSTILE)
  await using terminal = await openTerminal({
    cwd: await trial.temporary(),
    env: { PATH: process.env.PATH, ...trial.api.env, FIELDWORK_SYNC_WAREHOUSE: trial.warehouse },
  })
  const lines = [
    `query 'SELECT title FROM surveys' --format csv`,
    `query 'SELECT title FROM surveys' --format json`,
    `query 'SELECT title FROM surveys' --format markdown`,
    `query 'SELECT title FROM surveys'`,
    `query "SELECT error((SELECT title FROM surveys))"`,
    `status`,
    `status --json`,
    `status --survey 1`,
    `plan`,
    `sync --surveys 1`,
    `report --json --out $'x\\e[31m\\u202e.html'`,
  ]
  for (const line of lines) {
    const shown = await terminal.run(`${process.execPath} ${MAIN} ${line}`)
    // The terminal ends lines with CR and LF. The rest is ours: the colours of verdicts and log, and the bar.
    const text = shown.replaceAll(OURS, '\n')
    expect([line, text]).toEqual([line, expect.not.stringMatching(HIDDEN)])
    expect([line, shown]).toEqual([line, expect.not.stringContaining('\u001b[31mowned')])
  }
})

onTerminal('a table is as wide as the terminal', async (context) => {
  const trial = await openSynced(context, scriptedSurveys(1))
  await using terminal = await openTerminal({
    cwd: trial.warehouse,
    columns: 200,
    env: { PATH: process.env.PATH, FIELDWORK_SYNC_WAREHOUSE: trial.warehouse },
  })
  const wide = await terminal.run(`${process.execPath} ${MAIN} query "FROM needs_action"`)
  expect(wide).toMatch(/account .* numbers .*sample_source_id/)
})

onTerminal('a bad verdict is red, and without colours where NO_COLOR is set', async (context) => {
  const trial = await openTrial(context, scriptedSurveys(1))
  trial.api.hook = refusing(trial.api, 401)
  expect(await trial.runWarm(['sync'])).toMatchObject({ code: 4 })
  await using terminal = await openTerminal({
    cwd: await trial.temporary(),
    env: { PATH: process.env.PATH, FIELDWORK_SYNC_WAREHOUSE: trial.warehouse },
  })
  const styleOf = async (environment: string) => {
    const [verdict] = screenOf(await terminal.run(`${environment} node ${MAIN} status --check`))
    expect(verdict?.[0]?.text).toMatch(/^FAILED/)
    return verdict?.[0]?.style
  }
  expect([await styleOf(''), await styleOf('NO_COLOR=1')]).toEqual([[31], []])
})
