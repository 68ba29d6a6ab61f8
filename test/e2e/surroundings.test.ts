/** What the machine lacks is no bug: packages that were not installed, what a flag of Node forbids, a limit of the system. */
import { cpSync, existsSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { projectDirectory } from '../integration/deploy/dockerfile.js'
import { MAIN, start } from '../support/command/command.js'
import { openTrial } from '../support/command/trial.js'
import { type Finished, temporaryDirectory } from '../support/files/temporary.js'

/** The command with only these files of its packages. */
const installed = async (onTestFinished: Finished, packages: readonly string[]): Promise<string> => {
  const directory = await temporaryDirectory(onTestFinished)
  for (const part of ['package.json', 'dist', ...packages.map((name) => join('node_modules', name))])
    cpSync(join(projectDirectory, part), join(directory, part), { recursive: true })
  return join(directory, 'dist/main.js')
}

describe('a package that was not installed is named, with what installs it', () => {
  test.concurrent.for([
    ['@duckdb/node-bindings', [], ['status']],
    ['@duckdb/node-bindings-', ['@duckdb/node-bindings', 'detect-libc'], ['check']],
    ['fastify', [], ['reference-server', '--port', '0']],
  ] as const)('%s', async ([name, packages, args], { onTestFinished }) => {
    const there = packages.filter((one) => existsSync(join(projectDirectory, 'node_modules', one)))
    const main = await installed(onTestFinished, there)
    const env = {
      FIELDWORK_SYNC_BASE_URL: 'http://127.0.0.1:9/api/v1',
      FIELDWORK_SYNC_API_ID: '1',
      FIELDWORK_SYNC_API_TOKEN: 'tok-1234',
    }
    const ended = await start(args, env, main, join(main, '../..')).ended
    expect(ended).toMatchObject({ code: 2, stdout: '' })
    expect(ended.stderr).toMatch(
      /^fieldwork-sync: a package of this installation is missing or is for another machine: .*\. Install it again, with optional packages: npm ci --include=optional\n$/,
    )
    expect(ended.stderr).toContain(`'${name}`)
  })
})

describe('a flag of Node that forbids what the command needs is no bug', () => {
  test.concurrent.for([
    ['--no-addons', ['status'], 'Cannot load native addon because loading addons is disabled'],
    ['--jitless', ['check'], 'WebAssembly is not defined'],
    [
      '--disallow-code-generation-from-strings',
      ['reference-server', '--port', '0'],
      'Code generation from strings disallowed for this context',
    ],
  ] as const)('%s', async ([flag, args, reason], context) => {
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
