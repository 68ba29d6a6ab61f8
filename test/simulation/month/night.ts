/** One night: a whole run of the command on virtual time, in a warehouse that stays. */
import { syncAccounts } from '../../../src/commands/sync.js'
import type { CreateTransport } from '../../../src/http/transport.js'
import type { RunReport } from '../../../src/model/run.js'
import type { Settings } from '../../../src/settings/settings.js'
import { Generation, generations } from '../generation.js'
import type { TakenOver } from '../take-over.js'

/** No disturbance, and commits of a few milliseconds. */
const UNTROUBLED = { crash: null, disk: null, commitMs: 20, isHeld: false }

/** Rejects when the run is not complete. */
export const sync = async (
  { time, databases }: TakenOver,
  settings: Settings,
  createTransport: CreateTransport,
): Promise<RunReport> => {
  const generation = new Generation(UNTROUBLED)
  const ignore = () => undefined
  const work = generations.run(generation, () =>
    syncAccounts({
      settings,
      createTransport,
      log: { debug: ignore, info: ignore, warn: ignore, error: ignore },
      observer: { listed: ignore, refreshed: ignore, ended: ignore, publishing: ignore },
      signal: new AbortController().signal,
      onSource: ignore,
    }),
  )
  const { accounts, publishError } = await time.drive(work).catch(async (error: unknown) => {
    // The process cannot end when a database is closed in the middle of a statement.
    await time.idle()
    throw error
  })
  await databases.settled()
  generation.dead = true
  time.sweep()
  const [report] = accounts
  if (report?.status !== 'complete' || publishError !== null)
    throw new Error(`the run is not complete: ${report?.reason ?? publishError}`)
  return report
}
