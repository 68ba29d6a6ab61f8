/** Exit codes of the command, with the run record, the output, and the published data. usage has 2, check-and-status 6. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { expect, test } from 'vitest'
import { scriptedSurvey } from '../support/api/scripted-api.js'
import { MAIN } from '../support/command/command.js'
import { openTrial } from '../support/command/trial.js'

test.concurrent.for([
  [1_060_000, /^fieldwork-sync: .*libduckdb.*\. The address space of the process is limited to 1\.0 GiB/m],
  [
    1_150_000,
    /^fieldwork-sync: .*work\.duckdb: .*\. The address space of the process is limited to 1\.1 GiB/m,
  ],
] as const)(
  '7: DuckDB cannot be loaded, or opens no file, within %d KiB of addresses',
  async ([limit, message], context) => {
    const trial = await openTrial(context, [scriptedSurvey(1)])
    const env = { PATH: process.env.PATH, ...trial.api.env, FIELDWORK_SYNC_WAREHOUSE: trial.warehouse }
    const script = `ulimit -v ${limit} && exec "$0" "$1" sync`
    const child = spawn('sh', ['-c', script, process.execPath, MAIN], {
      env,
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    const stderr = await text(child.stderr)
    expect(stderr).toMatch(message)
    expect(stderr).not.toMatch(/please report|^ +at /m)
    expect(child.exitCode ?? (await once(child, 'close'))[0]).toBe(7)
  },
)
