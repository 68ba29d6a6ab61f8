/** The storage of a warehouse between two runs: its directory, or a bucket. One process at a time holds it. */
import type { Log } from '../base/log.js'
import type { RunCommand, RunObserver } from '../model/run.js'
import type { Publisher } from '../model/warehouse.js'
import type { OpenStore } from '../object-store/open.js'
import type { Settings } from '../settings/settings.js'
import type { Database } from '../warehouse/connection/database.js'
import type { Ending } from './last-run.js'

export interface HoldStorage {
  readonly settings: Settings
  readonly command: RunCommand | 'check' | 'verify'
  readonly runId: string
  readonly log: Log
  readonly signal: AbortSignal
  /** Is notified of what the storage waits for. */
  readonly observer?: Pick<RunObserver, 'waiting'>
  /** The object store, by default a real one. */
  readonly openStore?: OpenStore | undefined
}

/** Dispose of it after the last request, when the database is closed. Then another process may hold the storage. */
export interface Storage extends AsyncDisposable {
  /** Aborts with the signal of the command, and when the storage is lost to another process. */
  readonly signal: AbortSignal
  /** Throws if another process may hold the storage by now. Called before each request. */
  readonly requireHeld: () => void
  /** Opens the work database as the last run left it. Throws a `WarehouseError`. Dispose of the database to close it. */
  openWarehouse(): Promise<{
    readonly database: Database
    /** The publishers for the end of a run. */
    readonly publishers: readonly Publisher[]
  }>
  /** Records how a sync ended, also if it could not publish, where `status` finds it. Rejects if the record cannot be written. */
  recordEnd(ending: Ending): Promise<void>
  /** Tests whether a run could work here, without lasting changes. Returns the results for people. */
  tryOut(): Promise<readonly { readonly what: string; readonly detail: string }[]>
}
