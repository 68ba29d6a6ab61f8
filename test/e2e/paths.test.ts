/**
 * Paths that a file system or DuckDB treats specially. A directory that cannot be created ends the run at once. Any other
 * directory holds a warehouse that can be published, rebuilt and exported.
 */
import { expect, test } from 'vitest'
import { openTrial } from '../support/command/trial.js'
import { some } from '../support/suite/cases.js'

/** Places where no directory can be created. Node's recursive `mkdir` did not end in `/proc`, and ignored signals. */
const IMPOSSIBLE = ['/proc/x', '/proc/self/fd/x', '/dev/full', '/dev/null/x']

test.runIf(process.platform === 'linux').for(some(IMPOSSIBLE, 1))(
  'a warehouse at %s ends the run with exit 7 before any request',
  async (path, context) => {
    const trial = await openTrial(context, [])
    const ended = await trial.runWarm(['sync', '--json'], { FIELDWORK_SYNC_WAREHOUSE: path })
    expect(ended).toMatchObject({ code: 7, signal: null })
    expect(JSON.parse(ended.stdout)).toMatchObject({ error: { code: 'warehouse_unusable', exit_code: 7 } })
    expect(ended.stderr).toContain(`cannot write to the warehouse directory ${path}: E`)
    expect(trial.api.arrivals).toHaveLength(0)
  },
)
