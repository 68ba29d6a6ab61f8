/** `.ci/release.mjs check`: a tag, and what must agree with it. */
import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { temporaryDirectory } from '../../support/files/temporary.js'
import { manifest, projectDirectory } from './dockerfile.js'

const LOCK = 'package-lock.json'
const KUSTOMIZATION = 'config/kubernetes/kustomization.yaml'
const { version } = manifest

/** A checkout with what `check` reads, after its changes. The changelog has the section of the last version. */
const check = async (tag: string, changes: Readonly<Record<string, (text: string) => string>> = {}) => {
  const directory = await temporaryDirectory()
  const all: typeof changes = {
    '.ci/release.mjs': (text) => text,
    'package.json': (text) => text,
    [LOCK]: (text) => text,
    [KUSTOMIZATION]: (text) => text,
    'CHANGELOG.md': (text) => text,
    ...changes,
  }
  for (const [path, change] of Object.entries(all)) {
    const to = join(directory, path)
    mkdirSync(dirname(to), { recursive: true })
    cpSync(join(projectDirectory, path), to)
    writeFileSync(to, change(readFileSync(to, 'utf8')))
  }
  const { status, stdout, stderr } = spawnSync(process.execPath, ['.ci/release.mjs', 'check', tag], {
    cwd: directory,
    encoding: 'utf8',
  })
  return { status, stdout, stderr }
}

test('a release whose tag, versions and changelog agree is let through, and its version is printed', async () => {
  expect(await check(`v${version}`)).toEqual({ status: 0, stdout: `version=${version}\n`, stderr: '' })
})

const withVersion = (text: string) => text.replace(version, '7.7.7')
const DISAGREEING = [
  ['another tag', 'v7.7.7', {}, `the tag is v7.7.7, and package.json has the version ${version}`],
  ['a tag without v', version, {}, `the tag is ${version}, and package.json has the version ${version}`],
  ['another lock file', `v${version}`, { [LOCK]: withVersion }, `${LOCK} has another version`],
  [
    'a changelog without the version',
    `v${version}`,
    { 'CHANGELOG.md': withVersion },
    `CHANGELOG.md has no section "## [${version}] - DAY"`,
  ],
  [
    'a changelog without the day',
    `v${version}`,
    { 'CHANGELOG.md': (text: string) => text.replace(/^(## \[\d.*\]) - .*$/m, '$1') },
    `CHANGELOG.md has no section "## [${version}] - DAY"`,
  ],
  ['another image', `v${version}`, { [KUSTOMIZATION]: withVersion }, `${KUSTOMIZATION} has the image 7.7.7`],
] as const

test.each(DISAGREEING)('%s is refused', async (_, tag, changes, says) => {
  expect(await check(tag, changes)).toEqual({ status: 1, stdout: '', stderr: `${says}\n` })
})
