/**
 * The file of metrics that node-exporter's textfile collector reads. It is replaced by one rename, so no reader sees half of it. It
 * keeps what is still true of the file before.
 *
 * A process of its own reads and writes it. A file system that does not answer holds every thread that asks it for ever, and a process
 * does not end before its threads do. So a run could not end with its exit code.
 */
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { unlessAborted } from '../../base/clock.js'
import { messageOf } from '../../base/errors.js'
import { exposition, parseExposition } from './exposition.js'
import { type Sample, stillTrue } from './samples.js'

/** Rejects with the error of the system, or with the reason of `signal`. Then the file is unchanged, and nothing is left behind. */
export const writeTextfile = async (
  file: string,
  samples: readonly Sample[],
  signal: AbortSignal,
): Promise<void> => {
  const writer = spawn(process.execPath, ['-e', WRITER, file], { env: {} })
  try {
    await unlessAborted(signal, writeWith(writer, samples))
  } finally {
    // It must not write later, over newer metrics.
    writer.kill('SIGKILL')
    writer.unref()
    for (const stream of [writer.stdin, writer.stdout, writer.stderr]) stream.destroy()
  }
}

const writeWith = async (
  writer: ChildProcessWithoutNullStreams,
  samples: readonly Sample[],
): Promise<void> => {
  const ended = once(writer, 'close')
  const problem = text(writer.stderr).catch(messageOf)
  // A writer that fails reads nothing.
  writer.stdin.on('error', () => undefined)
  const earlier = await Promise.race([text(writer.stdout), ended.then(() => '')])
  const next = await exposition([...samples, ...stillTrue(parseExposition(earlier), samples)])
  writer.stdin.end(JSON.stringify(next))
  const [code] = await ended
  if (code !== 0) throw new Error((await problem) || 'the process that writes it was killed')
}

/** Prints the file, and replaces it by the JSON text on stdin. A text that is cut short, because the run was killed, is no JSON. */
const WRITER = `
const fs = require('node:fs')
const { basename, dirname, join } = require('node:path')
const file = process.argv[1]
// The collector reads no files without its ending.
const temporary = join(dirname(file), '.' + basename(file) + '.' + process.ppid + '.tmp')
try {
  const found = fs.statSync(file, { throwIfNoEntry: false })
  if (found !== undefined && !found.isFile() && !found.isDirectory()) throw new Error('it is not a regular file')
  if (found !== undefined) fs.writeFileSync(1, fs.readFileSync(file))
  fs.closeSync(1)
  const text = JSON.parse(fs.readFileSync(0, 'utf8'))
  // A killed process with the same id may have left it. In containers ids repeat.
  fs.rmSync(temporary, { force: true })
  // node-exporter runs as another user, and the umask may take its right to read away.
  const handle = fs.openSync(temporary, 'wx')
  fs.writeFileSync(handle, text)
  fs.fchmodSync(handle, 0o644)
  fs.fsyncSync(handle)
  fs.closeSync(handle)
  fs.renameSync(temporary, file)
} catch (error) {
  fs.rmSync(temporary, { force: true })
  fs.writeFileSync(2, error.message)
  process.exitCode = 1
}`
