/**
 * Packs the package, installs it into an empty directory on the running Node with `engine-strict`, and uses it.
 * Nothing in this checkout except the tarball is used. FIELDWORK_SYNC_TEST_PACKAGE names the directory of a tarball that is packed already.
 */
import { execFileSync, spawnSync } from 'node:child_process'
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { manifest, projectDirectory } from './dockerfile.js'
import { copyTracked, killStarted, SYNCED, startReferenceServer } from './installed.js'

const directory = mkdtempSync(join(tmpdir(), 'fieldwork-sync-package-'))
const installed = join(directory, 'installed')

const { PATH = '', HOME = '/' } = process.env
/** A minimal environment, because settings of an npm that runs the tests would reach the npm that they start. */
const env = { PATH, HOME }

const command = join(installed, 'node_modules', '.bin', 'fieldwork-sync')
const run = (args: readonly string[], more: Readonly<Record<string, string>> = {}) =>
  spawnSync(command, args, { cwd: directory, env: { ...env, ...more }, encoding: 'utf8' })

const packageOf = (path: string) =>
  z
    .object({ version: z.string(), scripts: z.record(z.string(), z.unknown()).default({}) })
    .parse(JSON.parse(readFileSync(join(path, 'package.json'), 'utf8')))

/** The directories of all packages below a directory, including nested packages. */
const packagesIn = (root: string): readonly string[] => {
  const modules = join(root, 'node_modules')
  if (!existsSync(modules)) return []
  return readdirSync(modules)
    .filter((name) => !name.startsWith('.'))
    .flatMap((name) =>
      name.startsWith('@') ? readdirSync(join(modules, name)).map((scoped) => join(name, scoped)) : [name],
    )
    .flatMap((name) => [join(modules, name), ...packagesIn(join(modules, name))])
}

const pack = (): string => {
  const build = join(directory, 'build')
  copyTracked(build)
  cpSync(join(projectDirectory, 'dist'), join(build, 'dist'), { recursive: true })
  execFileSync('npm', ['pack', '--silent', '--pack-destination', directory], { cwd: build, env })
  return directory
}

beforeAll(() => {
  const packed = resolve(projectDirectory, process.env.FIELDWORK_SYNC_TEST_PACKAGE ?? pack())
  mkdirSync(installed)
  writeFileSync(join(installed, 'package.json'), '{}')
  const tarball = join(packed, `fieldwork-sync-${manifest.version}.tgz`)
  const strict = ['--engine-strict', '--ignore-scripts', '--no-audit', '--no-fund']
  execFileSync('npm', ['install', ...strict, tarball], { cwd: installed, env, stdio: 'pipe' })
})

afterAll(async () => {
  await killStarted()
  rmSync(directory, { recursive: true, force: true })
})

test('the package installs no development tools, and only the one version of light-my-request that Node 20 supports', () => {
  const found = packagesIn(installed).map((path) => ({
    name: path.split('node_modules/').at(-1) ?? '',
    version: packageOf(path).version,
  }))
  expect(found.filter(({ name }) => name === 'light-my-request')).toEqual([
    { name: 'light-my-request', version: '6.6.0' },
  ])
  const names = found.map(({ name }) => name)
  expect(names).toContain('fastify')
  for (const name of ['vitest', 'typescript', '@biomejs/biome', 'knip']) expect(names).not.toContain(name)
})

test('the installation runs no script of any package', () => {
  const withScripts = packagesIn(installed).filter((path) =>
    ['preinstall', 'install', 'postinstall'].some((name) => name in packageOf(path).scripts),
  )
  expect(withScripts).toEqual([])
})

test('the installed command prints its version and its schema', () => {
  expect(run(['--version'])).toMatchObject({ status: 0, stdout: `${manifest.version}\n`, stderr: '' })
  expect(run(['schema'])).toMatchObject({
    status: 0,
    stdout: readFileSync(join(projectDirectory, 'docs/reference/tables.md'), 'utf8'),
  })
})

test('the installed command syncs from its own reference server', async () => {
  const options = { cwd: directory, env }
  const settings = await startReferenceServer(command, ['reference-server'], options)
  const warehouse = join(directory, 'warehouse')
  const sync = run(['sync', '--publish', 'duckdb,parquet'], {
    ...settings,
    FIELDWORK_SYNC_WAREHOUSE: warehouse,
  })
  expect(sync, sync.stderr).toMatchObject(SYNCED)
  expect(existsSync(join(warehouse, 'fieldwork.duckdb'))).toBe(true)
  expect(run(['status'], { FIELDWORK_SYNC_WAREHOUSE: warehouse })).toMatchObject({ status: 0 })
})
