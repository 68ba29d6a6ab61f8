/** Builds the site in a copy of the checkout. It installs the generator from the registry. */
import { execFileSync, spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { projectDirectory } from '../deploy/dockerfile.js'

const directory = mkdtempSync(join(tmpdir(), 'fieldwork-sync-site-'))
const { PATH = '', HOME = '/' } = process.env
const build = (env: Readonly<Record<string, string>> = {}) =>
  spawnSync(process.execPath, ['docs/site/build.mjs'], {
    cwd: directory,
    env: { PATH, HOME, ...env },
    encoding: 'utf8',
  })

beforeAll(() => {
  const tracked = execFileSync('git', ['ls-files', '-z'], { cwd: projectDirectory, encoding: 'utf8' })
  for (const file of tracked.split('\0')) {
    if (file === '' || !existsSync(join(projectDirectory, file))) continue
    mkdirSync(dirname(join(directory, file)), { recursive: true })
    cpSync(join(projectDirectory, file), join(directory, file))
  }
})

afterAll(() => rmSync(directory, { recursive: true, force: true }))

test('without a registry the build says so in one line', () => {
  const env = { npm_config_registry: 'http://127.0.0.1:9', npm_config_cache: join(directory, 'empty') }
  const { status, stderr } = build(env)
  expect({ status, stderr }).toEqual({
    status: 1,
    stderr: expect.stringMatching(/^The generator of the site is not installed, and npm cannot .+\n$/),
  })
})

test('the site has every page, its search, and nothing from elsewhere', () => {
  const { status, stderr, stdout } = build()
  expect(status, `${stdout}${stderr}`).toBe(0)
  const html = readFileSync(join(directory, '.site/dist/index.html'), 'utf8')
  for (const page of ['docs/tutorial.html', 'docs/decisions/index.html', 'CHANGELOG.html', 'test/index.html'])
    expect([page, existsSync(join(directory, '.site/dist', page))]).toEqual([page, true])
  const index = readFileSync(join(directory, '.site/dist/llms.txt'), 'utf8')
  const { homepage } = JSON.parse(readFileSync(join(directory, 'package.json'), 'utf8'))
  const addresses = [...index.matchAll(/\]\(([^)#]+)(?:#[^)]*)?\)/g)].map(([, address = '']) => address)
  expect(addresses.length).toBeGreaterThan(50)
  for (const address of addresses) {
    const file = address.replace(homepage, '').replace(/(^|\/)$/, '$1index.html')
    expect([address, existsSync(join(directory, '.site/dist', file))]).toEqual([address, true])
  }
  expect(html.includes('id="local-search"')).toBe(true)
  expect(/(?:src|<link[^>]+href)="(?:https?:)?\/\/[^"]*/.exec(html)?.[0]).toBe(undefined)
})

test('a dead link and a dead anchor fail the build', () => {
  const page = join(directory, 'CONTRIBUTING.md')
  const text = readFileSync(page, 'utf8')
  writeFileSync(page, `${text}\n[missing](docs/missing.md)\n`)
  expect(build()).toMatchObject({ status: 1, stderr: expect.stringContaining('docs/missing.md') })
  writeFileSync(page, `${text}\n[missing](docs/tutorial.md#missing)\n`)
  expect(build()).toMatchObject({ status: 1, stderr: expect.stringContaining('#missing') })
})
