/**
 * Readers that open the published file for writing, as DuckDB does by default. Such a reader locks out all others.
 * The mode of the file forbids this to everybody but root, and a sync still replaces the file.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, chown, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { scriptedSurvey } from '../support/api/scripted-api.js'
import { type Ended, type Env, MAIN, withEndLine } from '../support/command/command.js'
import { openSynced, openTrial } from '../support/command/trial.js'
import { boundByModes, lacksUsers, type User } from '../support/process/users.js'
import { startReader } from './writing-readers-shared.js'

const modeOf = async (file: string): Promise<number> => (await stat(file)).mode & 0o777

test('a user without write permission can open the file only read-only, and a sync replaces it meanwhile', async (context) => {
  const trial = await openSynced(context, [scriptedSurvey(1)])
  await chmod(join(trial.warehouse, '..'), 0o755)
  const first = await stat(trial.published)
  expect(first.mode & 0o777).toBe(0o444 & ~process.umask())

  const writer = await startReader('write', trial.published, boundByModes)
  expect(writer.firstLine.failed).toContain('Permission denied')
  const reader = await startReader('hold', trial.published, boundByModes)
  expect(reader.firstLine).toHaveProperty('surveys')
  await reader.end()

  trial.api.surveys.push(scriptedSurvey(2))
  expect(await trial.runWarm(['sync', '--full'])).toMatchObject({ code: 0 })
  expect((await stat(trial.published)).ino).not.toBe(first.ino)
  expect(await modeOf(trial.published)).toBe(0o444 & ~process.umask())
  expect(await modeOf(join(trial.warehouse, 'work.duckdb'))).toBe(0o600)
  expect(await trial.rows('SELECT count(*) AS surveys FROM surveys')).toEqual([{ surveys: 2 }])
})

/** Runs the command as another user and with another umask. */
const runAs = async (
  user: Partial<User>,
  umask: string,
  args: readonly string[],
  env: Env,
): Promise<Ended> => {
  const child = spawn('sh', ['-c', `umask ${umask}; exec "$0" "$@"`, process.execPath, MAIN, ...args], {
    ...user,
    env: { PATH: process.env.PATH, ...env },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let stderr = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text
  })
  await once(child, 'close')
  return { code: child.exitCode, signal: child.signalCode, stdout: '', ...withEndLine(stderr) }
}

test('the published file respects the umask', async (context) => {
  const trial = await openTrial(context, [scriptedSurvey(1)])
  const env = { ...trial.api.env, FIELDWORK_SYNC_WAREHOUSE: trial.warehouse }
  expect(await runAs({}, '027', ['sync'], env)).toMatchObject({ code: 0 })
  expect(await modeOf(trial.published)).toBe(0o440)
})

test.skipIf(lacksUsers())(
  'a warehouse belongs to one user: another one of its group can read what is published, and no sync of theirs harms it',
  async (context) => {
    const [eva, ida] = [
      { uid: 20_001, gid: 20_000 },
      { uid: 20_002, gid: 20_000 },
    ]
    const trial = await openTrial(context, [scriptedSurvey(1)])
    const shared = join(trial.warehouse, '..')
    await chown(shared, eva.uid, eva.gid)
    await chmod(shared, 0o2775)
    const env = { ...trial.api.env, FIELDWORK_SYNC_WAREHOUSE: trial.warehouse }
    const run = (user: User, command: string) => runAs(user, '002', [command], env)
    expect(await run(eva, 'sync')).toMatchObject({ code: 0 })
    const published = await stat(trial.published)
    expect(published).toMatchObject({ ...eva, mode: 0o100444 })
    expect((await stat(join(trial.warehouse, 'work.duckdb'))).mode).toBe(0o100600)
    expect(await run(ida, 'status')).toMatchObject({ code: 0 })
    const refused = await run(ida, 'sync')
    expect(refused).toMatchObject({ code: 7, stderr: expect.stringMatching(/^.*work\.duckdb: EACCES.*\n$/) })
    expect((await stat(trial.published)).ino).toBe(published.ino)
    expect(await run(eva, 'sync')).toMatchObject({ code: 0 })
  },
)

test('a sync publishes on a file system without modes, and the log says so', async (context) => {
  const trial = await openTrial(context, [scriptedSurvey(1)])
  const noModes = fileURLToPath(new URL('fixtures/no-modes.mjs', import.meta.url))
  const ended = await trial.run(['sync'], { NODE_OPTIONS: `--import ${noModes}` })
  expect(ended, ended.stderr).toMatchObject({ code: 0 })
  expect(ended.stderr).toContain('can be opened for writing')
  expect(await trial.rows('SELECT count(*) AS surveys FROM surveys')).toEqual([{ surveys: 1 }])
})
