/** What is in the bundle of the command, which of its files a start loads, and the licences of its packages. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { isBuiltin } from 'node:module'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { readableStack } from '../../../src/base/stack.js'
import { openDatabase } from '../../../src/warehouse/connection/database.js'
import { run } from '../../support/command/command.js'
import { temporaryDirectory } from '../../support/files/temporary.js'
import { SLOW } from '../../support/suite/slow.js'
import { rowsOf, testWarehouse } from '../../support/warehouse/warehouse.js'
import { manifest, projectDirectory } from './dockerfile.js'

const dist = join(projectDirectory, 'dist')
const textOf = (path: string): string => readFileSync(join(dist, path), 'utf8')

/** The files of the bundle. */
const files = readdirSync(dist, { recursive: true, encoding: 'utf8' })
  .filter((path) => path.endsWith('.js') && !path.startsWith('compile-cache'))
  .sort()

/** The modules that a file of the bundle imports when it is loaded. */
const importsOf = (path: string): readonly string[] =>
  [...textOf(path).matchAll(/^(?:(?:const|let) \S+ = )?require\("([^"]+)"\);$/gm)].map(([, from = '']) =>
    from.startsWith('.') ? join(dirname(path), from) : from,
  )

/** The files and packages that are loaded with a file of the bundle. */
const loadedWith = (path: string, seen = new Set<string>()): ReadonlySet<string> => {
  if (seen.has(path)) return seen
  seen.add(path)
  if (files.includes(path)) for (const next of importsOf(path)) loadedWith(next, seen)
  return seen
}

const withoutNode = (loaded: ReadonlySet<string>): readonly string[] =>
  [...loaded].filter((path) => !isBuiltin(path)).sort()

/** The files that a command line loads, relative to `dist`. V8 lists the scripts of a process in the file of its coverage. */
const loadedBy = async (args: readonly string[], directory: string): Promise<readonly string[]> => {
  const { code } = await run(args, { NODE_V8_COVERAGE: directory })
  expect(code).toBe(2)
  const coverage = z.object({ result: z.array(z.object({ url: z.string() })) })
  return readdirSync(directory)
    .flatMap((name) => coverage.parse(JSON.parse(readFileSync(join(directory, name), 'utf8'))).result)
    .flatMap(({ url }) => (url.startsWith('file:') ? [relative(dist, fileURLToPath(url))] : []))
}

/** The sources in each file of the bundle, such as `src/main.ts`, from its source map. */
const sources = new Map(
  files
    .filter((path) => existsSync(join(dist, `${path}.map`)))
    .map((path) => [
      path,
      z
        .object({ sources: z.array(z.string()) })
        .parse(JSON.parse(textOf(`${path}.map`)))
        .sources.map((source) => relative(projectDirectory, join(dist, dirname(path), source))),
    ]),
)

/** The file of the bundle that has this module of `src`. */
const fileOf = (module: string): string => {
  const [found] = [...sources].find(([, modules]) => modules.includes(`src/${module}`)) ?? []
  if (found === undefined) throw new Error(`${module} is in no file of the bundle`)
  return found
}

/** The packages whose code is in these files. */
const packagesIn = (paths: Iterable<string>): readonly string[] =>
  [
    ...new Set(
      [...paths]
        .flatMap((path) => sources.get(path) ?? [])
        .flatMap((source) => /.*node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(source)?.[1] ?? []),
    ),
  ].sort()

const bundled = packagesIn(files)

describe('a start loads', () => {
  test('nothing before it has checked the version of Node', () => {
    expect(withoutNode(loadedWith('main.js'))).toEqual(['main.js'])
    expect(textOf('main.js'), 'syntax of today').not.toMatch(/^[^*]*(\?\?|\?\.|\bawait\b)/m)
  })

  test('no package before it reads the command line', () => {
    expect(packagesIn(loadedWith(fileOf('start.ts')))).toEqual([])
  })

  test('no package in addition for wrong usage, and only yargs for --help', () => {
    expect(packagesIn(loadedWith(fileOf('commands/read-command-line.ts')))).toEqual([])
    const packages = packagesIn(loadedWith(fileOf('commands/yargs.ts')))
    expect(packages).toContain('yargs')
    for (const name of ['@duckdb/node-api', 'pino', 'undici', 'yaml', 'zod'])
      expect(packages).not.toContain(name)
  })

  const COMMANDS = [
    ...['sync', 'init --base-url wrong --id 1 --token-file absent', 'check', 'conformance'],
    ...['export --format csv --out out', 'plan', 'replay', 'report --out report.html', 'status', 'verify'],
  ].map((line) => line.split(' '))

  test.each(SLOW ? COMMANDS : COMMANDS.slice(0, 2))(
    'neither DuckDB nor the HTTP client before the settings of %s are read',
    async (...args) => {
      const directory = await temporaryDirectory()
      const wrong = args[0] === 'init' ? '--out' : '--config'
      const loaded = await loadedBy(
        [...args, wrong, join(directory, 'absent.yaml')],
        join(directory, 'loaded'),
      )
      expect(loaded).toContain(fileOf('settings/load-settings.ts'))
      expect(loaded).not.toContain(fileOf('warehouse/connection/database.ts'))
      expect(loaded).not.toContain(fileOf('http/client.ts'))
      expect(loaded.filter((path) => path !== 'main.js' && !path.startsWith('chunks/'))).toEqual([])
    },
  )

  test("nothing of Node's own HTTP client, which takes 17 ms and 10 GiB of addresses", () => {
    for (const path of files) expect(textOf(path), path).not.toContain('globalThis.Headers')
  })

  test.each(['plan', 'query', 'export', 'report', 'status'])(
    'no HTTP client for a command without requests: %s',
    (command) => {
      const loaded = withoutNode(loadedWith(fileOf(`commands/${command}.ts`)))
      expect(loaded).toContain(fileOf('warehouse/connection/database.ts'))
      expect(loaded).not.toContain(fileOf('http/client.ts'))
    },
  )

  test('the library for workbooks only where a workbook is written', () => {
    const loads = files.filter((path) => packagesIn([path]).includes('hucre'))
    expect(loads).toEqual([fileOf('commands/text/sheet.ts')])
    for (const command of ['export', 'query'])
      expect(withoutNode(loadedWith(fileOf(`commands/${command}.ts`)))).not.toContain(loads[0])
  })
})

describe('a run loads', () => {
  test('the library for mail only where a mail is sent', () => {
    const loads = files.filter((path) => packagesIn([path]).includes('nodemailer'))
    expect(loads).toEqual([fileOf('monitoring/mail.ts')])
    expect(withoutNode(loadedWith(fileOf('commands/monitored-run/digests.ts')))).not.toContain(loads[0])
  })
})

test('the clients of Azure are loaded only with a store at az://', () => {
  const loads = files.filter((path) => packagesIn([path]).some((name) => name.startsWith('@azure/')))
  const before = withoutNode(loadedWith(fileOf('object-store/open.ts')))
  expect(before.filter((path) => loads.includes(path))).toEqual([])
  const store = loadedWith(fileOf('object-store/azure/store.ts'))
  expect(packagesIn(store)).toContain('@azure/storage-blob')
  expect(packagesIn(store)).not.toContain('@azure/identity')
})

describe('the bundle', () => {
  test('contains these packages and no dependency of package.json', () => {
    expect(bundled.join(' ')).toBe(
      '@azure/abort-controller @azure/core-auth @azure/core-client @azure/core-http-compat ' +
        '@azure/core-lro @azure/core-rest-pipeline @azure/core-tracing @azure/core-util @azure/core-xml ' +
        '@azure/identity @azure/logger @azure/msal-common @azure/msal-node @azure/storage-blob ' +
        '@azure/storage-common @duckdb/node-api @nodable/entities @opentelemetry/api @pinojs/redact ' +
        '@typespec/ts-http-runtime agent-base ansi-regex ansi-styles anynum atomic-sleep bintrees ' +
        'bottleneck buffer-equal-constant-time bundle-name cliui csv-parse d3-array d3-time ' +
        'default-browser default-browser-id define-lazy-prop ecdsa-sig-formatter emoji-regex escalade ' +
        'fast-string-truncated-width fast-string-width fast-xml-builder fast-xml-parser ' +
        'get-caller-file get-east-asian-width http-proxy-agent ' +
        'https-proxy-agent hucre is-docker is-inside-container is-unsafe is-wsl jsonwebtoken jwa jws ' +
        'lodash.includes lodash.isboolean lodash.isinteger lodash.isnumber lodash.isplainobject ' +
        'lodash.isstring lodash.once ms nodemailer on-exit-leak-free open p-limit ' +
        'path-expression-matcher pino pino-std-serializers preact preact-render-to-string prom-client ' +
        'quick-format-unescaped run-applescript safe-buffer safe-stable-stringify semver sonic-boom ' +
        'string-width strip-ansi strnum tdigest thread-stream undici wrap-ansi wsl-utils xml-naming y18n ' +
        'yaml yargs yargs-parser yocto-queue zod',
    )
    expect(bundled.filter((name) => name in manifest.dependencies)).toEqual([])
  })

  test('imports only dependencies of package.json', () => {
    const imported = files.flatMap(importsOf).filter((from) => !isBuiltin(from) && !files.includes(from))
    expect(imported).toContain('fastify')
    expect(imported.filter((name) => !(name in manifest.dependencies))).toEqual([])
  })

  test('comes with the licence of each package, and of the files of the docs page', () => {
    const licences = textOf('third-party-licences.txt')
    expect(licences).toMatch(/^swagger-ui \d+\.\S+ \(Apache-2\.0\)\n\nCopyright 2020-2021 SmartBear/m)
    const names = [
      ...licences.matchAll(/^(\S+) \d+\.\S+ \((?:MIT|MIT-0|ISC|Apache-2\.0|0BSD|BSD-3-Clause)\)$/gm),
    ].map(([, name]) => name)
    expect([...new Set(names)].sort()).toEqual([...bundled, '@fastify/swagger-ui', 'swagger-ui'].sort())
    // The files of swagger-ui have the licence text of prom-client.
    expect(
      licences.match(
        /Permission (is hereby granted|to use, copy)|Grant of Copyright License|Redistribution and use/g,
      ),
    ).toHaveLength(names.length - 1)
  })
})

describe('the empty warehouse', () => {
  const CATALOG = [
    `SELECT schema_name, table_name, column_name, data_type, is_nullable, comment FROM duckdb_columns()
      WHERE database_name = current_database() AND NOT internal ORDER BY schema_name, table_name, column_index`,
    `SELECT view_name AS name, comment, sql FROM duckdb_views() WHERE database_name = current_database() AND NOT internal
      UNION ALL SELECT table_name, comment, sql FROM duckdb_tables() WHERE database_name = current_database() ORDER BY ALL`,
    'SELECT version, description, descriptions_digest FROM _sync.schema_version',
  ]

  test('is the one that the declarations give', async () => {
    const declared = await testWarehouse()
    await using copied = await openDatabase(join(dist, 'empty.duckdb'), { readOnly: true })
    for (const sql of CATALOG) expect(await rowsOf(copied, sql)).toEqual(await declared.rows(sql))
  })

  test('is beside the directory of the module that copies it', () => {
    const module = fileOf('warehouse/lifecycle/migrations.ts')
    expect(existsSync(join(dist, dirname(module), '../empty.duckdb'))).toBe(true)
  })
})

describe('a stack', () => {
  const file = fileOf('commands/read-command-line.ts')
  const chunk = textOf(file).split('\n')
  const line = chunk.findIndex((text) => text.includes('problems.join(')) + 1
  const path = join(dist, file)

  test.each([path, pathToFileURL(path).href])('names the lines of src: %s', (one) => {
    const stack = `UsageError: wrong\n    at run (${one}:${line}:10)\n    at node:internal/modules/run_main:117:5`
    const [message, frame, other] = readableStack(stack).split('\n')
    expect(message).toBe('UsageError: wrong')
    expect(other).toBe('    at node:internal/modules/run_main:117:5')
    const [, place = ''] =
      /^ {4}at run \(src\/commands\/read-command-line\.ts:(\d+):\d+\)$/.exec(frame ?? '') ?? []
    const source = readFileSync(join(projectDirectory, 'src/commands/read-command-line.ts'), 'utf8').split(
      '\n',
    )
    expect(source[Number(place) - 1]).toContain('problems.join(')
  })

  test('stays as it is where there is no source map', () => {
    const stack = `Error: x\n    at a (${path.replace(/[^/]+$/, 'absent.js')}:1:1)\n    at b (file:///nowhere/b.js:2:3)`
    expect(readableStack(stack)).toBe(stack)
  })
})
