/** Exit codes of the command, with the run record, the output, and the published data. usage has 2, check-and-status 6. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { expect, test } from 'vitest'
import { scriptedSurvey, TOKEN } from '../support/api/scripted-api.js'
import { MAIN } from '../support/command/command.js'
import { otherBuild } from '../support/command/mutant.js'
import { openTrial } from '../support/command/trial.js'

test.concurrent.for([
  [1_060_000, /^fieldwork-sync: .*libduckdb.*\. The address space of the process is limited to 1\.0 GiB/m],
  [1_150_000, /^fieldwork-sync: .*Wasm memory.*\. The address space of the process is limited to 1\.1 GiB/m],
] as const)(
  '7: DuckDB, or the HTTP client, cannot be loaded within %d KiB of addresses',
  async ([limit, message], context) => {
    const trial = await openTrial(context, [scriptedSurvey(1)])
    const env = { PATH: process.env.PATH, ...trial.api.env, FIELDWORK_SYNC_WAREHOUSE: trial.warehouse }
    const script = `ulimit -v ${limit} && exec "$0" "$1" sync`
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

test.concurrent('1: a bug is reported with its stack, without the token, and recorded, and the next run is complete', async (context) => {
  const trial = await openTrial(context, [scriptedSurvey(1)])
  const broken = await otherBuild(
    context.onTestFinished,
    'sync/planning.js',
    `export const planOf = async () => null\nexport const expectServerTime = null\nexport const queueDue = async ({ warehouse }) => { throw new TypeError('no such thing as ' + warehouse.account + process.env.FIELDWORK_SYNC_API_TOKEN) }\n`,
  )
  const ended = await trial.run(['sync', '--json', '--log-level', 'debug'], {}, broken)
  expect(ended.code).toBe(1)
  expect(ended.stderr).toMatch(
    /this is a bug in fieldwork-sync, please report it: TypeError: no such thing as default\[redacted\]\n\s+at queueDue/,
  )
  expect(JSON.parse(ended.stdout)).toEqual({
    error: { code: 'bug', message: 'no such thing as default[redacted]', exit_code: 1 },
  })
  expect(`${ended.stdout}${ended.stderr}`).not.toContain(TOKEN)
  expect(await trial.runs('work.duckdb')).toEqual([
    { status: 'failed', exit_code: 1, reason: 'a bug: no such thing as default[redacted]' },
  ])
  expect(await trial.runWarm(['sync'])).toMatchObject({ code: 0 })
  expect((await trial.runs()).map(({ status, exit_code }) => [status, exit_code])).toEqual([
    ['failed', 1],
    ['complete', 0],
  ])
})
