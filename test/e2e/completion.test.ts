/** What bash, zsh and fish offer, with the script of `completion` loaded into the real shell. */
import { describe, expect, test } from 'vitest'
import { COMMANDS } from '../../src/commands/table.js'
import { runWarm } from '../support/command/warm.js'
import { LINES } from './completion-shared.js'

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
