/**
 * Other programs look for mistakes in the workflows. The steps of the shell run outside of the service, in the order of the workflow, each
 * job in a clean clone of a checkout that was prepared for a release.
 */
import { execFileSync, spawnSync } from 'node:child_process'
import { accessSync, constants, cpSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { temporaryDirectory } from '../../support/files/temporary.js'
import { lacks } from '../../support/suite/lacks.js'
import { projectDirectory } from './dockerfile.js'
import { copyTracked } from './installed.js'
import { type ActionStep, type Job, linesOf, WORKFLOWS, workflowOf, workflows } from './workflows.js'

const ACTIONLINT = join(projectDirectory, '.readers/actionlint/actionlint')
const ZIZMOR = join(projectDirectory, '.readers/zizmor/bin/zizmor')

const lint = (program: string, ...args: readonly string[]) => {
  const { status, stdout, stderr } = spawnSync(program, args, { cwd: projectDirectory, encoding: 'utf8' })
  return { status, text: status === 0 ? '' : `${stdout}${stderr}` }
}

test.skipIf(lacks('actionlint', existsSync(ACTIONLINT)))('actionlint finds no mistake', () => {
  const files = workflows.map(({ file }) => join(WORKFLOWS, file))
  expect(lint(ACTIONLINT, ...files)).toEqual({ status: 0, text: '' })
})

test.skipIf(lacks('zizmor', existsSync(ZIZMOR)))('zizmor finds no weakness', () => {
  expect(lint(ZIZMOR, '--offline', '--no-progress', '.github')).toEqual({ status: 0, text: '' })
})

const VERSION = '9.8.7'
const TAG = `v${VERSION}`

/** What takes as long as the suite that this test is part of: such a script must be there. Steps after it need the packages only. */
const LONG = new Map([
  ['.ci/run', 'npm ci'],
  ['.ci/full', ':'],
])

/** What needs the service, and why. Only the files that such a line names are looked for. */
const NEEDS_SERVICE = new Map([
  ['docker', 'a container engine, and base images. image.full.test.ts runs the steps of the Dockerfile'],
  ['cosign', 'the registry, and the identity of the workflow'],
  ['gh', 'GitHub, and the token of the workflow'],
])

const { PATH = '', HOME = '/', NODE_EXTRA_CA_CERTS } = process.env

/** A repository with the current content of the files that git tracks, after what docs/release.md says, and the tag on `branch`. */
const prepared = async (branch = 'main'): Promise<string> => {
  const directory = await temporaryDirectory()
  copyTracked(directory)
  const run = (program: string, ...args: readonly string[]) =>
    execFileSync(program, args, { cwd: directory, env: { PATH, HOME }, stdio: 'pipe' })
  const edit = (path: string, from: RegExp, to: string) => {
    const file = join(directory, path)
    writeFileSync(file, readFileSync(file, 'utf8').replace(from, to))
  }
  run('npm', 'version', VERSION, '--no-git-tag-version')
  edit('CHANGELOG.md', /^## \[Unreleased\]$/m, `$&\n\n## [${VERSION}] - 2026-12-01`)
  edit('config/kubernetes/kustomization.yaml', /newTag: .*/, `newTag: ${VERSION}`)
  const git = (...args: readonly string[]) => run('git', '-c', 'user.name=t', '-c', 'user.email=t@t', ...args)
  git('init', '--quiet', '--initial-branch', 'main')
  git('add', '--all')
  git('commit', '--quiet', '--message', `Release ${VERSION}`)
  if (branch !== 'main') {
    git('switch', '--quiet', '--create', branch)
    git('commit', '--quiet', '--allow-empty', '--message', 'Not merged')
  }
  git('tag', '--annotate', TAG, '--message', TAG)
  return directory
}

/** What `actions/checkout` makes: only the commit of the tag. */
const checkOut = (repository: string, to: string): void => {
  const clone = ['clone', '--quiet', '--depth', '1', '--branch', TAG, `file://${repository}`, to]
  execFileSync('git', clone, { stdio: 'pipe' })
}

interface Place {
  readonly checkout: string
  readonly artifacts: string
  readonly outputs: string
}

/** As the service does it: a shell for each line. `npm stage publish` ends before it sends. */
const runLine = (line: string, job: Job, { checkout, outputs }: Place): void => {
  const [program = ''] = line.split(' ')
  if (LONG.has(line)) accessSync(join(checkout, line), constants.X_OK)
  const files = line.split(' ').filter((word) => word.startsWith('release/'))
  const runs = NEEDS_SERVICE.has(program) ? `ls . ${files.join(' ')}` : (LONG.get(line) ?? line)
  const { status, stdout, stderr } = spawnSync('bash', ['-e', '-c', runs], {
    cwd: checkout,
    encoding: 'utf8',
    env: {
      ...{
        PATH,
        HOME,
        GITHUB_REF_NAME: TAG,
        GITHUB_OUTPUT: outputs,
        npm_config_dry_run: String(program === 'npx'),
        ...(NODE_EXTRA_CA_CERTS === undefined ? {} : { NODE_EXTRA_CA_CERTS }),
      },
      ...Object.fromEntries(Object.entries(job.env).map(([name, value]) => [name, String(value)])),
    },
  })
  expect(status, `${line}\n${stdout}${stderr}`).toBe(0)
  if (program === 'npx') expect(stdout).toContain(`+ fieldwork-sync@${VERSION} (staged)`)
}

/** An action, as far as later lines see what it does. */
const runAction = ({ uses, with: settings }: ActionStep, place: Place): void => {
  const path = join(place.checkout, String(settings.path ?? '.'))
  const artifact = join(place.artifacts, String(settings.name))
  if (uses.startsWith('actions/upload-artifact@')) cpSync(path, artifact, { recursive: true })
  if (uses.startsWith('actions/download-artifact@')) cpSync(artifact, path, { recursive: true })
  if (uses.startsWith('actions/upload-pages-artifact@')) accessSync(join(path, 'index.html'))
}

describe.each(workflows)('$file', ({ file }) => {
  test('every line of the shell runs in a clean clone, or names what is there', async () => {
    const repository = await prepared()
    const place = {
      artifacts: await temporaryDirectory(),
      outputs: join(await temporaryDirectory(), 'outputs'),
    }
    for (const job of Object.values(workflowOf(file).jobs)) {
      const checkout = await temporaryDirectory()
      for (const step of job.steps) {
        if ('run' in step) runLine(step.run, job, { ...place, checkout })
        else if (step.uses.startsWith('actions/checkout@')) checkOut(repository, checkout)
        else runAction(step, { ...place, checkout })
      }
    }
    if (file === 'release.yml') expect(readFileSync(place.outputs, 'utf8')).toBe(`version=${VERSION}\n`)
  })
})

test('a release is refused before anything else if its tag is not on main', async () => {
  const lines = linesOf(workflowOf('release.yml').jobs.pack).slice(0, 2)
  const ended = async (branch: string) => {
    const checkout = await temporaryDirectory()
    checkOut(await prepared(branch), checkout)
    const env = { PATH, HOME, GITHUB_REF_NAME: TAG }
    const { status, stdout, stderr } = spawnSync('bash', ['-e', '-c', lines.join('\n')], {
      cwd: checkout,
      encoding: 'utf8',
      env,
    })
    return { status, text: `${stdout}${stderr}` }
  }
  expect(await ended('main')).toEqual({ status: 0, text: '' })
  expect(await ended('beside')).toEqual({
    status: 1,
    text: `${TAG} is not on main. Tag a commit of main\n`,
  })
})

test('the lists of lines that do not run here have only what a workflow has', () => {
  const lines = workflows.flatMap(({ jobs }) =>
    Object.values(jobs).flatMap(({ steps }) => steps.flatMap((step) => ('run' in step ? [step.run] : []))),
  )
  const programs = lines.map((line) => line.split(' ')[0])
  expect([...LONG.keys(), ...NEEDS_SERVICE.keys()].filter((name) => !programs.includes(name))).toEqual([])
})
