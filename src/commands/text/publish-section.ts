import { humanBytes, humanDuration } from '../../base/human.js'
import type { PublishReport, SyncReport } from '../../model/run.js'

/** The lines about publishing: the published files of a run, or why there are none. */
export const publishSection = ({ published, publishError }: SyncReport, elapsedMs?: number): string => {
  const files = published.map(
    ({ format, path, bytes }: PublishReport) => `published ${format}: ${path} (${humanBytes(bytes)})`,
  )
  if (publishError !== null) files.push(`not published: ${publishError}`)
  if (files.length === 0) files.push('published nothing: there was nothing new')
  if (elapsedMs !== undefined) files.push(`took ${humanDuration(elapsedMs)} in all`)
  return files.join('\n')
}
