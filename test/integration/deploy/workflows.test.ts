/** The workflows of `.github`: what they may do, and that pages and package.json say the same. `workflows.full.test.ts` runs their steps. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { manifest, projectDirectory } from './dockerfile.js'
import { linesOf, workflowOf, workflows } from './workflows.js'

const read = (path: string): string => readFileSync(join(projectDirectory, path), 'utf8')
const jobs = workflows.flatMap(({ file, jobs: all }) =>
  Object.entries(all).map(([id, job]) => ({ ...job, name: `${file} ${id}` })),
)

test('the workflows are these', () => {
  expect(workflows.map(({ file }) => file)).toEqual(['ci.yml', 'nightly.yml', 'release.yml'])
})

describe.each(workflows)('$file', ({ text, permissions }) => {
  test('names each action by its commit, with the version as comment', () => {
    const uses = text.match(/uses: .*/g) ?? []
    expect(uses.length).toBeGreaterThan(0)
    const pinned = /^uses: [\w-]+\/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/
    expect(uses.filter((line) => !pinned.test(line))).toEqual([])
  })

  test('grants nothing to all jobs, and uses no secret', () => {
    expect(permissions).toEqual({})
    expect(text).not.toContain('secrets.')
  })
})

test('each action has one version', () => {
  const uses = workflows.flatMap(({ text }) => text.match(/(?<=uses: ).*/g) ?? [])
  const actions = new Set(uses.map((use) => use.split('@')[0]))
  expect(new Set(uses).size).toBe(actions.size)
})

describe.each(jobs)('$name', (job) => {
  test('has steps of one line each, without expressions in them', () => {
    expect(linesOf(job).filter((line) => /\n|\$\{\{/.test(line.trimEnd()))).toEqual([])
  })

  test('keeps no token in its checkout, and no cache', () => {
    for (const step of job.steps) {
      if (!('uses' in step)) continue
      if (step.uses.startsWith('actions/checkout@'))
        expect(step.with).toEqual({ 'persist-credentials': false })
      if (step.uses.startsWith('actions/setup-node@'))
        expect(step.with).toMatchObject({ 'package-manager-cache': false })
    }
  })
})

test('only these jobs may write', () => {
  const writes = jobs.flatMap(({ name, environment, permissions }) => {
    const granted = Object.keys(permissions).filter((what) => permissions[what] !== 'read')
    return granted.length === 0 ? [] : [[name, environment, ...granted]]
  })
  expect(writes).toEqual([
    ['release.yml npm', 'release', 'id-token'],
    ['release.yml image', 'release', 'packages', 'id-token'],
    ['release.yml publish', undefined, 'contents', 'id-token', 'attestations'],
    ['release.yml pages', 'github-pages', 'pages', 'id-token'],
  ])
})

describe('the versions of Node', () => {
  const [ci, attempt] = [workflowOf('ci.yml').jobs.run, workflowOf('release.yml').jobs.try]
  const nodes = ci?.strategy?.matrix.node ?? []

  test('are the lines that package.json supports, the oldest with its oldest version', () => {
    const floors = manifest.engines.node?.match(/\d+\.\d+(?=\.\d+)/g) ?? []
    expect(nodes).toEqual(floors.map((floor, at) => (at === 0 ? floor : floor.split('.')[0])))
  })

  test('are those with which a release is tried, on the same machines', () => {
    expect(attempt?.strategy).toEqual(ci?.strategy)
  })

  test('begin with that of the full suite', () => {
    expect(workflowOf('nightly.yml').jobs.full?.container?.image).toMatch(`node:${nodes[0]?.split('.')[0]}-`)
  })
})

test('the page of releases names the jobs of the workflow in their order, with each line that they run', () => {
  const [, chapter = ''] = read('docs/release.md').split('## What the workflow does\n')
  const [, ...parts] = chapter.split('\n## ')[0]?.split(/^\*\*`/m) ?? []
  const described = parts.map((part) => [
    part.split('`')[0],
    [...part.matchAll(/^ {4}(\S.*)$/gm)].map(([, line]) => line),
  ])
  const { jobs: release } = workflowOf('release.yml')
  expect(described).toEqual(Object.entries(release).map(([id, job]) => [id, linesOf(job)]))
})

test('dependabot looks at every lock file, the Dockerfile and the workflows', () => {
  const { updates } = parse(read('.github/dependabot.yml'))
  const found = updates.map((one: Record<string, unknown>) => [one['package-ecosystem'], one.directory])
  expect(found).toEqual([
    ['npm', '/'],
    ['npm', '/docs/site'],
    ['github-actions', '/'],
    ['docker', '/'],
  ])
  for (const path of ['package-lock.json', 'docs/site/package-lock.json', 'Dockerfile'])
    expect([path, existsSync(join(projectDirectory, path))]).toEqual([path, true])
})

test('package.json names the repository, and publishes with provenance', () => {
  const page = 'https://github.com/fieldwork-sync/fieldwork-sync'
  expect(JSON.parse(read('package.json'))).toMatchObject({
    repository: { type: 'git', url: `git+${page}.git` },
    bugs: { url: `${page}/issues` },
    publishConfig: { access: 'public', provenance: true },
  })
})
