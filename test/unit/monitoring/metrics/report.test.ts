/** The file for node-exporter: whole, readable by all, and with what is still true of the file before. */
import { execFileSync } from 'node:child_process'
import { chmod, mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import {
  accountSamples,
  parseExposition,
  runSamples,
  writeTextfile,
} from '../../../../src/monitoring/metrics/report.js'
import { temporaryDirectory } from '../../../support/files/temporary.js'
import { accountState, runEnd } from '../../../support/monitoring/run-ends.js'

const run = runSamples('/data', runEnd())
const accounts = accountSamples('/data', [accountState()])

const never = new AbortController().signal

const read = async (file: string) => parseExposition(await readFile(file, 'utf8'))

test('all may read it, whatever the umask, and nothing else is left in the directory', async () => {
  const directory = await temporaryDirectory()
  const file = join(directory, 'fieldwork_sync.prom')
  const before = process.umask(0o077)
  try {
    await writeTextfile(file, run, never)
  } finally {
    process.umask(before)
  }
  expect((await stat(file)).mode & 0o777).toBe(0o644)
  expect(await readdir(directory)).toEqual(['fieldwork_sync.prom'])
})

test('it keeps what a failed run does not know, and only that', async () => {
  const file = join(await temporaryDirectory(), 'fieldwork_sync.prom')
  await writeTextfile(file, [...run, ...accounts], never)
  await writeTextfile(file, runSamples('/data', runEnd({ exitCode: 7, status: 'failed' })), never)
  const samples = await read(file)
  expect(samples.filter(({ labels }) => labels.account !== undefined)).toEqual(accounts)
  expect(
    samples.filter(({ name }) => name === 'fieldwork_sync_run_exit_code').map(({ value }) => value),
  ).toEqual([7])
})

test('a damaged file, and what a killed run left behind, are replaced', async () => {
  const directory = await temporaryDirectory()
  const file = join(directory, 'fieldwork_sync.prom')
  await writeFile(file, Buffer.from([0, 255, 10, 123]))
  await writeFile(join(directory, `.fieldwork_sync.prom.${process.pid}.tmp`), 'half')
  await writeTextfile(file, run, never)
  expect(await read(file)).toEqual(run)
  expect(await readdir(directory)).toEqual(['fieldwork_sync.prom'])
})

test('a pipe is not replaced, and no reading of it waits', async () => {
  const file = join(await temporaryDirectory(), 'fieldwork_sync.prom')
  execFileSync('mkfifo', [file])
  await expect(writeTextfile(file, run, never)).rejects.toThrow('it is not a regular file')
  expect((await stat(file)).isFIFO()).toBe(true)
})

test('a file that cannot be replaced stays, and nothing is left beside it', async () => {
  const directory = await temporaryDirectory()
  const file = join(directory, 'fieldwork_sync.prom')
  await mkdir(file)
  await chmod(file, 0o755)
  await expect(writeTextfile(file, run, never)).rejects.toThrow('EISDIR')
  expect(await readdir(directory)).toEqual(['fieldwork_sync.prom'])
})
