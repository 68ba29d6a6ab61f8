/** What the machine lacks is no bug: packages that were not installed, what a flag of Node forbids, a limit of the system. */
import { cpSync, mkdirSync, readdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { projectDirectory } from '../integration/deploy/dockerfile.js'
import { MAIN, start } from '../support/command/command.js'
import { openTrial } from '../support/command/trial.js'
import { type Finished, temporaryDirectory } from '../support/files/temporary.js'
import { some } from '../support/suite/cases.js'

/** The command without the package `missing`; without its scope, but for copies of `kept`. */
const installedWithout = async (
  onTestFinished: Finished,
  missing: string,
  kept: readonly string[] = [],
): Promise<string> => {
  const directory = await temporaryDirectory(onTestFinished)
  const to = (path: string) => join(directory, path)
  const from = (path: string) => join(projectDirectory, path)
  mkdirSync(to('node_modules'))
  for (const name of readdirSync(from('node_modules')))
    if (name !== missing.split('/')[0]) symlinkSync(from(`node_modules/${name}`), to(`node_modules/${name}`))
  for (const part of ['package.json', 'dist', ...kept.map((name) => `node_modules/${name}`)])
    cpSync(from(part), to(part), { recursive: true })
  return to('dist/main.js')
}

describe('a package that was not installed is named, with what installs it', () => {
  const env = {
    FIELDWORK_SYNC_BASE_URL: 'http://127.0.0.1:9/api/v1',
    FIELDWORK_SYNC_API_ID: '1',
    FIELDWORK_SYNC_API_TOKEN: 'tok-1234',
  }

  const NEEDED = [
    ['zod', [], ['status']],
    ['@duckdb/node-bindings-', ['@duckdb/node-api', '@duckdb/node-bindings'], ['check']],
  ] as const

  test.concurrent.for(some<(typeof NEEDED)[number]>(NEEDED, 2))(
    '%s',
    async ([missing, kept, args], { onTestFinished }) => {
      const main = await installedWithout(onTestFinished, missing, kept)
      const ended = await start(args, env, main, join(main, '../..')).ended
      expect(ended).toMatchObject({ code: 2, stdout: '' })
      expect(ended.stderr).toMatch(
        /^fieldwork-sync: a package of this installation is missing or is for another machine: .*\. Install it again, with optional packages: npm ci --include=optional\n$/,
      )
      expect(ended.stderr).toContain(`'${missing}`)
    },
  )

  const OF_AZURE = [
    ['@azure/storage-blob', []],
    ['@azure/identity', ['@azure/storage-blob']],
  ] as const

  test.concurrent.for(some<(typeof OF_AZURE)[number]>(OF_AZURE, 1))(
    '%s, where the storage is az://',
    async ([missing, kept], { onTestFinished }) => {
      const main = await installedWithout(onTestFinished, missing, kept)
      const storage = { FIELDWORK_SYNC_STORAGE_URL: 'az://acme/warehouse', AZURE_STORAGE_ACCOUNT: 'acme' }
      const ended = await start(['status'], { ...env, ...storage }, main, join(main, '../..')).ended
      expect(ended).toMatchObject({
        code: 2,
        stderr:
          'fieldwork-sync: an address az:// needs packages of Azure, which are not installed. Install them beside fieldwork-sync: npm install @azure/storage-blob@12 @azure/identity@4\n',
      })
    },
  )
})

describe('a flag of Node that forbids what the command needs is no bug', () => {
  const FLAGS = [
    ['--no-addons', ['status'], 'Cannot load native addon because loading addons is disabled'],
    ['--jitless', ['check'], 'WebAssembly is not defined'],
    [
      '--disallow-code-generation-from-strings',
      ['reference-server', '--port', '0'],
      'Code generation from strings disallowed for this context',
    ],
  ] as const

  test.concurrent.for(some<(typeof FLAGS)[number]>(FLAGS, 1))('%s', async ([flag, args, reason], context) => {
    const trial = await openTrial(context)
    const ended = await trial.run([MAIN, ...args], {}, flag)
    expect(ended).toMatchObject({
      code: 2,
      stdout: '',
      stderr: expect.stringMatching(
        new RegExp(
          `^fieldwork-sync: a flag of Node forbids what the command needs: ${reason}\\. Leave .*\n$`,
          'm',
        ),
      ),
    })
  })
})
