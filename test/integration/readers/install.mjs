/**
 * `npm run readers`: installs the readers of environments.json from PyPI, each environment in a folder of its own below
 * `.readers`, for the slow suite to try published files with. What is there already stays. Arguments: the names of some
 * environments. Exit 1 where one could not be installed; the tests that need it are then skipped, and say so.
 */
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'

const root = new URL('../../../.readers/', import.meta.url).pathname
const python = process.env.FIELDWORK_SYNC_TEST_PYTHON ?? 'python3'
const environments = JSON.parse(readFileSync(new URL('environments.json', import.meta.url), 'utf8'))

/** To build one of these takes an hour and a compiler: where there is no wheel for this Python, it is left out. */
const BINARY = 'duckdb,numpy,pandas,polars,pyarrow'
const INSTALL_MS_MAX = 900_000

const installed = (name) => {
  const list = `${root}${name}/environment.json`
  return existsSync(list) && readFileSync(list, 'utf8') === JSON.stringify(environments[name])
}

/** Null, or why it could not be installed. */
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

const wanted = process.argv.length > 2 ? process.argv.slice(2) : Object.keys(environments)
for (const name of wanted) {
  const problem = installed(name) ? null : install(name)
  process.stdout.write(`${name}: ${problem === null ? 'installed' : `not installed: ${problem}`}\n`)
  if (problem !== null) process.exitCode = 1
}
