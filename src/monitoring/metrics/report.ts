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
}

/** Writes the file. Returns what is to be delivered, and the problem of the file. */
export const reportMetrics = async ({
  targets,
  warehouse,
  end,
}: MetricsReport): Promise<{ readonly deliveries: readonly Delivery[]; readonly problem: string | null }> => {
  const run = runSamples(warehouse, end)
  const accounts = accountSamples(warehouse, end.accounts ?? [])
  const { file, pushgateway } = targets
  const problem =
    file === null
      ? null
      : await writeTextfile(file, [...run, ...accounts]).then(
          () => null,
          (error: unknown) => messageOf(error),
        )
  const push = { warehouse, command: end.command, run, accounts }
  return { deliveries: pushgateway === null ? [] : await pushes(pushgateway, push), problem }
}
