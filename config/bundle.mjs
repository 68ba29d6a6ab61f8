// Bundles the compiled modules of build/ into dist/: dist/main.js is the command, and it loads the chunks that it needs.
// A sync opens 23 files instead of 840. The packages of "dependencies" stay outside; all others are part of the bundle.
import { readdirSync, readFileSync } from 'node:fs'
import { join, relative, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'rolldown'

const root = fileURLToPath(new URL('..', import.meta.url))
const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
/** The docs page of the reference server needs two files of this package, and none of its 24 dependencies. */
const VIEWER = join(root, 'node_modules/@fastify/swagger-ui')

/**
 * The modules that are always loaded together. Every other module goes where its importers are. `start` is all that `--help`
 * and `--version` load; it must not grow by a room that only some commands need.
 */
const CHUNKS = {
  start: [
    'build/base/(address-space|clock|errors|log|secret|stack|suggest|version).js',
    'build/commands/(command-line|context|flags|report-error|table).js',
    'build/logging/std(err|out).js',
    'build/model/publish-formats.js',
    'build/reference-server/option-texts.js',
    'build/settings/environment.js',
  ],
  libraries: ['node_modules/(zod|p-limit|yocto-queue)/'],
  model: ['build/(base|model)/'],
  settings: [
    'build/(settings|commands/text)/',
    'build/logging/(?!pretty|log.js)',
    'build/warehouse/lifecycle/files.js',
    'node_modules/yaml/',
  ],
  bucket: ['build/(object-store|publish/delta|storage/bucket)/'],
  report: [
    'build/publish/report/(?!publisher)',
    'node_modules/(preact|preact-render-to-string|d3-array|d3-time|internmap)/',
  ],
  warehouse: ['build/(warehouse|publish|storage)/', 'node_modules/@duckdb/node-api/'],
  metrics: ['build/monitoring/metrics/', 'config/prom-client.mjs', 'node_modules/prom-client/'],
  monitoring: ['build/monitoring/(?!metrics/)'],
  source: ['build/(http|survey-api)/', 'config/undici.mjs', 'node_modules/(undici|bottleneck)/'],
}

/** Modules of yargs and pino that the command does not need, and what takes their place. */
const REPLACED = {
  // Help is ASCII. The tables of emoji and of East Asian scripts took 25 ms of CPU at every start.
  'string-width': 'export default (text) => text.length',
  // Finds a package.json with a version. The command has its own.
  'escalade/sync': 'export default () => undefined',
  // Finds the file that lists a directory of commands. Ours are listed in src/commands/table.ts.
  'get-caller-file': 'export default () => import.meta.url',
  // The worker of pino's transports is a file of its own. We write lines in this process.
  'thread-stream': 'export default undefined',
}

await build({
  input: {
    main: 'build/main.js',
    'command-line': 'build/commands/command-line.js',
    // A process of its own, which the module beside it starts.
    'chunks/answer-check-file': 'build/verify/local/answer-check-file.js',
  },
  platform: 'node',
  external: [/^node:/, ...Object.keys(manifest.dependencies)],
  resolve: {
    alias: {
      undici: join(root, 'config/undici.mjs'),
      'prom-client': join(root, 'config/prom-client.mjs'),
    },
  },
  preserveEntrySignatures: 'allow-extension',
  // Bottleneck hides its optional Redis clients from bundlers with eval. We use neither.
  checks: { eval: false },
  plugins: [replacements(), sourceMapsOfTypeScript(), acyclicChunks(), viewerFiles(), thirdPartyLicences()],
  output: {
    dir: 'dist',
    cleanDir: true,
    format: 'esm',
    sourcemap: true,
    sourcemapExcludeSources: true,
    chunkFileNames: ({ name, facadeModuleId }) =>
      `chunks/${facadeModuleId?.includes('/build/commands/') ? nameOfCommandModule(facadeModuleId) : name}.js`,
    codeSplitting: {
      includeDependenciesRecursively: false,
      groups: Object.entries(CHUNKS).map(([name, modules]) => ({
        name,
        test: new RegExp(
          `^(?:${root}|.*/(?=node_modules/))(${modules.join('|').replaceAll(/\.(m?js)/g, '\\.$1$')})`,
        ),
      })),
    },
  },
})

/** `build/commands/export/workbooks.js` becomes `export-workbooks`. */
function nameOfCommandModule(path) {
  return relative(join(root, 'build/commands'), path).replace(/\.js$/, '').replaceAll(sep, '-')
}

function replacements() {
  return {
    name: 'replacements',
    resolveId: (id) => (Object.hasOwn(REPLACED, id) ? `\0${id}` : null),
    load: (id) => REPLACED[id.slice(1)] ?? null,
  }
}

/** Stacks then name the lines of `src` (`src/base/stack.ts`). */
function sourceMapsOfTypeScript() {
  return {
    name: 'source-maps-of-typescript',
    load: (id) =>
      id.startsWith(join(root, 'build/'))
        ? { code: readFileSync(id, 'utf8'), map: readFileSync(`${id}.map`, 'utf8') }
        : null,
  }
}

/** Chunks that import each other would run code before what it needs. Then `CHUNKS` separates modules that belong together. */
function acyclicChunks() {
  return {
    name: 'acyclic-chunks',
    generateBundle(_, bundle) {
      const visit = (file, path) => {
        if (path.includes(file)) this.error(`chunks import each other: ${[...path, file].join(' -> ')}`)
        for (const next of bundle[file]?.imports ?? []) visit(next, [...path, file])
      }
      for (const file of Object.keys(bundle)) visit(file, [])
    },
  }
}

/** They are read from `dist/viewer` when a browser requests them (`src/reference-server/docs/page.ts`). */
function viewerFiles() {
  return {
    name: 'viewer-files',
    generateBundle() {
      for (const file of ['swagger-ui.css', 'swagger-ui-bundle.js']) {
        const source = readFileSync(join(VIEWER, 'static', file))
        this.emitFile({ type: 'asset', fileName: `viewer/${file}`, source })
      }
    },
  }
}

/** Swagger UI is in the files of that package, without its licence: it has the one of prom-client. */
function noticeOfSwaggerUi() {
  const { devDependencies } = JSON.parse(readFileSync(join(VIEWER, 'package.json'), 'utf8'))
  const name = `swagger-ui ${devDependencies['swagger-ui-dist']} (Apache-2.0)`
  return `${name}\n\nCopyright 2020-2021 SmartBear Software Inc.\nThe text of the licence is that of prom-client above.\n`
}

/** Writes the licences of the packages in the bundle, because their own files are not installed with it. */
function thirdPartyLicences() {
  return {
    name: 'third-party-licences',
    generateBundle(_, bundle) {
      const modules = Object.values(bundle).flatMap((file) => (file.type === 'chunk' ? file.moduleIds : []))
      const packages = new Set(
        modules.flatMap((id) => /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+/.exec(id)?.[0] ?? []),
      )
      const source = [...[...packages, VIEWER].sort().map(licenceOf), noticeOfSwaggerUi()].join(
        `\n${'-'.repeat(80)}\n\n`,
      )
      this.emitFile({ type: 'asset', fileName: 'third-party-licences.txt', source })
    },
  }
}

function licenceOf(directory) {
  const { name, version, license } = JSON.parse(readFileSync(join(directory, 'package.json'), 'utf8'))
  const file = readdirSync(directory).find((one) => /^licen[cs]e/i.test(one))
  if (file === undefined) throw new Error(`${name} has no licence file, so it cannot be part of the bundle`)
  return `${name} ${version} (${license})\n\n${readFileSync(join(directory, file), 'utf8').trim()}\n`
}
