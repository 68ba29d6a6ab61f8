/** A directory for one test, removed with it. */
import { existsSync, statfsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { SLOW } from '../suite/slow.js'

/** Registers what is to happen when the test has finished; concurrent tests hand in their own. */
export type Finished = (work: () => Promise<void> | void) => void

const IN_MEMORY = '/dev/shm'
/** Far more than all tests that run at a time have on it, some tens of MiB. */
const FREE_BYTES_MIN = 1024 ** 3

const hasRoom = (path: string): boolean => {
  if (!existsSync(path)) return false
  const { bavail, bsize } = statfsSync(path)
  return bavail * bsize >= FREE_BYTES_MIN
}

/** A publish waits until the disk has every file: `npm test` has no time for that, the slow suite has. */
const PARENT = !SLOW && hasRoom(IN_MEMORY) ? IN_MEMORY : tmpdir()

export const temporaryDirectory = async (finished: Finished = onTestFinished): Promise<string> => {
  const directory = await mkdtemp(join(PARENT, 'fieldwork-sync-'))
  finished(() => rm(directory, { recursive: true, force: true }))
  return directory
}
