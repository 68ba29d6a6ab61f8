/**
 * Installs the readers of environments.json and the stores of ../stores/environments.json, each in its own folder below `.readers`, from
 * PyPI. An entry `maven:…` is a Java archive that Maven copies into the folder `jars` there. An entry `go:…` is a program that Go builds
 * into the folder, `cargo:…` one that Rust builds. An entry `npm:…` is a package, without the scripts of its installation.
 * The full suite uses them, and installs them first. What is installed stays. Arguments: the names of some.
 * Exits 1 when an installation fails; what needs it is then missing.
 */
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../../../.readers/', import.meta.url))
const python = process.env.FIELDWORK_SYNC_TEST_PYTHON ?? 'python3'
const read = (path) => JSON.parse(readFileSync(new URL(path, import.meta.url), 'utf8'))
const environments = { ...read('environments.json'), ...read('../stores/environments.json') }

/** Building one of these takes an hour and a compiler, so an environment without a wheel for this Python is not installed. */
const BINARY =
  'chdb-core,deltalake,duckdb,duckdb-extension-aws,duckdb-extension-azure,duckdb-extension-delta,duckdb-extension-ducklake,duckdb-extension-httpfs,numpy,pandas,polars,pyarrow,rpds-py'
const INSTALL_MS_MAX = 1_800_000
const MAVEN = 'maven:'
const GO = 'go:'
const NPM = 'npm:'
const CARGO = 'cargo:'
const OTHERS = [MAVEN, GO, NPM, CARGO]

const installed = (name) => {
  const list = `${root}${name}/environment.json`
  return existsSync(list) && readFileSync(list, 'utf8') === JSON.stringify(environments[name])
}

/** Installs an environment. Returns the error of a failed installation, or null. */
const install = (name) => {
  const [target, unfinished] = [`${root}${name}`, `${root}.${name}`]
  rmSync(unfinished, { recursive: true, force: true })
  mkdirSync(unfinished, { recursive: true })
  const named = (prefix) => environments[name].filter((entry) => entry.startsWith(prefix))
  const packages = environments[name].filter((entry) => !OTHERS.some((prefix) => entry.startsWith(prefix)))
  const options = ['--quiet', '--disable-pip-version-check', '--only-binary', BINARY, '--target', unfinished]
  const commands = [
    ...(packages.length === 0 ? [] : [[python, '-m', 'pip', 'install', ...options, ...packages]]),
    ...named(MAVEN).map((jar) => [
      'mvn',
      ...['--quiet', '--batch-mode', 'dependency:copy', '-Dmdep.useBaseVersion=true'],
      `-Dartifact=${jar.slice(MAVEN.length)}`,
      `-DoutputDirectory=${unfinished}/jars`,
    ]),
    ...named(NPM).map((entry) => [
      'npm',
      ...['install', '--ignore-scripts', '--no-audit', '--no-fund', '--prefix', unfinished],
      entry.slice(NPM.length),
    ]),
    ...named(CARGO).map((program) => [
      'cargo',
      'install',
      '--quiet',
      '--root',
      unfinished,
      program.slice(CARGO.length),
    ]),
    ...named(GO).map((program) => ['go', 'install', program.slice(GO.length)]),
  ]
  for (const [program, ...args] of commands) {
    const { status, error, stdout, stderr } = spawnSync(program, args, {
      encoding: 'utf8',
      env: { ...process.env, GOBIN: unfinished },
      timeout: INSTALL_MS_MAX,
    })
    if (status !== 0) return error?.message ?? (stderr || stdout).trim().split('\n').at(-1)
  }
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
