// Bundles the compiled modules of build/ into dist/: dist/main.js is the command, and it loads the chunks that it needs.
// A sync opens 23 files instead of 840. The packages of "dependencies" stay outside; all others are part of the bundle.
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'rolldown'

const root = fileURLToPath(new URL('..', import.meta.url))
const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
/** The docs page of the reference server needs two files of this package, and none of its 24 dependencies. */
const VIEWER = join(root, 'node_modules/@fastify/swagger-ui')
/** Where the licence of a package without one of its own is: in another package of its author, under the same licence. */
const LICENCE_IN = { '@nodable/entities': 'fast-xml-parser' }

await build({
  input: {
    main: 'build/main.js',
    'chunks/command-line': 'build/commands/command-line.js',
    // A process of its own, which the module beside it starts.
    'chunks/answer-check-file': 'build/verify/local/answer-check-file.js',
  },
  platform: 'node',
  external: [/^node:/, ...Object.keys(manifest.dependencies)],
  preserveEntrySignatures: 'allow-extension',
  // Bottleneck hides its optional Redis clients from bundlers with eval, and yargs files that extend files need `import.meta.resolve`.
  // We use neither.
  checks: { eval: false, emptyImportMeta: false },
  // A check of undici's for cookies, which we do not use, asks for Node's own `Headers`, and that loads Node's copy of undici: 17 ms of CPU.
  transform: { define: { 'globalThis.Headers': 'undefined' } },
  plugins: [sourceMapsOfTypeScript(), commonJs(), viewerFiles(), emptyWarehouse(), thirdPartyLicences()],
  output: {
    dir: 'dist',
    cleanDir: true,
    format: 'cjs',
    sourcemap: true,
    sourcemapExcludeSources: true,
    chunkFileNames: 'chunks/[name].js',
  },
})

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

/** Node starts CommonJS sooner. Without this file it would take the chunks for ES modules, as package.json says (decision 0068). */
function commonJs() {
  return {
    name: 'common-js',
    generateBundle() {
      this.emitFile({ type: 'asset', fileName: 'package.json', source: '{ "type": "commonjs" }\n' })
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

/** A new warehouse is a copy of `dist/empty.duckdb` (`src/warehouse/lifecycle/migrations.ts`). */
function emptyWarehouse() {
  return {
    name: 'empty-warehouse',
    async generateBundle() {
      const { openDatabase } = await import('../build/warehouse/connection/database.js')
      const { migrate } = await import('../build/warehouse/lifecycle/migrations.js')
      const directory = mkdtempSync(join(tmpdir(), 'fieldwork-sync-build-'))
      try {
        const file = join(directory, 'work.duckdb')
        const database = await openDatabase(file)
        await migrate(database, { nowMs: () => 0 })
        await database.close()
        this.emitFile({ type: 'asset', fileName: 'empty.duckdb', source: readFileSync(file) })
      } finally {
        rmSync(directory, { recursive: true })
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
  const other = LICENCE_IN[name]
  if (other !== undefined)
    return licenceOf(join(root, 'node_modules', other)).replace(/^.*$/m, `${name} ${version} (${license})`)
  const file = readdirSync(directory).find((one) => /^licen[cs]e/i.test(one))
  if (file === undefined) throw new Error(`${name} has no licence file, so it cannot be part of the bundle`)
  return `${name} ${version} (${license})\n\n${readFileSync(join(directory, file), 'utf8').trim()}\n`
}
