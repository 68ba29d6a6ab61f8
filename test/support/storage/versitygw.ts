/**
 * Starts versitygw, a real server with the protocol of S3 that keeps buckets as directories, on a free port of loopback.
 * `npm run readers` builds it below `.readers`.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdir, readdir, stat, utimes } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { type Finished, temporaryDirectory } from '../files/temporary.js'
import { freePort } from '../servers/free-port.js'
import { STORAGE_CREDENTIALS } from './credentials.js'

const BUILT = new URL('../../../.readers/versitygw/versitygw', import.meta.url).pathname

const found = (): string | null => {
  const candidates = [process.env.FIELDWORK_SYNC_TEST_VERSITYGW ?? BUILT, 'versitygw']
  return (
    candidates.find(
      (command) =>
        (!command.includes('/') || existsSync(command)) && spawnSync(command, ['--version']).status === 0,
    ) ?? null
  )
}

/** The command; null where there is none, and then the test names what is missing. */
export const VERSITYGW = found()
if (VERSITYGW === null)
  console.warn(
    'skipped: tests that need versitygw; `npm run readers versitygw` builds it, or FIELDWORK_SYNC_TEST_VERSITYGW names it',
  )

export interface Versitygw {
  readonly endpoint: string
  readonly bucket: string
  /** Holds the buckets as directories. */
  readonly directory: string
  /** Ends the server with SIGKILL, like a crash. */
  kill(): Promise<void>
  /** Starts it again over the same objects, on the same port. */
  start(): Promise<void>
  /** Makes every object and every begun upload of the bucket older. The server takes their ages from the files. */
  age(ms: number): Promise<void>
}

const STARTS_MAX = 200

export const startVersitygw = async (finished: Finished, bucket = 'research'): Promise<Versitygw> => {
  const command = VERSITYGW
  if (command === null) throw new Error('there is no versitygw')
  const directory = await temporaryDirectory(finished)
  await mkdir(join(directory, bucket))
  const port = await freePort()
  const endpoint = `http://127.0.0.1:${port}`
  let child: ChildProcess | null = null
  const start = async () => {
    child = spawn(command, ['--port', `127.0.0.1:${port}`, '--quiet', 'posix', directory], {
      stdio: 'ignore',
      env: {
        PATH: process.env.PATH,
        ROOT_ACCESS_KEY: STORAGE_CREDENTIALS.AWS_ACCESS_KEY_ID,
        ROOT_SECRET_KEY: STORAGE_CREDENTIALS.AWS_SECRET_ACCESS_KEY,
      },
    })
    for (let tries = 0; tries < STARTS_MAX; tries += 1) {
      if (await isUp(endpoint)) return
      await delay(50)
    }
    throw new Error('versitygw did not start')
  }
  const kill = async () => {
    if (child === null) return
    const ended = once(child, 'exit')
    child.kill('SIGKILL')
    child = null
    await ended
  }
  finished(kill)
  await start()
  const age = async (ms: number) => {
    const root = join(directory, bucket)
    for (const name of await readdir(root, { recursive: true })) {
      const file = join(root, name)
      const { atime, mtimeMs } = await stat(file)
      await utimes(file, atime, new Date(mtimeMs - ms))
    }
  }
  return { endpoint, bucket, directory, kill, start, age }
}

/** Any answer, such as 403, comes from a server that is up. */
const isUp = async (endpoint: string): Promise<boolean> =>
  await fetch(endpoint).then(
    () => true,
    () => false,
  )
