/**
 * Packs the package, installs it into an empty directory on the running Node with `engine-strict`, and uses it.
 * Nothing in this checkout except the tarball is used.
 */
import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
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
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { projectDirectory } from './dockerfile.js'

const directory = mkdtempSync(join(tmpdir(), 'fieldwork-sync-package-'))
const installed = join(directory, 'installed')
const started: ChildProcess[] = []

const { PATH = '', HOME = '/' } = process.env
/** A minimal environment, because settings of an npm that runs the tests would reach the npm that they start. */
const env = { PATH, HOME }

const command = join(installed, 'node_modules', '.bin', 'fieldwork-sync')
const run = (args: readonly string[], more: Readonly<Record<string, string>> = {}) =>
  spawnSync(command, args, { cwd: directory, env: { ...env, ...more }, encoding: 'utf8' })

const packageOf = (path: string) =>
  z.object({ version: z.string() }).parse(JSON.parse(readFileSync(join(path, 'package.json'), 'utf8')))

const project = packageOf(projectDirectory)

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

beforeAll(() => {
  const build = join(directory, 'build')
  const tracked = execFileSync('git', ['ls-files', '-z'], { cwd: projectDirectory, encoding: 'utf8' })
  for (const file of tracked.split('\0')) {
    if (file === '' || !existsSync(join(projectDirectory, file))) continue
    mkdirSync(dirname(join(build, file)), { recursive: true })
    cpSync(join(projectDirectory, file), join(build, file))
  }
  cpSync(join(projectDirectory, 'dist'), join(build, 'dist'), { recursive: true })
  execFileSync('npm', ['pack', '--silent', '--pack-destination', directory], { cwd: build, env })
  mkdirSync(installed)
  writeFileSync(join(installed, 'package.json'), '{}')
  const tarball = join(directory, `fieldwork-sync-${project.version}.tgz`)
  const strict = ['--engine-strict', '--ignore-scripts', '--no-audit', '--no-fund']
  execFileSync('npm', ['install', ...strict, tarball], { cwd: installed, env, stdio: 'pipe' })
})

afterAll(async () => {
  for (const child of started) {
    child.kill('SIGKILL')
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
  }
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
  for (const name of ['vitest', 'typescript', '@biomejs/biome', 'knip', '@fastify/swagger-ui'])
    expect(names).not.toContain(name)
})

test('the installation runs no script of any package', () => {
  const manifest = z.object({ scripts: z.record(z.string(), z.unknown()).optional() })
  const withScripts = packagesIn(installed).filter((path) => {
    const { scripts = {} } = manifest.parse(JSON.parse(readFileSync(join(path, 'package.json'), 'utf8')))
    return ['preinstall', 'install', 'postinstall'].some((name) => name in scripts)
  })
  expect(withScripts).toEqual([])
})

test('the installed command prints its version and its schema', () => {
  expect(run(['--version'])).toMatchObject({ status: 0, stdout: `${project.version}\n`, stderr: '' })
  expect(run(['schema'])).toMatchObject({
    status: 0,
    stdout: readFileSync(join(projectDirectory, 'docs/reference/tables.md'), 'utf8'),
  })
})

test('the installed command syncs from its own reference server, which serves its docs page', async () => {
  const server = spawn(command, ['reference-server', '--port=0', '--surveys=3', '--rate-limit=10000/60s'], {
    cwd: directory,
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  started.push(server)
  const [line] = await once(createInterface({ input: server.stdout }), 'line')
  const { base_url, accounts } = z
    .object({
      base_url: z.string(),
      accounts: z.tuple([z.object({ id: z.coerce.string(), token: z.string() })]),
    })
    .parse(JSON.parse(String(line)))
  const docs = base_url.replace('/api/v1', '/_reference/docs')
  for (const path of ['', '/swagger-ui.css', '/swagger-ui-bundle.js', '/openapi.json']) {
    expect([path, (await fetch(`${docs}${path}`)).status]).toEqual([path, 200])
  }
  const warehouse = join(directory, 'warehouse')
  const sync = run(['sync', '--publish', 'duckdb,parquet'], {
    FIELDWORK_SYNC_BASE_URL: base_url,
    FIELDWORK_SYNC_API_ID: accounts[0].id,
    FIELDWORK_SYNC_API_TOKEN: accounts[0].token,
    FIELDWORK_SYNC_WAREHOUSE: warehouse,
  })
  expect(sync, sync.stderr).toMatchObject({
    status: 0,
    stdout: expect.stringMatching(/\ncomplete: 3 surveys refreshed, nothing left over\.\n$/),
  })
  expect(existsSync(join(warehouse, 'fieldwork.duckdb'))).toBe(true)
  expect(run(['status'], { FIELDWORK_SYNC_WAREHOUSE: warehouse })).toMatchObject({ status: 0 })
})
