/**
 * `npm run stores -- NAME …` installs object stores that are not ours below `.readers`, and shows what holds on each. Without names: those
 * that are installed. A store that cannot be installed is skipped with a line that says why, and then this exits 1.
 */
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'

const names = process.argv.slice(2)
const run = (command, args, env) =>
  spawnSync(command, args, { stdio: 'inherit', env: { ...process.env, ...env } }).status ?? 1

const install = fileURLToPath(new URL('../readers/install.mjs', import.meta.url))
const installed = names.length === 0 ? 0 : run(process.execPath, [install, ...names])
const chosen = names.length === 0 ? {} : { FIELDWORK_SYNC_TEST_STORES: names.join(',') }
const files = fileURLToPath(new URL('.', import.meta.url))
const args = ['vitest', 'run', '--config', 'test/vitest.config.ts', '--reporter', 'verbose', files]
process.exitCode = run('npx', args, { SLOW: '1', ...chosen }) || installed
