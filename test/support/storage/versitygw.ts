/** Starts versitygw, a real S3 server that keeps buckets as directories. `integration/readers/install.mjs` builds it below `.readers`. */
import { mkdir, readdir, stat, utimes } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Finished, temporaryDirectory } from '../files/temporary.js'
import { freePort, isThere, type Program, startProgram } from '../servers/server.js'
import { STORAGE_CREDENTIALS } from './credentials.js'

const BUILT = fileURLToPath(new URL('../../../.readers/versitygw/versitygw', import.meta.url))

/** The command; null where there is none. */
export const VERSITYGW =
  [process.env.FIELDWORK_SYNC_TEST_VERSITYGW ?? BUILT, 'versitygw'].find((command) => isThere(command)) ??
  null

export interface Versitygw extends Program {
  readonly endpoint: string
  readonly bucket: string
  /** Holds the buckets as directories. */
  readonly directory: string
  /** Makes every object and every begun upload of the bucket older. The server takes their ages from the files. */
  age(ms: number): Promise<void>
}

export const startVersitygw = async (finished: Finished): Promise<Versitygw> => {
  if (VERSITYGW === null) throw new Error('there is no versitygw')
  const bucket = 'research'
  const directory = await temporaryDirectory(finished)
  await mkdir(join(directory, bucket))
  const port = await freePort()
  const endpoint = `http://127.0.0.1:${port}`
  const args = ['--port', `127.0.0.1:${port}`, '--quiet', 'posix', directory]
  // Any answer, such as 403, comes from a server that is up.
  const program = await startProgram(finished, VERSITYGW, args, () => fetch(endpoint), {
    PATH: process.env.PATH,
    ROOT_ACCESS_KEY: STORAGE_CREDENTIALS.AWS_ACCESS_KEY_ID,
    ROOT_SECRET_KEY: STORAGE_CREDENTIALS.AWS_SECRET_ACCESS_KEY,
  })
  const age = async (ms: number) => {
    const root = join(directory, bucket)
    for (const name of await readdir(root, { recursive: true })) {
      const file = join(root, name)
      const { atime, mtimeMs } = await stat(file)
      await utimes(file, atime, new Date(mtimeMs - ms))
    }
  }
  return { ...program, endpoint, bucket, directory, age }
}
