/** A directory for one test, removed with it. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'

/** Registers what is to happen when the test has finished; concurrent tests hand in their own. */
export type Finished = (work: () => Promise<void> | void) => void

export const temporaryDirectory = async (finished: Finished = onTestFinished): Promise<string> => {
  const directory = await mkdtemp(join(tmpdir(), 'fieldwork-sync-'))
  finished(() => rm(directory, { recursive: true, force: true }))
  return directory
}
