/** What a publish into a bucket works with. */
import type { Clock } from '../../base/clock.js'
import type { Log } from '../../base/log.js'
import type { PublishFormat } from '../../model/publish-formats.js'
import type { ObjectStore } from '../../object-store/object-store.js'
import type { Database } from '../../warehouse/connection/database.js'
import type { ReportSettings } from '../report/formats.js'
import type { Lease } from './held-lease.js'
import type { FencedPointer } from './pointer.js'

export interface BucketPublishing {
  readonly store: ObjectStore
  readonly lease: Lease
  readonly pointer: FencedPointer
  readonly database: Database
  /** The warehouse directory. Copies and changed files are in it until they are uploaded. */
  readonly directory: string
  readonly formats: readonly PublishFormat[]
  readonly report: ReportSettings
  readonly runId: string
  readonly clock: Clock
  readonly log: Log
  /** Aborted if a signal ended the run: then there are only seconds left. */
  readonly stopping: AbortSignal
}
