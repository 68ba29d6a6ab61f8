/** What another user of the machine can do beside our files: lock them, or put links under the names that we are about to write. */
import { execFile } from 'node:child_process'
import { chmod, mkdir, readdir, readFile, stat, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { scriptedSurveys } from '../support/api/scripted-api.js'
import { MAIN } from '../support/command/command.js'
import { openTrial } from '../support/command/trial.js'

/** The ids that the next processes of this machine get. */
const NEXT_IDS = 2_000

test('a link under a name that a command may write next is not followed', async (context) => {
  const { onTestFinished } = context
  const trial = await openTrial({ onTestFinished }, scriptedSurveys(1))
  expect((await trial.sync()).code).toBe(0)
  const place = await trial.temporary()
  const victim = join(place, 'victim')
  const outputs = ['report.html', 'rows.csv', 'rows.xlsx', 'rows.parquet'] as const
  await writeFile(victim, 'untouched')
  for (let id = process.pid; id < process.pid + NEXT_IDS; id += 1)
    for (const name of outputs) await symlink(victim, join(place, `.${name}.${id}.publishing`))
  const planted = (await readdir(place)).length
  expect((await trial.run(['report', '--out', join(place, 'report.html')])).code).toBe(0)
  for (const name of outputs.slice(1)) {
    const [, format = ''] = name.split('.')
    const args = ['query', 'FROM surveys', '--format', format, '--output', join(place, name)]
    expect([name, await trial.run(args)]).toMatchObject([name, { code: 0 }])
  }
  expect(await readFile(victim, 'utf8')).toBe('untouched')
  for (const name of outputs) expect((await stat(join(place, name))).size).toBeGreaterThan(0)
  expect(await readdir(place)).toHaveLength(planted + outputs.length)
})

test('an export leaves what is not its own', async ({ onTestFinished }) => {
  const trial = await openTrial({ onTestFinished }, scriptedSurveys(1))
  expect((await trial.sync()).code).toBe(0)
  const place = await trial.temporary()
  const kept = join(place, '.out.999999999.exporting')
  await mkdir(kept)
  const out = join(place, 'out')
  expect(await trial.run(['export', '--format', 'csv', '--out', out])).toMatchObject({ code: 0 })
  expect(await readdir(place)).toEqual(['.out.999999999.exporting', 'out'])
})

test('work database and request ledgers are for their user alone, published files for all', async (context) => {
  const { onTestFinished } = context
  const trial = await openTrial({ onTestFinished }, scriptedSurveys(1))
  const env = { ...trial.api.env, FIELDWORK_SYNC_WAREHOUSE: trial.warehouse, PATH: process.env.PATH }
  const sync = () =>
    promisify(execFile)(
      'sh',
      [
        '-c',
        'umask 000 && exec "$@"',
        'sh',
        process.execPath,
        MAIN,
        'sync',
        '--publish',
        'duckdb,parquet,report',
      ],
      { env },
    )
  const modes = async () => {
    const names = (await readdir(trial.warehouse)).filter((name) => /^(?:work|sent-requests)/.test(name))
    const found = await Promise.all(names.map((name) => stat(join(trial.warehouse, name))))
    return new Set(found.map(({ mode }) => (mode & 0o777).toString(8)))
  }
  await sync()
  expect(await modes()).toEqual(new Set(['600']))
  for (const name of await readdir(trial.warehouse))
    if (/^(?:work|sent-requests)/.test(name)) await chmod(join(trial.warehouse, name), 0o666)
  await sync()
  expect(await modes()).toEqual(new Set(['600']))
  for (const name of ['fieldwork.duckdb', 'report.html', 'parquet/current/manifest.json'])
    expect([name, (await stat(join(trial.warehouse, name))).mode & 0o444]).toEqual([name, 0o444])
})
