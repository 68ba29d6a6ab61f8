/** Which modules and packages a start of the command loads. Heavy packages are loaded where they are used. */
import { readdirSync, readFileSync } from 'node:fs'
import { isBuiltin } from 'node:module'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { run } from '../../support/command/command.js'
import { temporaryDirectory } from '../../support/files/temporary.js'
import { some } from '../../support/suite/cases.js'
import { manifest, projectDirectory } from './dockerfile.js'

const dist = join(projectDirectory, 'dist')
const modules = readdirSync(dist, { recursive: true, encoding: 'utf8' }).filter((path) =>
  path.endsWith('.js'),
)

const IMPORT =
  /^(?:import|export) (?:.*? from )?'([^']+)';$|createRequire\(import\.meta\.url\)\('([^']+)'\)/gm

/** What a compiled module imports or requires when it is loaded: paths of other modules, and packages. */
const importsOf = (path: string): readonly string[] =>
  [...readFileSync(join(dist, path), 'utf8').matchAll(IMPORT)].map(([, imported, required]) => {
    const from = imported ?? required ?? ''
    return from.startsWith('.') ? join(dirname(path), from) : from
  })

/** The modules and packages that are loaded with a compiled module. */
const loadedWith = (path: string, seen = new Set<string>()): ReadonlySet<string> => {
  if (seen.has(path) || isBuiltin(path)) return seen
  seen.add(path)
  if (modules.includes(path)) for (const next of importsOf(path)) loadedWith(next, seen)
  return seen
}

const packagesWith = (path: string): readonly string[] =>
  [...loadedWith(path)].filter((name) => !modules.includes(name)).sort()

/** The scripts that a command line loads: paths in `dist`, and names of packages. V8 lists them in the file of its coverage. */
const loadedBy = async (args: readonly string[], code: number): Promise<ReadonlySet<string>> => {
  const directory = await temporaryDirectory()
  const ended = await run(args, { NODE_V8_COVERAGE: join(directory, 'loaded') })
  expect(ended, ended.stderr).toMatchObject({ code })
  const coverage = z.object({ result: z.array(z.object({ url: z.string() })) })
  const urls = readdirSync(join(directory, 'loaded')).flatMap(
    (name) => coverage.parse(JSON.parse(readFileSync(join(directory, 'loaded', name), 'utf8'))).result,
  )
  return new Set(
    urls.flatMap(({ url }) => {
      if (!url.startsWith('file:')) return []
      const [, name] = /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(url) ?? []
      return [name ?? relative(dist, fileURLToPath(url))]
    }),
  )
}

const packagesBy = async (args: readonly string[], code: number): Promise<readonly string[]> =>
  [...(await loadedBy(args, code))].filter((name) => !modules.includes(name)).sort()

test('main.js imports nothing before it has checked the version of Node', () => {
  expect(importsOf('main.js')).toEqual(['node-floor.js'])
  expect(importsOf('node-floor.js')).toEqual([])
})

describe('a start loads', () => {
  test.each([
    [['--version'], 0],
    [['sync', '--help'], 0],
    [['sync', '--frobnicate'], 2],
  ] as const)('only yargs for %j', async (args, code) => {
    const packages = await packagesBy(args, code)
    expect(packages).toContain('yargs')
    for (const name of ['@duckdb/node-api', 'pino', 'undici', 'yaml', 'zod'])
      expect(packages).not.toContain(name)
  })

  const COMMANDS = [
    ...['sync', 'init --base-url wrong --id 1 --token-file absent', 'check', 'conformance'],
    ...['export --format csv --out out', 'plan', 'replay', 'report --out report.html', 'status', 'verify'],
  ].map((line) => line.split(' '))

  test.each(some(COMMANDS, 2))(
    'neither DuckDB nor the HTTP client before the settings of %s are read',
    async (...args) => {
      const wrong = args[0] === 'init' ? '--out' : '--config'
      const loaded = await loadedBy([...args, wrong, join(await temporaryDirectory(), 'absent.yaml')], 2)
      expect(loaded).toContain('settings/load-settings.js')
      for (const name of ['@duckdb/node-api', 'undici']) expect(loaded).not.toContain(name)
    },
  )

  test.each(['plan', 'query', 'export', 'report', 'status'])(
    'no HTTP client for a command without requests: %s',
    (command) => {
      const packages = packagesWith(`commands/${command}.js`)
      expect(packages).toContain('@duckdb/node-api')
      for (const name of ['undici', 'bottleneck']) expect(packages).not.toContain(name)
    },
  )

  // What few commands or settings need is loaded there.
  test.each([
    ['hucre/xlsx', ['commands/export.js', 'commands/query.js']],
    ['nodemailer', ['commands/sync.js', 'commands/monitored-run/digests.js']],
    ['prom-client', ['commands/sync.js', 'monitoring/run-reports.js']],
    ['preact', ['commands/sync.js', 'publish/report/publisher.js']],
    ['@redis/client', ['commands/sync.js', 'http/rate-limit/shared/redis.js']],
    ['fastify', ['commands/table.js']],
    ['@aws-sdk/client-s3', ['commands/sync.js', 'object-store/open.js']],
    ['@azure/storage-blob', ['commands/sync.js', 'object-store/open.js']],
    ['@azure/identity', ['object-store/azure/store.js']],
  ])('%s only where it is used', (name, without) => {
    for (const module of without) expect(packagesWith(module), module).not.toContain(name)
  })
})

test('a package that src imports is installed with the command', () => {
  const imported = modules.flatMap(importsOf).filter((from) => !isBuiltin(from) && !modules.includes(from))
  const names = new Set(imported.map((from) => /^(?:@[^/]+\/)?[^/]+/.exec(from)?.[0] ?? from))
  expect(names).toContain('zod')
  const installed = { ...manifest.dependencies, ...manifest.optionalDependencies }
  expect([...names].filter((name) => !(name in installed))).toEqual([])
})
