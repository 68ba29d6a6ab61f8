/** A second run of the same bucket, which another machine starts while the first one is active. */
import fs from 'node:fs'
import { reportError } from '../../src/commands/report-error.js'
import { syncAccounts } from '../../src/commands/sync.js'
import type { Databases } from './databases.js'
import { Generation, generations } from './generation.js'
import type { StartOptions } from './process.js'

type Command = Parameters<typeof syncAccounts>[0]

export interface Rival {
  /** Its exit code; null while it is active. */
  exitCode: number | null
  problem: string
  readonly generation: Generation
}

/** It meets no faults of its own. `compose` makes the options of its command. */
export const startRival = (
  directory: string,
  compose: (generation: Generation, directory: string) => Command,
): Rival => {
  fs.mkdirSync(directory, { recursive: true })
  const generation = new Generation({ crash: null, disk: null, commitMs: 0, isHeld: false })
  const rival: Rival = { exitCode: null, problem: '', generation }
  const ended = (exitCode: number, problem: string): void => {
    if (generation.dead) return
    rival.exitCode = exitCode
    rival.problem = problem
  }
  generations.exit(() =>
    generations.run(generation, () => {
      syncAccounts(compose(generation, directory)).then(
        (report) => ended(report.exitCode, report.publishError ?? ''),
        (error: unknown) => {
          const { exitCode, text } = reportError(error)
          ended(exitCode, text)
        },
      )
    }),
  )
  return rival
}

/** Kills it with its machine, unless it has ended. */
export const endRival = async (
  { generation }: Rival,
  directory: string,
  { time, databases }: StartOptions,
  close: (generation: Generation, databases: Databases) => Promise<void>,
): Promise<void> => {
  generation.die()
  await time.idle()
  await close(generation, databases)
  fs.rmSync(directory, { recursive: true, force: true })
}
