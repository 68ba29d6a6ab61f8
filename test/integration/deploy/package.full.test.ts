/**
 * Packs the package, installs it into an empty directory on the running Node with `engine-strict`, and uses it.
 * Nothing in this checkout except the tarball is used. FIELDWORK_SYNC_TEST_PACKAGE names the directory of a tarball that is packed already.
 */
import { execFileSync, spawnSync } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { isRoot } from './build-image.js'
import { manifest, projectDirectory } from './dockerfile.js'
import { copyTracked, killStarted, startReferenceServer } from './installed.js'

const directory = mkdtempSync(join(tmpdir(), 'fieldwork-sync-package-'))
const installed = join(directory, 'installed with blanks')

const { PATH = '', HOME = '/', NODE_EXTRA_CA_CERTS } = process.env
/** A minimal environment, because settings of an npm that runs the tests would reach the npm that they start. */
const env = { PATH, HOME, ...(NODE_EXTRA_CA_CERTS === undefined ? {} : { NODE_EXTRA_CA_CERTS }) }

let packed: string
let tarball: string
const STRICT = ['--engine-strict', '--ignore-scripts', '--no-audit', '--no-fund']

const command = join(installed, 'node_modules', '.bin', 'fieldwork-sync')
const run = (args: readonly string[], more: Readonly<Record<string, string>> = {}, program = command) =>
  spawnSync(program, args, { cwd: directory, env: { ...env, ...more }, encoding: 'utf8' })

const packageOf = (path: string) =>
  z
    .object({ name: z.string(), version: z.string(), scripts: z.record(z.string(), z.unknown()).default({}) })
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

/** Packs as for a release. */
const pack = (): string => {
  const build = join(directory, 'build')
  copyTracked(build)
  symlinkSync(join(projectDirectory, 'node_modules'), join(build, 'node_modules'))
  execFileSync(process.execPath, ['.ci/release.mjs', 'pack'], { cwd: build, env, stdio: 'pipe' })
  return join(build, 'release')
}

beforeAll(() => {
  packed = resolve(projectDirectory, process.env.FIELDWORK_SYNC_TEST_PACKAGE ?? pack())
  mkdirSync(installed)
  writeFileSync(join(installed, 'package.json'), '{}')
  tarball = join(packed, `fieldwork-sync-${manifest.version}.tgz`)
  execFileSync('npm', ['install', ...STRICT, tarball], { cwd: installed, env, stdio: 'pipe' })
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

const USES: readonly (readonly string[])[] = [
  ['check'],
  ['sync', '--publish', 'duckdb,parquet'],
  ['status'],
  ['report', '--out', 'report.html'],
  ['query', 'FROM surveys', '--output', 'surveys.xlsx'],
  ['export', '--format', 'csv', '--out', 'files'],
]

/** What the commands above do not load, and what it is for. What hangs on these packages alone is not loaded either. */
const NOT_LOADED = {
  '@aws-sdk/client-s3': 'an address s3://',
  '@azure/identity': 'an address az://',
  '@azure/storage-blob': 'an address az://',
  '@clack/prompts': 'init in a terminal',
  '@redis/client': 'a shared cap',
  'csv-parse': 'the file of a plan',
  nodemailer: 'a digest',
  'pino-pretty': 'a terminal',
  'prom-client': 'metrics',
  [`@duckdb/node-bindings-${process.platform}-${process.arch}`]: 'a library, without a script',
  internmap: 'groups of d3-array',
  'light-my-request': 'requests to fastify without a network',
  'real-require': 'a log in a thread of its own',
  'require-from-string': 'serializers of fastify that are compiled ahead',
}

const bill = z.object({
  components: z.array(z.object({ name: z.string(), version: z.string() })),
  dependencies: z.array(z.object({ ref: z.string(), dependsOn: z.array(z.string()) })),
})

test('the SBOM has each package that the installed command loads, and says why it has others', async () => {
  // With the versions of the lock file, which the SBOM has.
  execFileSync('tar', ['-xzf', tarball], { cwd: directory })
  const unpacked = join(directory, 'package')
  copyFileSync(join(projectDirectory, 'package-lock.json'), join(unpacked, 'package-lock.json'))
  execFileSync('npm', ['ci', '--omit=dev', ...STRICT], { cwd: unpacked, env, stdio: 'pipe' })
  const exact = join(unpacked, 'dist', 'main.js')
  chmodSync(exact, 0o755)
  const coverage = join(directory, 'coverage')
  const more = { NODE_V8_COVERAGE: coverage, FIELDWORK_SYNC_WAREHOUSE: join(directory, 'bill') }
  const options = { cwd: directory, env: { ...env, ...more } }
  const settings = await startReferenceServer(exact, ['reference-server'], options)
  for (const line of USES)
    expect([line, run(line, { ...more, ...settings }, exact).status]).toEqual([line, 0])
  await killStarted()
  const written = z.object({ result: z.array(z.object({ url: z.string() })) })
  const urls = readdirSync(coverage).flatMap((name) =>
    written.parse(JSON.parse(readFileSync(join(coverage, name), 'utf8'))).result.map(({ url }) => url),
  )
  const roots = urls.flatMap((url) => /^file:.*\/node_modules\/(?:@[^/]+\/)?[^/]+/.exec(url) ?? [])
  const named = ({ name, version }: { readonly name: string; readonly version: string }) =>
    `${name}@${version}`
  const loaded = new Set([...new Set(roots)].map((url) => named(packageOf(fileURLToPath(url)))))
  loaded.delete(named(manifest))

  const text = readFileSync(join(packed, `fieldwork-sync-${manifest.version}.cdx.json`), 'utf8')
  const { components, dependencies } = bill.parse(JSON.parse(text))
  const listed = components.map(named)
  expect([...loaded].filter((one) => !listed.includes(one))).toEqual([])
  const below = (ref: string): readonly string[] =>
    dependencies.find((one) => one.ref === ref)?.dependsOn ?? []
  const nameOf = (one: string) => one.replace(/(?<=.)@.*/, '')
  expect([...loaded].map(nameOf).filter((name) => name in NOT_LOADED)).toEqual([])
  const explained = new Set(listed.filter((one) => nameOf(one) in NOT_LOADED))
  for (const one of explained) for (const next of below(one)) explained.add(next)
  expect(listed.filter((one) => !loaded.has(one) && !explained.has(one))).toEqual([])
})

/** A sync from its own reference server, and what reads the warehouse. `options` may have another user. */
const useAll = async (
  program: string,
  options: {
    readonly cwd: string
    readonly env: NodeJS.ProcessEnv
    readonly uid?: number
    readonly gid?: number
  },
) => {
  const settings = await startReferenceServer(program, ['reference-server'], options)
  const all = {
    ...options,
    env: { ...options.env, ...settings, FIELDWORK_SYNC_WAREHOUSE: join(options.cwd, 'warehouse') },
  }
  for (const args of USES) {
    const { status, stderr } = spawnSync(program, args, { ...all, encoding: 'utf8' })
    expect([args, status], stderr).toEqual([args, 0])
  }
}

/** An empty directory, whose path has blanks. */
const empty = (name: string): string => {
  const place = join(directory, 'other places', name)
  mkdirSync(place, { recursive: true })
  return place
}

const ADD = {
  npm: ['install', ...STRICT],
  pnpm: ['exec', '--yes', '--package=pnpm@10.34.8', '--', 'pnpm', 'add', '--ignore-scripts'],
  yarn: ['exec', '--yes', '--package=yarn@1.22.22', '--', 'yarn', 'add', '--ignore-scripts'],
} as const

test.each([
  ['npm', '20'],
  ['npm', '22'],
  ['npm', '24'],
  ['pnpm', '24'],
  ['yarn', '24'],
] as const)('%s installs it with Node %s', async (manager, node) => {
  const nodes = empty(`${manager} ${node} node`)
  const place = empty(`${manager} ${node} app`)
  const of = `node-${process.platform}-${process.arch}`
  execFileSync('npm', ['install', ...STRICT, '--prefix', nodes, `${of}@${node}`], { env, stdio: 'pipe' })
  const withNode = { ...env, PATH: `${join(nodes, 'node_modules', of, 'bin')}:${PATH}` }
  writeFileSync(join(place, 'package.json'), '{}')
  execFileSync('npm', [...ADD[manager], tarball], { cwd: place, env: withNode, stdio: 'pipe' })
  await useAll(join(place, 'node_modules/.bin/fieldwork-sync'), { cwd: place, env: withNode })
})

test('it runs by a link, from files that cannot be written, and as another user', async () => {
  const place = empty('read only')
  const link = join(place, 'fieldwork-sync')
  symlinkSync(command, link)
  chmodSync(directory, 0o755)
  execFileSync('chmod', ['-R', 'a-w', installed])
  try {
    if (isRoot) chownSync(place, 1000, 1000)
    await useAll(link, { cwd: place, env: { PATH }, ...(isRoot ? { uid: 1000, gid: 1000 } : {}) })
  } finally {
    execFileSync('chmod', ['-R', 'u+w', installed])
  }
})
