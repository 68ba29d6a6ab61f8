/** `query` shows rows of the published state in every format, fits 80 columns, and refuses whatever does more than read. */
import { execFile, spawnSync } from 'node:child_process'
import { promisify } from 'node:util'
import { beforeAll, expect, test } from 'vitest'
import { MAIN } from '../support/command/command.js'
import { openSynced, openTrial, type Trial } from '../support/command/trial.js'
import { atEndOfFile } from '../support/files/temporary.js'
import { openBucketTrial } from '../support/storage/bucket-trial.js'
import { LONG, SURVEYS } from './query-shared.js'

/** What is published is only read, so all tests ask the same. */
let trial: Trial
const onTestFinished = atEndOfFile()
beforeAll(async () => {
  trial = await openSynced({ onTestFinished }, SURVEYS())
})

const rowsOf = async (...args: readonly string[]) => {
  const ended = await trial.runWarm(['query', ...args])
  expect(ended, ended.stderr).toMatchObject({ code: 0, stderr: '' })
  return ended.stdout
}

test.concurrent('SQL comes from stdin or after a comment, and a reader that leaves ends it', async () => {
  const env = { PATH: process.env.PATH, FIELDWORK_SYNC_WAREHOUSE: trial.warehouse }
  const SQL = "-- a comment; with a semicolon\nSELECT ';' AS semicolon, 1 AS one; -- the end;"
  const shown = 'semicolon,one\n;,1\n'
  const piped = spawnSync(process.execPath, [MAIN, 'query', '-', '--format', 'csv'], {
    env,
    input: SQL,
    encoding: 'utf8',
  })
  expect(piped).toMatchObject({ status: 0, stdout: shown, stderr: '' })
  expect(await rowsOf('--format', 'csv', SQL)).toBe(shown)

  const head = await promisify(execFile)(
    'sh',
    ['-c', `"$0" "$1" query "$2" --format csv | head -2; exit 0`, process.execPath, MAIN, LONG],
    { env },
  )
  expect(head).toMatchObject({ stdout: expect.stringMatching(/^n,text\n0,\w+\n$/), stderr: '' })
})

test('the rows of published Parquet and of a bucket are those of the published file', async (context) => {
  const trial = await openTrial(context, SURVEYS())
  expect(await trial.runWarm(['sync', '--publish', 'duckdb,parquet'])).toMatchObject({ code: 0 })
  const parquet = await trial.settings({ publish: ['parquet'] })
  const bucket = await openBucketTrial(context, SURVEYS())
  const pod = await bucket.pod()
  expect(await bucket.runWarm(['sync'], pod)).toMatchObject({ code: 0 })
  for (const sql of ['surveys-today', 'SELECT id, title, status FROM surveys ORDER BY id']) {
    const [rows, ofParquet] = await Promise.all(
      [[], parquet].map(async (args) => (await trial.runWarm(['query', sql, '--json', ...args])).stdout),
    )
    expect(ofParquet).toBe(rows)
    expect(await bucket.runWarm(['query', sql, '--json'], pod)).toMatchObject({ code: 0, stdout: rows })
  }
  const refused = await trial.runWarm([
    'query',
    `FROM read_parquet('${trial.warehouse}/parquet/current/surveys/*/*/*')`,
    ...parquet,
  ])
  expect(refused).toMatchObject({ code: 2, stdout: '' })
})
