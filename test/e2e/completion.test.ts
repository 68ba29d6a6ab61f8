/** What bash, zsh and fish offer, with the script of `completion` loaded into the real shell. */
import { spawnSync } from 'node:child_process'
import { chmod, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { COMMANDS } from '../../src/commands/table.js'
import { MAIN } from '../support/command/command.js'
import { runWarm } from '../support/command/warm.js'
import { type Finished, temporaryDirectory } from '../support/files/temporary.js'
import { hasTerminal, openTerminal } from '../support/process/terminal.mjs'
import { SLOW } from '../support/suite/slow.js'

const has = (shell: string): boolean => spawnSync(shell, ['--version']).status === 0
const missing = ['bash', 'zsh', 'fish'].filter((shell) => !has(shell))
if (missing.length > 0)
  console.warn(`skipped: completion in ${missing.join(', ')}, which this machine does not have`)

/** A directory with one file to complete, and the command on PATH. The login shell is another one, as on many machines. */
const place = async (onTestFinished: Finished, login: string) => {
  const cwd = await temporaryDirectory(onTestFinished)
  const bin = await temporaryDirectory(onTestFinished)
  await writeFile(join(bin, 'fieldwork-sync'), `#!/bin/sh\nexec '${process.execPath}' '${MAIN}' "$@"\n`)
  await chmod(join(bin, 'fieldwork-sync'), 0o755)
  await writeFile(join(cwd, 'settings.yaml'), '')
  return { cwd, env: { PATH: `${bin}:${process.env.PATH}`, SHELL: login, HOME: cwd, LANG: 'C.UTF-8' } }
}

/** A line with the cursor at its end, and the only completion of its last word; null for paths. */
const LINES: readonly (readonly [line: string, words: readonly string[], only: string])[] = [
  ['a command', ['st'], 'status'],
  ['a command after a flag', ['--config', 'sync', 'pl'], 'plan'],
  ['a flag', ['sync', '--max-d'], '--max-duration'],
  ['a format', ['export', '--format', 'c'], 'csv'],
  ['a format of schema', ['schema', '--format', 'd'], 'dbt'],
  ['a log level', ['check', '--log-level', 's'], 'silent'],
  ['a table', ['export', '--tables', '_sync.ru'], '_sync.runs'],
  ['the second table of a list', ['export', '--tables', 'surveys,fr'], 'surveys,freshness'],
  ['the second format of a list', ['sync', '--publish', 'duckdb,p'], 'duckdb,parquet'],
  ['a query', ['query', 'forec'], 'forecast'],
  ['a format of query', ['query', 'forecast', '--format', 'm'], 'markdown'],
  ['a shell', ['completion', 'z'], 'zsh'],
  ['a flag behind a given one', ['sync', '--full', '--js'], '--json'],
]

describe('the command offers', () => {
  test.concurrent.for(LINES)('%s', async ([, words, only]) => {
    const { code, stdout, stderr } = await runWarm(['--get-yargs-completions', ...words])
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout.split('\n').filter((one) => one.startsWith(words.at(-1) ?? ''))).toEqual(
      expect.arrayContaining([only]),
    )
  })

  test.concurrent.for([
    [['sync', '--config', '']],
    [['init', '--token-file', 'x']],
    [['export', '--out=']],
  ] as const)('nothing for the path in %j, so that the shell offers files', async ([words]) => {
    expect(await runWarm(['--get-yargs-completions', ...words])).toMatchObject({
      code: 0,
      stdout: '',
      stderr: '',
    })
  })

  test.concurrent('every command, and every flag of a command except those already given', async () => {
    const commands = await runWarm(['--get-yargs-completions', ''])
    expect(commands.stdout.trimEnd().split('\n')).toEqual(COMMANDS.map(({ name }) => name))
    const flags = await runWarm(['--get-yargs-completions', 'status', '--json', ''])
    expect(flags.stdout.trimEnd().split('\n').sort()).toEqual(
      [
        '--check',
        '--config',
        '--help',
        '--log-level',
        '--max-age',
        '--requests',
        '--shard',
        '--survey',
        '--version',
        '--warehouse',
      ].sort(),
    )
  })

  test.concurrent.for([
    ['bash', '--full'],
    ['zsh', '--full:List all surveys, not only those modified since the last run'],
    ['fish', '--full\tList all surveys, not only those modified since the last run'],
  ] as const)('descriptions where %s can show them', async ([shell, line]) => {
    const { stdout } = await runWarm(['--get-yargs-completions', 'sync', '--f'], {
      SHELL: `/usr/bin/${shell}`,
    })
    expect(stdout.split('\n')).toContain(line)
  })
})

test.skipIf(!has('bash'))('bash completes commands, flags, values and paths', async ({ onTestFinished }) => {
  const { cwd, env } = await place(onTestFinished, '/usr/bin/zsh')
  const lines = (SLOW ? LINES : LINES.slice(-1)).map(([, words, only]) => [words, only] as const)
  const all = [
    ...lines,
    // bash makes three words of --format=c.
    [['export', '--format', '=', 'c'], 'csv'],
    [['export', '--format', '='], 'parquet csv xlsx'],
    [['sync', '--config', 'set'], ''],
  ] as const
  const calls = all.map(
    ([words]) =>
      `COMP_WORDS=(fieldwork-sync ${words.join(' ')}); COMP_CWORD=${words.length}; COMPREPLY=(); _fieldwork_sync; echo "\${COMPREPLY[*]}"`,
  )
  const harmless =
    "COMP_WORDS=(fieldwork-sync export --tables '$(touch ran),'); COMP_CWORD=3; _fieldwork_sync"
  const script = [
    'source <(fieldwork-sync completion bash)',
    ...calls,
    harmless,
    'complete -p fieldwork-sync',
  ].join('\n')
  const { stdout, stderr } = spawnSync('bash', ['--norc', '-c', script], { cwd, env, encoding: 'utf8' })
  expect(stderr).toBe('')
  expect(stdout.trimEnd().split('\n')).toEqual([
    ...all.map(([, only]) => only),
    'complete -o bashdefault -o default -F _fieldwork_sync fieldwork-sync',
  ])
  // Nothing of the line is run before Enter.
  expect(await readdir(cwd)).toEqual(['settings.yaml'])
})

test.skipIf(!SLOW || !has('fish'))('fish completes words and paths', async ({ onTestFinished }) => {
  const { cwd, env } = await place(onTestFinished, '/bin/bash')
  const all = [
    ...LINES.map(([, words, only]) => [words.join(' '), only] as const),
    ['export --format=c', '--format=csv'],
    ['sync --config set', 'settings.yaml'],
    ['sync --config=set', '--config=settings.yaml'],
  ] as const
  const script = [
    'fieldwork-sync completion fish | source',
    ...all.map(
      ([line]) => `complete -C 'fieldwork-sync ${line}' | string replace -r '\\t.*' '' | string join ' '`,
    ),
  ].join('\n')
  const { stdout, stderr } = spawnSync('fish', ['--no-config', '-c', script], {
    cwd,
    env,
    encoding: 'utf8',
  })
  expect(stderr).toBe('')
  expect(stdout.trimEnd().split('\n')).toEqual(all.map(([, only]) => only))
})

test.skipIf(!SLOW || !has('zsh') || !hasTerminal)(
  'zsh completes commands, flags, values and paths',
  async ({ onTestFinished }) => {
    const { cwd, env } = await place(onTestFinished, '/bin/bash')
    await using terminal = await openTerminal({ cwd, env })
    terminal.type('exec zsh -f')
    // A completed line prints its words instead of running.
    const words =
      'fieldwork-sync() { if [[ $1 == --get* ]]; then command fieldwork-sync "$@"; else print -r -- "<$*>"; fi }'
    terminal.type(
      `PS1=; autoload -U compinit && compinit -u -D; ${words}; source <(command fieldwork-sync completion zsh); print rea''dy`,
    )
    await terminal.waitFor('ready')
    const all = [
      ...LINES.map(([, words, only]) => [words.join(' '), [...words.slice(0, -1), only].join(' ')] as const),
      ['export --format=c', 'export --format=csv'],
      ['sync --config set', 'sync --config settings.yaml'],
      ['sync --config=set', 'sync --config=settings.yaml'],
    ] as const
    for (const [line, completed] of all) {
      terminal.type(`fieldwork-sync ${line}\t`)
      expect(await terminal.waitFor('>\r\n')).toContain(`<${completed}>`)
    }
  },
)
