/**
 * Builds the image step by step from a clean checkout and runs it as in production. It runs as a numeric user without a
 * home, on read-only files, and syncs from a reference server into the only writable folder.
 */
import { spawnSync } from 'node:child_process'
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
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { type BuiltImage, buildImage, isRoot } from './build-image.js'
import { manifest, projectDirectory } from './dockerfile.js'
import { killStarted, SYNCED, startReferenceServer } from './installed.js'

const directory = mkdtempSync(join(tmpdir(), 'fieldwork-sync-image-'))
let image: BuiltImage
let withServer: BuiltImage

interface User {
  readonly uid: number
  readonly gid: number
}

const options = (env: Readonly<Record<string, string>>, { uid, gid }: User = image) => ({
  cwd: join(image.root, 'app'),
  env: { PATH: process.env.PATH ?? '', TMPDIR: join(image.root, 'tmp'), ...image.env, ...env },
  ...(isRoot ? { uid, gid } : {}),
})

const run = (args: readonly string[], env: Readonly<Record<string, string>> = {}, user: User = image) =>
  spawnSync(process.execPath, [...image.entryPoint, ...args], { ...options(env, user), encoding: 'utf8' })

/** Every file and folder of the image except the warehouse, with the time of its last change. */
const filesOf = (root: string): readonly string[] =>
  readdirSync(root, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.split('/')[0] !== 'warehouse')
    .map((path) => `${path} ${statSync(join(root, path)).mtimeMs}`)
    .sort()

beforeAll(() => {
  chmodSync(directory, 0o755)
  image = buildImage(join(directory, 'image'))
  withServer = buildImage(join(directory, 'with-server'), { REFERENCE_SERVER: 'with' })
  mkdirSync(join(image.root, 'tmp'))
  const app = readdirSync(join(image.root, 'app'), { recursive: true, encoding: 'utf8' })
  for (const path of ['.', 'tmp', ...app.map((file) => `app/${file}`), 'app']) {
    const file = join(image.root, path)
    chmodSync(file, statSync(file).mode & 0o555)
  }
})

afterAll(async () => {
  await killStarted()
  spawnSync('chmod', ['-R', 'u+w', directory])
  rmSync(directory, { recursive: true, force: true })
})

describe('the image', () => {
  test('contains the compiled command and its runtime dependencies, but no build or test tools', () => {
    const content = readdirSync(join(image.root, 'app')).sort()
    expect(content).toEqual(['LICENSE', 'dist', 'node_modules', 'package.json'])
    const { packages } = z
      .object({ packages: z.record(z.string(), z.object({ dev: z.boolean().optional() })) })
      .parse(JSON.parse(readFileSync(join(projectDirectory, 'package-lock.json'), 'utf8')))
    const installed = (name: string) => existsSync(join(image.root, 'app/node_modules', name))
    const needed = Object.keys({ ...manifest.dependencies, ...manifest.optionalDependencies })
    expect(needed.filter((name) => !installed(name))).toEqual(['fastify', 'light-my-request'])
    // A package that both tests and a runtime dependency use is installed.
    const forTestsOnly = Object.keys(manifest.devDependencies).filter(
      (name) => packages[`node_modules/${name}`]?.dev === true,
    )
    expect(forTestsOnly).toContain('vitest')
    expect(forTestsOnly.filter(installed)).toEqual([])
  })

  test('prints its version', () => {
    expect(run(['--version'])).toMatchObject({ status: 0, stdout: `${manifest.version}\n`, stderr: '' })
  })

  test('names the missing settings and exits 2 when it starts without settings', () => {
    const { status, stderr } = run(image.command)
    expect(status).toBe(2)
    expect(stderr).toContain('FIELDWORK_SYNC_BASE_URL')
  })

  test('says how to build it with the reference server', () => {
    expect(run(['reference-server'])).toMatchObject({
      status: 2,
      stderr: expect.stringContaining(
        'fieldwork-sync: the packages of the reference server are not installed. Build the image with --build-arg REFERENCE_SERVER=with, or install fieldwork-sync from npm\n',
      ),
    })
  })

  test.each([
    ['its user', undefined],
    ['any user of the group root', { uid: 12_345, gid: 0 }],
  ])('syncs by default as %s, and writes only to the warehouse', async (_, user) => {
    const warehouse = join(image.root, 'warehouse')
    for (const name of readdirSync(warehouse)) rmSync(join(warehouse, name), { recursive: true })
    const before = filesOf(image.root)
    const args = [...withServer.entryPoint, 'reference-server']
    const env = await startReferenceServer(process.execPath, args, options({}))
    expect(run(image.command, env, user)).toMatchObject(SYNCED)
    expect(existsSync(join(warehouse, 'fieldwork.duckdb'))).toBe(true)
    expect(filesOf(image.root)).toEqual(before)
  })
})
