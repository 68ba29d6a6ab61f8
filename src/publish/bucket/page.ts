/** The report in a bucket, one object that each run replaces after its version is committed. Nothing is read from it, so no version names it. */
import { REPORT_FILE } from '../../model/publish-formats.js'
import type { PublishReport } from '../../model/run.js'
import { ObjectStoreError } from '../../object-store/errors.js'
import { orWarning } from '../report/publisher.js'
import type { BucketPublishing } from './publishing.js'

/** Empty without `report` among the formats, and after a warning: the version is published already. */
export const publishPage = async (
  publishing: BucketPublishing,
  signal: AbortSignal,
): Promise<readonly PublishReport[]> => {
  const { formats, store, lease } = publishing
  if (!formats.includes('report')) return []
  const path = `${store.address}/${REPORT_FILE}`
  const bytes = await orWarning(publishing, path, signal, async (html) => {
    const body = Buffer.from(html)
    const found = await store.get(REPORT_FILE, signal)
    lease.assertHeld()
    const { kind } =
      found === null
        ? await store.putIfAbsent(REPORT_FILE, body, signal)
        : await store.putIfMatch(REPORT_FILE, body, found.etag, signal)
    if (kind === 'lost') throw new ObjectStoreError(`${path} was replaced while it was being written`)
  })
  return bytes === null ? [] : [{ format: 'report', path, bytes }]
}
