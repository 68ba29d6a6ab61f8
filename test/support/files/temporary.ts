/** A directory for one test, removed when the test has finished. */
import { existsSync, realpathSync, rmSync, statfsSync } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { ALL_CASES } from '../suite/cases.js'

/** Registers work for the end of the test. Concurrent tests pass their own `onTestFinished`. */
export type Finished = (work: () => Promise<void> | void) => void

const works: (() => Promise<void> | void)[] = []

/** Registers work for the end of the test file, in which the last comes first. Also a module that several test files share may call it. */
export const atEndOfFile: Finished = (work) => void works.push(work)

/** Does the work that is registered for the end of a test file. */
export const endFile = async (): Promise<void> => {
  for (let work = works.pop(); work !== undefined; work = works.pop()) await work()
}

const IN_MEMORY = '/dev/shm'
/** Far more than the tests that run at the same time store there, some tens of MiB. */
const FREE_BYTES_MIN = 1024 ** 3

const hasRoom = (path: string): boolean => {
  if (!existsSync(path)) return false
  const { bavail, bsize } = statfsSync(path)
  return bavail * bsize >= FREE_BYTES_MIN
}

/**
 * A publish waits until the disk has stored every file. Only the full suite has time for that. On macOS the path of the temporary directory
 * leads through a link, and commands print where it leads.
 */
export const TEMPORARY_ROOT = realpathSync(!ALL_CASES && hasRoom(IN_MEMORY) ? IN_MEMORY : tmpdir())

export const temporaryDirectory = async (finished: Finished = onTestFinished): Promise<string> => {
  const directory = await mkdtemp(join(TEMPORARY_ROOT, 'fieldwork-sync-'))
  // With promises it takes three times the CPU.
  finished(() => rmSync(directory, { recursive: true, force: true }))
  return directory
}
