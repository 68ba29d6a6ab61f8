/**
 * Builds the image step by step from a clean checkout and runs it as in production. It runs as a numeric user without a
 * home, on read-only files, and syncs from a reference server into the only writable folder.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { type BuiltImage, buildImage, isRoot } from './build-image.js'
import { projectDirectory } from './dockerfile.js'

const directory = mkdtempSync(join(tmpdir(), 'fieldwork-sync-image-'))
const started: ChildProcess[] = []
let image: BuiltImage

const options = (env: Readonly<Record<string, string>>) => ({
  cwd: join(image.root, 'app'),
  env: { PATH: process.env.PATH ?? '', TMPDIR: join(image.root, 'tmp'), ...image.env, ...env },
  ...(isRoot ? { uid: image.uid, gid: image.gid } : {}),
})

const run = (args: readonly string[], env: Readonly<Record<string, string>> = {}) =>
  spawnSync(process.execPath, [...image.entryPoint, ...args], { ...options(env), encoding: 'utf8' })

/** Every file and folder of the image except the warehouse, with the time of its last change. */
const filesOf = (root: string): readonly string[] =>
  readdirSync(root, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.split('/')[0] !== 'warehouse')
    .map((path) => `${path} ${statSync(join(root, path)).mtimeMs}`)
    .sort()

beforeAll(() => {
  chmodSync(directory, 0o755)
  image = buildImage(directory)
  mkdirSync(join(image.root, 'tmp'))
  for (const path of [
    '.',
    'tmp',
    ...readdirSync(join(image.root, 'app'), { recursive: true, encoding: 'utf8' }).map(
      (file) => `app/${file}`,
    ),
    'app',
  ]) {
    const file = join(image.root, path)
    chmodSync(file, statSync(file).mode & 0o555)
  }
})

afterAll(async () => {
  for (const child of started) {
    child.kill('SIGKILL')
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
  }
  spawnSync('chmod', ['-R', 'u+w', directory])
  rmSync(directory, { recursive: true, force: true })
})

describe('the image', () => {
  test('contains the compiled command and its runtime dependencies, but no build or test tools', () => {
    expect(readdirSync(join(image.root, 'app')).sort()).toEqual([
      'LICENSE',
      'dist',
      'node_modules',
      'package.json',
    ])
    const { dependencies, devDependencies } = z
      .object({
        dependencies: z.record(z.string(), z.string()),
        devDependencies: z.record(z.string(), z.string()),
      })
      .parse(JSON.parse(readFileSync(join(projectDirectory, 'package.json'), 'utf8')))
    const { packages } = z
      .object({ packages: z.record(z.string(), z.object({ dev: z.boolean().optional() })) })
      .parse(JSON.parse(readFileSync(join(projectDirectory, 'package-lock.json'), 'utf8')))
    const installed = (name: string) => existsSync(join(image.root, 'app/node_modules', name))
    expect(Object.keys(dependencies).filter((name) => !installed(name))).toEqual([])
    // A package that both tests and a runtime dependency use is installed.
    const forTestsOnly = Object.keys(devDependencies).filter(
      (name) => packages[`node_modules/${name}`]?.dev === true,
    )
    expect(forTestsOnly).toContain('vitest')
    expect(forTestsOnly.filter(installed)).toEqual([])
  })

  test('prints its version', () => {
    const { version } = z
      .object({ version: z.string() })
      .parse(JSON.parse(readFileSync(join(projectDirectory, 'package.json'), 'utf8')))
    expect(run(['--version'])).toMatchObject({ status: 0, stdout: `${version}\n`, stderr: '' })
  })

  test('names the missing settings and exits 2 when it starts without settings', () => {
    const { status, stderr } = run(image.command)
    expect(status).toBe(2)
    expect(stderr).toContain('FIELDWORK_SYNC_BASE_URL')
  })

  test('syncs by default, serves the docs page of its reference server, and writes only to the warehouse', async () => {
    const before = filesOf(image.root)
    const server = spawn(
      process.execPath,
      [...image.entryPoint, 'reference-server', '--port=0', '--surveys=3', '--rate-limit=10000/60s'],
      { ...options({}), stdio: ['ignore', 'pipe', 'inherit'] },
    )
    started.push(server)
    const [line] = await once(createInterface({ input: server.stdout }), 'line')
    const [account, base_url] = (({ accounts, base_url }) => [accounts[0], base_url] as const)(
      z
        .object({
          base_url: z.string(),
          accounts: z.tuple([z.object({ id: z.coerce.string(), token: z.string() })]),
        })
        .parse(JSON.parse(String(line))),
    )
    const docs = base_url.replace('/api/v1', '/_reference/docs')
    for (const file of ['swagger-ui.css', 'swagger-ui-bundle.js']) {
      expect([file, (await fetch(`${docs}/${file}`)).status]).toEqual([file, 200])
    }
    const sync = run(image.command, {
      FIELDWORK_SYNC_BASE_URL: base_url,
      FIELDWORK_SYNC_API_ID: account.id,
      FIELDWORK_SYNC_API_TOKEN: account.token,
    })
    expect(sync).toMatchObject({
      status: 0,
      stdout: expect.stringMatching(/\ncomplete: 3 surveys refreshed, nothing left over\.\n$/),
    })
    expect(existsSync(join(image.root, 'warehouse/fieldwork.duckdb'))).toBe(true)
    expect(filesOf(image.root)).toEqual(before)
  })
})
