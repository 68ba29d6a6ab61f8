/** Files and tokens in the forms that editors and shells write. They are read, or refused with one line. */
import { execFileSync } from 'node:child_process'
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { start } from '../support/command/command.js'
import type { openTrial } from '../support/command/trial.js'
import { openSilentDisk, waitsForDisk } from '../support/files/disk.js'
import { temporaryDirectory } from '../support/files/temporary.js'

const newPipe = async (context: Parameters<typeof openTrial>[0]): Promise<string> => {
  const pipe = join(await temporaryDirectory(context.onTestFinished), 'pipe')
  execFileSync('mkfifo', [pipe])
  return pipe
}

test.concurrent.for([
  ['a settings file', ['status', '--config'], 'SIGTERM'],
  [
    'a token file',
    ['conformance', '--base-url', 'http://127.0.0.1:1/api/v1', '--id', '1', '--token-file'],
    'SIGINT',
  ],
  ['a file of faults', ['reference-server', '--faults'], 'SIGTERM'],
] as const)('%s that is a pipe without an answer is left at a signal', async ([, args, signal], context) => {
  const pipe = await newPipe(context)
  const { child, ended } = start([...args, pipe])
  await using _writer = await open(pipe, 'w')
  child.kill(signal)
  expect(await ended).toMatchObject({ code: 3, stderr: `fieldwork-sync: stopped by ${signal}\n` })
})

test.concurrent('a file system that does not answer is left at a signal', async (context) => {
  const disk = await openSilentDisk(context)
  if (disk === null) return
  const { child, ended } = start(['status', '--config', join(disk, 'settings.yaml'), '--json'])
  await waitsForDisk(child)
  child.kill('SIGTERM')
  expect(await ended).toMatchObject({
    code: null,
    signal: 'SIGTERM',
    stderr: 'fieldwork-sync: stopped by SIGTERM\n',
    stdout: expect.stringContaining('"code":"stopped"'),
  })
})
