/** The report in a bucket, one object that each run replaces after its version is committed. Nothing is read from it, so no version names it. */
import { REPORT_FILE } from '../../model/publish-formats.js'
import type { Publisher } from '../../model/warehouse.js'
import { attemptPut } from '../../object-store/attempt-put.js'
import { ObjectStoreError } from '../../object-store/errors.js'
import { createReportPublisher } from '../report/publisher.js'
import type { BucketPublishing } from './publishing.js'

export const createPagePublisher = ({ database, report, store, lease }: BucketPublishing): Publisher => {
  const path = `${store.address}/${REPORT_FILE}`
  const write = async (html: string, signal: AbortSignal): Promise<void> => {
    const body = Buffer.from(html)
    const found = await store.get(REPORT_FILE, signal)
    lease.assertHeld()
    const outcome = await attemptPut(() =>
      found === null
        ? store.putIfAbsent(REPORT_FILE, body, signal)
        : store.putIfMatch(REPORT_FILE, body, found.etag, signal),
    )
    if (!(outcome instanceof ObjectStoreError) && outcome.kind === 'written') return
    // The answer may have been lost after the put had succeeded.
    const now = await store.get(REPORT_FILE, signal)
    if (now !== null && body.equals(now.body)) return
    throw outcome instanceof ObjectStoreError
      ? outcome
      : new ObjectStoreError(`${path} was replaced while it was being written`)
  }
  return createReportPublisher({ database, report, path, write })
}
