/** Output that cannot be written ends a command with exit 7, and one line says so. A reader that has read enough is no failure. */

import { execFileSync } from 'node:child_process'
import { constants } from 'node:fs'
import { open, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { scriptedSurvey } from '../support/api/scripted-api.js'
import { openTrial } from '../support/command/trial.js'
import { runWarm } from '../support/command/warm.js'
import { openDisk } from '../support/files/disk.js'
import { temporaryDirectory } from '../support/files/temporary.js'
import { INCOMPLETE, runInto, startWith } from './stdout-shared.js'

test.concurrent('a part of the output is not taken for the whole', async (context) => {
  const disk = await openDisk(context, 1)
  if (disk === null) return
  disk.fill(40)
  const file = join(disk.directory, 'models.yml')
  const { code, stderr } = await runInto(file, 'w', ['schema', '--format', 'dbt'])
  expect(code).toBe(7)
  expect(stderr).toContain('ENOSPC')
  const part = await readFile(file, 'utf8')
  const { stdout: whole } = await runWarm(['schema', '--format', 'dbt'])
  expect(whole.startsWith(part) && part.length < whole.length).toBe(true)
})

test.concurrent.for([
  ['a directory', '/'],
  ['a file that is open for reading only', '/dev/null'],
])('%s takes no output', async ([_, file = '']) => {
  const { code, stderr } = await runInto(file, constants.O_RDONLY, ['schema'])
  expect(code).toBe(7)
  expect(stderr).toContain(`${INCOMPLETE}EBADF`)
})

test.concurrent('a complete sync whose summary is lost says that it was complete', async (context) => {
  const trial = await openTrial(context, [scriptedSurvey(1)])
  const { code, stderr } = await runInto('/dev/full', 'w', ['sync', '--json'], {
    ...trial.api.env,
    FIELDWORK_SYNC_WAREHOUSE: trial.warehouse,
  })
  expect(code).toBe(7)
  expect(stderr.trimEnd().split('\n').at(-1)).toMatch(
    /ENOSPC.*\. Apart from its output, the command ended with exit 0$/,
  )
  expect(await trial.runs()).toEqual([{ status: 'complete', exit_code: 0, reason: null }])
})

test.concurrent('a slow reader gets everything, and a signal ends the wait for one that reads nothing', async (context) => {
  const fifo = join(await temporaryDirectory(context.onTestFinished), 'fifo')
  execFileSync('mkfifo', [fifo])
  await using both = await open(fifo, 'r+')
  // The child makes the other description of the pipe one that does not block.
  await using reader = await open(fifo, 'r')
  const start = () => startWith(['schema', '--format', 'dbt'], ['ignore', both.fd, 'pipe'])
  const stuck = start()
  // It has begun to write, and the pipe holds less than the output.
  const first = await reader.read(Buffer.alloc(1))
  stuck.child.kill('SIGTERM')
  expect(await stuck.ended).toEqual({
    code: 3,
    stderr: 'fieldwork-sync: stopped by SIGTERM before the output was read from stdout\n',
  })
  const begun = await reader.read(Buffer.alloc(1 << 20))
  const expected = Buffer.from((await runWarm(['schema', '--format', 'dbt'])).stdout)
  expect(
    expected
      .subarray(0, 1 + begun.bytesRead)
      .equals(Buffer.concat([first.buffer, begun.buffer.subarray(0, begun.bytesRead)])),
  ).toBe(true)
  const slow = start()
  let read = Buffer.alloc(0)
  while (read.length < expected.length) {
    const { buffer, bytesRead } = await reader.read(Buffer.alloc(10_000))
    read = Buffer.concat([read, buffer.subarray(0, bytesRead)])
  }
  expect(await slow.ended).toEqual({ code: 0, stderr: '' })
  expect(read.equals(expected)).toBe(true)
})
