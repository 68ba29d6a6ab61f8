/** Output that cannot be written ends a command with exit 7, and one line says so. A reader that has read enough is no failure. */
import { spawnSync } from 'node:child_process'
import { closeSync, openSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { MAIN } from '../support/command/command.js'
import { some } from '../support/suite/cases.js'
import { INCOMPLETE, runInto, startWith } from './stdout-shared.js'

/** Commands that need no warehouse, one for each way in which output is made. */
const COMMANDS = [
  ['--version'],
  ['reference-server', '--port', '0', '--surveys', '1'],
  ['--help'],
  ['sync', '--help'],
  ['schema', '--format', 'dbt'],
  ['completion', 'bash'],
  ['--get-yargs-completions', 'fieldwork-sync', ''],
]

/** Only Linux has `/dev/full`. */
describe.runIf(process.platform === 'linux')('a full disk', () => {
  test.concurrent.for(some(COMMANDS, 1))('%j into a full disk ends with 7', async (args) => {
    const { code, stderr } = await runInto('/dev/full', 'w', args)
    expect(code).toBe(7)
    expect(stderr).toMatch(new RegExp(`^${INCOMPLETE}ENOSPC: .*\\n$`))
  })

  test.concurrent('an error stays on stderr if its JSON is lost', async () => {
    const { code, stderr } = await runInto('/dev/full', 'w', ['sync', '--json'])
    expect(code).toBe(7)
    expect(stderr).toContain('no account is configured')
    expect(stderr).toContain('Apart from its output, the command ended with exit 2')
  })

  test.concurrent('stderr that takes nothing changes no exit code', async () => {
    const full = openSync('/dev/full', 'w')
    const ended = startWith(['sync'], ['ignore', 'ignore', full]).ended
    closeSync(full)
    expect(await ended).toEqual({ code: 2, stderr: '' })
  })
})

const PIPED = '{ { "$0" "$1" schema --format dbt; echo $? >&3; } | head -n 1; } 3>&1'

test.concurrent('a reader that goes away early is no failure', () => {
  const { status, stdout, stderr } = spawnSync('sh', ['-c', PIPED, process.execPath, MAIN], {
    encoding: 'utf8',
  })
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
  expect(stdout.split('\n')).toEqual([expect.stringContaining('dbt'), '0', ''])
})
