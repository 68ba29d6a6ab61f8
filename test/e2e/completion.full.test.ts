/** What bash, zsh and fish offer, with the script of `completion` loaded into the real shell. */
import { spawnSync } from 'node:child_process'
import { chmod, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { MAIN } from '../support/command/command.js'
import { type Finished, temporaryDirectory } from '../support/files/temporary.js'
import { openTerminal } from '../support/process/terminal.mjs'
import { lacks } from '../support/suite/lacks.js'
import { LINES } from './completion-shared.js'

/** A directory with one file to complete, and the command on PATH. The login shell is another one, as on many machines. */
const place = async (onTestFinished: Finished, login: string) => {
  const cwd = await temporaryDirectory(onTestFinished)
  const bin = await temporaryDirectory(onTestFinished)
  await writeFile(join(bin, 'fieldwork-sync'), `#!/bin/sh\nexec '${process.execPath}' '${MAIN}' "$@"\n`)
  await chmod(join(bin, 'fieldwork-sync'), 0o755)
  await writeFile(join(cwd, 'settings.yaml'), '')
  return { cwd, env: { PATH: `${bin}:${process.env.PATH}`, SHELL: login, HOME: cwd, LANG: 'C.UTF-8' } }
}

test.skipIf(lacks('bash'))('bash completes commands, flags, values and paths', async ({ onTestFinished }) => {
  const { cwd, env } = await place(onTestFinished, '/usr/bin/zsh')
  const lines = LINES.map(([, words, only]) => [words, only] as const)
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

test.skipIf(lacks('fish'))('fish completes words and paths', async ({ onTestFinished }) => {
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

test.skipIf(lacks('zsh') || lacks('script') || lacks('bash'))(
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
