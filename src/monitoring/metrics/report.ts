/** Reports the metrics of a run that has ended, to a file and a Pushgateway. */
import { messageOf } from '../../base/errors.js'
import type { MetricsTargets, RunEnd } from '../../model/monitoring.js'
import type { Delivery } from '../deliver.js'
import { pushes } from './pushgateway.js'
import { accountSamples, runSamples } from './samples.js'
import { writeTextfile } from './textfile.js'

export interface MetricsReport {
  readonly targets: MetricsTargets
  readonly warehouse: string
  readonly end: RunEnd
  /** Ends the wait for the file. */
  readonly until: AbortSignal
}

interface ReportedMetrics {
  readonly deliveries: readonly Delivery[]
  /** Why the file is not written, when that is known; null if it is. */
  readonly problem: Promise<string | null>
}

/** Begins to write the file. The deliveries do not wait for it. */
export const reportMetrics = async ({
  targets,
  warehouse,
  end,
  until,
}: MetricsReport): Promise<ReportedMetrics> => {
  const run = runSamples(warehouse, end)
  const accounts = accountSamples(warehouse, end.accounts ?? [])
  const { file, pushgateway } = targets
  const written = file === null ? Promise.resolve() : writeTextfile(file, [...run, ...accounts], until)
  const problem = written.then(
    () => null,
    (error: unknown) => (until.aborted ? 'its file system did not answer in time' : messageOf(error)),
  )
  const push = { warehouse, command: end.command, run, accounts }
  return { deliveries: pushgateway === null ? [] : await pushes(pushgateway, push), problem }
}
