/**
 * `npm run readers` installs the readers of environments.json from PyPI, each environment in its own folder below `.readers`.
 * The slow suite reads published files with them. Installed environments stay. Arguments: the names of some environments.
 * Exits 1 when an installation fails; the tests that need it are then skipped, and say so.
 */
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'

const root = new URL('../../../.readers/', import.meta.url).pathname
const python = process.env.FIELDWORK_SYNC_TEST_PYTHON ?? 'python3'
const environments = JSON.parse(readFileSync(new URL('environments.json', import.meta.url), 'utf8'))

/** Building one of these takes an hour and a compiler, so an environment without a wheel for this Python is not installed. */
const BINARY = 'duckdb,numpy,pandas,polars,pyarrow'
const INSTALL_MS_MAX = 900_000

const installed = (name) => {
  const list = `${root}${name}/environment.json`
  return existsSync(list) && readFileSync(list, 'utf8') === JSON.stringify(environments[name])
}

/** Installs an environment. Returns the error of a failed installation, or null. */
const install = (name) => {
  const [target, unfinished] = [`${root}${name}`, `${root}.${name}`]
  rmSync(unfinished, { recursive: true, force: true })
  const options = ['--quiet', '--disable-pip-version-check', '--only-binary', BINARY, '--target', unfinished]
  const { status, error, stderr } = spawnSync(
    python,
    ['-m', 'pip', 'install', ...options, ...environments[name]],
    { encoding: 'utf8', timeout: INSTALL_MS_MAX },
  )
  if (status !== 0) return error?.message ?? stderr.trim().split('\n').at(-1)
  writeFileSync(`${unfinished}/environment.json`, JSON.stringify(environments[name]))
  rmSync(target, { recursive: true, force: true })
  renameSync(unfinished, target)
  return null
}

const requested = process.argv.length > 2 ? process.argv.slice(2) : Object.keys(environments)
for (const name of requested) {
  const problem = installed(name) ? null : install(name)
  process.stdout.write(`${name}: ${problem === null ? 'installed' : `not installed: ${problem}`}\n`)
  if (problem !== null) process.exitCode = 1
}
