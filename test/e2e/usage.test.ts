/** A wrong call of the command, or a first call without settings, prints sentences and never a stack. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { EXITS } from '../../src/base/errors.js'
import { COMMANDS } from '../../src/commands/table.js'
import { runYargs } from '../../src/commands/yargs.js'
import { manifest, projectDirectory } from '../integration/deploy/dockerfile.js'
import { type Env, run, start } from '../support/command/command.js'
import { openTrial } from '../support/command/trial.js'
import { runWarm } from '../support/command/warm.js'
import { some } from '../support/suite/cases.js'

/** ASCII, because columns count as such, in 80 columns. */
const FITS = /^([ -~]{0,80}\n)*$/

describe('help', () => {
  test.concurrent('names every command and exit code', async () => {
    const { code, stdout } = await runWarm(['--help'])
    expect(code).toBe(0)
    const commands = [...stdout.matchAll(/^ {2}([a-z-]+) +[A-Z]/gm)].map(([, name = '']) => name)
    expect(commands.toSorted()).toEqual(COMMANDS.map(({ name }) => name).toSorted())
    expect(stdout.match(/^\S.*:$/gm)).toEqual([
      'Options:',
      'Run:',
      'Read:',
      'Check:',
      'Develop:',
      'Exit codes:',
    ])
    const text = stdout.replaceAll(/\s+/g, ' ')
    for (const [exit, { meaning }] of Object.entries(EXITS)) expect(text).toContain(` ${exit} ${meaning} `)
    expect(stdout).toMatch(FITS)
  })

  test.concurrent.for(COMMANDS)('of $name describes every flag', async ({ name, flags }) => {
    const { code, stdout, stderr } = await runWarm([name, '--help'])
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    const described = [...stdout.matchAll(/^ +(?:-\w, )?--([\w-]+)(?:, --[\w-]+)? +([A-Z]\w*)/gm)].map(
      ([, flag]) => flag,
    )
    const declared = Object.entries(flags).flatMap(([flag, { type }]) => (type === 'argument' ? [] : [flag]))
    expect(described).toEqual(expect.arrayContaining(['version', 'help', ...declared]))
    expect(stdout).toMatch(FITS)
    const [, examples = '', settings] = /^Examples:\n(.*)\n\n(Settings: .*)$/ms.exec(stdout) ?? []
    const lines = examples.split('\n').filter((_, at) => at % 2 === 1)
    expect(lines).toHaveLength(2)
    for (const line of lines) {
      const [program, ...words] = (line.match(/"[^"]*"|\S+/g) ?? []).map((word) => word.replaceAll('"', ''))
      expect(program).toBe('fieldwork-sync')
      const ran: string[] = []
      await runYargs(words, { columns: 80, run: async (command) => void ran.push(command.name) })
      expect(ran).toEqual([name])
    }
    expect(settings).toMatch('config' in flags ? /\.\/fieldwork-sync\.yaml/ : /these flags/)
  })

  test.concurrent('--version prints only the version', async () => {
    expect(await run(['--version'])).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^\d+\.\d+\.\d+\n$/),
    })
  })
})

/** An environment in which a property of `process` has another value before the command loads. */
const pretending = (name: string, value: unknown): Env => {
  const change = `Object.defineProperty(process, '${name}', { value: ${JSON.stringify(value)} })`
  return { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(change)}` }
}

test.concurrent.for([['sync', '--json'], ['--version'], []])(
  'on Windows, %j gets one line and exit 2',
  async (args) => {
    expect(await run(args, pretending('platform', 'win32'))).toMatchObject({
      code: 2,
      signal: null,
      stdout: '',
      stderr:
        'fieldwork-sync: Windows is not supported. Run it on Linux or macOS, or on Windows in WSL or a container. Nothing was read or changed\n',
    })
  },
)

test.concurrent.for(['linux', 'darwin'])('on %s, the command starts', async (platform) => {
  expect(await run(['--version'], pretending('platform', platform))).toMatchObject({ code: 0, stderr: '' })
})

describe('a Node that does not suit', () => {
  const aged = (version: string): Env => pretending('versions', { node: version })

  const UNSUITED = [
    ['20.18.3', ['sync', '--json']],
    ['21.7.3', ['status']],
    ['22.2.0', ['--version']],
    ['22.11.0', ['check']],
    ['23.11.1', ['--help']],
    ['18.20.8', ['--version']],
    ['8.17.0', []],
  ] as const
  const SUITED = ['20.19.0', '20.20.2', '22.12.0', '24.0.0', '25.0.0', '100.0.0']

  test.concurrent.for(some<(typeof UNSUITED)[number]>(UNSUITED, 3))(
    '%s gets one line and exit 2',
    async ([version, args]) => {
      expect(await run(args, aged(version))).toMatchObject({
        code: 2,
        signal: null,
        stdout: '',
        stderr: `fieldwork-sync: Node 20.19, 22.12, 24 or newer is needed, but ${process.execPath} is Node ${version}. Nothing was read or changed\n`,
      })
    },
  )

  test.concurrent('ends the demo and the build before they remove anything', async () => {
    const demo = fileURLToPath(new URL('../demo/demo.mjs', import.meta.url))
    const ended = await start([], aged('20.18.3'), demo).ended
    expect(ended).toMatchObject({ code: 2, stdout: '' })
    expect(ended.stderr).toMatch(/^fieldwork-sync: Node 20\.19, 22\.12, 24 or newer is needed, .*\n$/)
    expect(manifest.scripts.build).toMatch(/^node src\/node-floor\.js && /)
    expect(manifest.scripts.demo).toMatch(/^npm run --silent build && /)
  })

  test.concurrent.for(some(SUITED, 2))('is none of %s', async (version) => {
    expect(await run(['--version'], aged(version))).toMatchObject({ code: 0, stderr: '' })
  })

  test('is one that package.json refuses', () => {
    const floor = readFileSync(join(projectDirectory, 'src/node-floor.js'), 'utf8')
    const floors = [...floor.matchAll(/^ {2}\[(\d+), (\d+)\],$/gm)].map(
      ([, major, minor]) => `${major}.${minor}.0`,
    )
    const newest = floors.pop()
    expect(manifest.engines.node).toBe([...floors.map((one) => `^${one}`), `>=${newest}`].join(' || '))
  })
})

const WRONG: readonly { args: string[]; says: string }[] = [
  { args: ['--json=false'], says: 'say which command to run. See fieldwork-sync --help' },
  { args: ['frobnicate'], says: 'there is no command frobnicate. See fieldwork-sync --help' },
  { args: ['snyc'], says: 'there is no command snyc: did you mean sync? See fieldwork-sync --help' },
  {
    args: ['sync', '--fulll', '--max-request', '3', '--frobnicate', '--json=yes'],
    says:
      'sync has no flag --fulll: did you mean --full?; sync has no flag --max-request: did you mean --max-requests?; ' +
      'sync has no flag --frobnicate; --json takes no value: leave out =yes. See fieldwork-sync sync --help',
  },
  { args: ['check', '--full'], says: 'check has no flag --full. See fieldwork-sync check --help' },
  {
    args: ['conformance', '--token', 'SECRETA', '--token', '-SECRETB'],
    says: 'conformance has no flag [redacted]. See fieldwork-sync conformance --help',
  },
  {
    args: ['sync', '-x', '--'],
    says: 'sync has no flag -x; sync has no flag --. See fieldwork-sync sync --help',
  },
  {
    args: ['sync', 'yesterday'],
    says: 'sync cannot take the word yesterday. See fieldwork-sync sync --help',
  },
  {
    args: ['--verison'],
    says: 'fieldwork-sync has no flag --verison: did you mean --version? See fieldwork-sync --help',
  },
  {
    args: ['sync', '--dry-run'],
    says: 'sync has no flag --dry-run: fieldwork-sync plan shows what sync would request. See fieldwork-sync sync --help',
  },
]

test.concurrent.for(WRONG)(
  'the wrong arguments $args print one line that says what is wrong',
  async ({ args, says }) => {
    const ended = await runWarm(args)
    expect(ended).toMatchObject({ code: 2, signal: null, stdout: '', stderr: `fieldwork-sync: ${says}\n` })
  },
)

test.concurrent('without arguments the command prints its help to stderr and exits 2', async () => {
  const [help, ended] = await Promise.all([runWarm(['--help']), run([])])
  expect(ended).toMatchObject({ code: 2, signal: null, stdout: '', stderr: help.stdout })
})

test.concurrent('with --json an error is one document, even an error in the flags', async () => {
  const ended = await runWarm(['sync', '--max-requests', '--json'])
  const message = '--max-requests needs a value. See fieldwork-sync sync --help'
  expect(ended).toMatchObject({ code: 2, stderr: `fieldwork-sync: ${message}\n` })
  expect(JSON.parse(ended.stdout)).toEqual({ error: { code: 'usage', message, exit_code: 2 } })
})

test.concurrent('without any settings the command says which ones are needed', async () => {
  const ended = await runWarm(['sync'])
  expect(ended).toMatchObject({ code: 2, stdout: '' })
  expect(ended.stderr).toMatch(
    /^fieldwork-sync: 1 problem in the settings; nothing was requested:\n {2}accounts: no account is configured\. Run fieldwork-sync init: it asks for one, .* --config\n$/,
  )
})

test.concurrent('the command reports all problems of flags, environment and file together, each with its place', async (context) => {
  const trial = await openTrial(context)
  const file = await trial.settings({
    limits: { request_timeot: '30s', attempts: 0 },
    refresh: { max_age: 'old' },
    mood: 1,
  })
  const flags = ['--max-requests', '0', '--max-duration', '5', '--publish', 'csv', '--log-level', 'loud']
  const ended = await trial.runWarm(['sync', ...file, ...flags], {
    FIELDWORK_SYNC_API_ID: '',
    FIELDWORK_SYNC_BASE_URL: 'api.example',
    FIELDWORK_SYNC_RATE_LIMIT: '60',
    FIELDWORK_SYNC_WAREHOUSE: '',
  })
  expect(ended).toMatchObject({ code: 2, stdout: '' })
  const [head, ...lines] = ended.stderr.trimEnd().split('\n')
  expect(head).toBe('fieldwork-sync: 12 problems in the settings; nothing was requested:')
  const path = file[1] ?? ''
  const problems = lines.map((line) => line.trim().replaceAll(path, 'FILE'))
  for (const expected of [
    /^FILE:1: limits\.request_timeot is not a setting; did you mean limits\.request_timeout\?$/,
    /^FILE:1: limits\.attempts must be a whole number from 1 to 20, not 0$/,
    /^FILE:1: refresh\.max_age must be a duration: .*, not "old"$/,
    /^FILE:1: mood is not a setting; /,
    /^FIELDWORK_SYNC_API_ID: is set but empty; give it a value or unset it$/,
    /^FIELDWORK_SYNC_BASE_URL: must be a URL such as /,
    /^FIELDWORK_SYNC_RATE_LIMIT: must be requests per duration, such as 60\/60s$/,
    /^FIELDWORK_SYNC_WAREHOUSE: is set but empty; /,
    /^--max-requests: must be a whole number from 1 to .*, not "0"$/,
    /^--max-duration: must be a duration: .* such as 30s, not "5"$/,
    /^--publish: must be a list of .*, not "csv"$/,
    /^--log-level: must be one of debug, info, warn, error, silent, not "loud"$/,
  ])
    expect(problems).toContainEqual(expect.stringMatching(expected))
  expect(trial.api.arrivals).toHaveLength(0)
})
