/**
 * `npm run test:full -- [--allow-missing] [arguments of vitest]` runs all tests, also `*.full.test.ts`, with all cases. Unless
 * files are named, it first installs what they read with. What is missing fails, or with --allow-missing is listed at the end.
 */
import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const ALLOW = '--allow-missing'
const args = process.argv.slice(2)
const directory = mkdtempSync(join(tmpdir(), 'fieldwork-sync-'))
const list = join(directory, 'missing')
const run = (command, ...rest) =>
  spawnSync(command, rest, {
    stdio: 'inherit',
    env: { ...process.env, ...(args.includes(ALLOW) ? { FIELDWORK_SYNC_TEST_MISSING: list } : {}) },
  }).status ?? 1

// What it cannot install is missing.
if (!args.some((arg) => !arg.startsWith('-'))) run(process.execPath, 'test/integration/readers/install.mjs')
const suite = ['vitest', 'run', '--config', 'test/vitest.config.ts', '--mode', 'full']
process.exitCode = run('npx', ...suite, ...args.filter((arg) => arg !== ALLOW))
const missing = existsSync(list) ? new Set(readFileSync(list, 'utf8').trimEnd().split('\n')) : new Set()
if (missing.size > 0) process.stdout.write(`Missing, and left out: ${[...missing].sort().join(', ')}\n`)
rmSync(directory, { recursive: true })
