/** Checks the structure of the Dockerfile. `image.full.test.ts` runs its steps. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import {
  copyOf,
  execFormOf,
  isInContext,
  manifest,
  pairsOf,
  projectDirectory,
  readDockerfile,
  textsOf,
} from './dockerfile.js'

const stages = readDockerfile()
const image = stages.at(-1)

describe('the stages', () => {
  test('are based on Node 24 and a Debian with glibc, pinned by a digest or not', () => {
    const bases = stages.map(({ image: base }) => base.replace(/@sha256:[0-9a-f]{64}$/, ''))
    expect(bases).toEqual(['node:24-slim', 'node:24-slim', 'debian:13-slim'])
  })

  test('install dependencies from the lock file before they copy the sources', () => {
    const build = stages[0]?.instructions.map(({ keyword, text }) => `${keyword} ${text}`) ?? []
    expect(build.indexOf('RUN npm ci')).toBeGreaterThan(0)
    expect(build.indexOf('RUN npm ci')).toBeLessThan(build.indexOf('COPY src ./src'))
    expect(textsOf(stages[1], 'RUN')[0]).toBe('npm ci --omit=dev')
  })

  test('need no compiler, npm or network in the last one', () => {
    expect(textsOf(image, 'RUN').filter((text) => /npm|curl|apt/.test(text))).toEqual([])
  })
})

describe('the image', () => {
  test('runs as a numeric user that is not root', () => {
    const [user = ''] = textsOf(image, 'USER')
    expect(user).toMatch(/^[1-9]\d*:[1-9]\d*$/)
    expect(textsOf(image, 'RUN')).toEqual([
      `install --directory --owner=${user.split(':')[0]} --group=0 --mode=0775 /warehouse`,
    ])
  })

  test('starts node itself, so that signals reach it, and syncs by default', () => {
    const [entry = ''] = textsOf(image, 'ENTRYPOINT')
    expect(execFormOf(entry)).toEqual(['node', `/app/${manifest.bin['fieldwork-sync']}`])
    expect(textsOf(image, 'CMD').map(execFormOf)).toEqual([['sync']])
    expect(textsOf(image, 'STOPSIGNAL')).toEqual(['SIGTERM'])
  })

  test('keeps the warehouse in a volume, and sets that path in the environment', () => {
    const environment = pairsOf(textsOf(image, 'ENV')[0] ?? '')
    expect(environment).toEqual({ NODE_ENV: 'production', FIELDWORK_SYNC_WAREHOUSE: '/warehouse' })
    expect(textsOf(image, 'VOLUME')).toEqual(['/warehouse'])
  })

  test('has labels with the values of package.json', () => {
    expect(pairsOf(textsOf(image, 'LABEL')[0] ?? '')).toEqual({
      'org.opencontainers.image.title': manifest.name,
      'org.opencontainers.image.description': manifest.description,
      'org.opencontainers.image.licenses': manifest.license,
    })
  })

  test('contains no secret and needs none at build time', () => {
    const all = stages.flatMap((stage) => [...textsOf(stage, 'ENV'), ...textsOf(stage, 'ARG')])
    expect(all.filter((text) => /token|secret|password/i.test(text))).toEqual([])
  })
})

describe('the build context', () => {
  const fromContext = stages.flatMap((stage) =>
    textsOf(stage, 'COPY')
      .map(copyOf)
      .filter(({ from }) => from === null)
      .flatMap(({ sources }) => sources),
  )

  test('contains every file that a step copies', () => {
    expect(fromContext.filter((path) => !isInContext(path))).toEqual([])
  })

  const outside =
    'config/fieldwork-sync.yaml .env .git/config warehouse/work.duckdb node_modules/x/y.js token'
  test.each(outside.split(' '))('does not contain %s', (path) => {
    expect(isInContext(path)).toBe(false)
  })
})

test('LICENSE has the licence that package.json names', () => {
  const text = readFileSync(join(projectDirectory, 'LICENSE'), 'utf8')
  expect(text).toMatch(/^MIT License\n\nCopyright \(c\) 2026 The fieldwork-sync authors\n/)
  expect(manifest.license).toBe('MIT')
})
