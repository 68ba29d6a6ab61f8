/** Files that a user names: whatever is behind the name, reading is bounded, and ends with the signal. */
import { execFileSync } from 'node:child_process'
import { open, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { StoppedError } from '../../../src/base/errors.js'
import { readOwnText, readTextFile, whyUnreadable } from '../../../src/base/text-file.js'
import { temporaryDirectory } from '../../support/files/temporary.js'

const never = new AbortController().signal
const why = (path: string) => readTextFile(path, never).then(() => 'read', whyUnreadable)

const newPipe = async (): Promise<string> => {
  const pipe = join(await temporaryDirectory(), 'pipe')
  execFileSync('mkfifo', [pipe])
  return pipe
}

test('what stands in the place of a file of ours is not waited for', async () => {
  for (const place of [await newPipe(), '/dev/zero']) expect(await readOwnText(place)).toBeNull()
})

test('a link to a file is read, without its byte order mark', async () => {
  const directory = await temporaryDirectory()
  await writeFile(join(directory, 'data'), '\ufefftext\n')
  await symlink(join(directory, 'data'), join(directory, 'link'))
  expect(await readTextFile(join(directory, 'link'), never)).toBe('text\n')
})

test('a pipe is read to its end, also if nothing is in it', async () => {
  for (const text of ['late', '']) {
    const pipe = await newPipe()
    const read = readTextFile(pipe, never)
    const writer = await open(pipe, 'w')
    await writer.write(text)
    await writer.close()
    expect(await read).toBe(text)
  }
})

test('of a pipe without an end, little more than 1 MiB is read', async () => {
  const pipe = await newPipe()
  const read = why(pipe)
  await using writer = await open(pipe, 'w')
  const block = Buffer.alloc(64 * 1_024)
  let bytes = 0
  // Reading ends, and then writing fails.
  await expect(
    (async () => {
      for (;;) bytes += (await writer.write(block)).bytesWritten
    })(),
  ).rejects.toThrow('EPIPE')
  expect(await read).toBe('is larger than 1 MiB; is it the right file?')
  expect(bytes).toBeLessThan(2 * 1_024 * 1_024)
})

test('1 MiB is read, and not a byte more', async () => {
  const file = join(await temporaryDirectory(), 'large')
  await writeFile(file, ' '.repeat(1_048_576))
  expect(await readTextFile(file, never)).toHaveLength(1_048_576)
  await writeFile(file, ' '.repeat(1_048_577))
  expect(await why(file)).toBe('is larger than 1 MiB; is it the right file?')
})

test('a signal ends the wait for a pipe, before and after it is opened', async () => {
  const pipe = await newPipe()
  const stop = new AbortController()
  const read = readTextFile(pipe, stop.signal)
  await using _writer = await open(pipe, 'w')
  stop.abort(new StoppedError('stopped'))
  await expect(read).rejects.toThrow(StoppedError)
  await expect(readTextFile(pipe, stop.signal)).rejects.toThrow(StoppedError)
})

test('what is no file says so', async () => {
  const directory = await temporaryDirectory()
  await symlink('loop', join(directory, 'loop'))
  await writeFile(join(directory, 'latin1'), Buffer.from([0xe9]))
  expect(await why(directory)).toBe('is a directory, not a file')
  expect(await why(join(directory, 'none'))).toBe('does not exist')
  expect(await why(join(directory, 'loop'))).toBe('is a link that leads back to itself')
  expect(await why(join(directory, 'latin1'))).toBe('is not UTF-8 text; is it the right file?')
  expect(await why('/dev/zero')).toBe('is larger than 1 MiB; is it the right file?')
})
