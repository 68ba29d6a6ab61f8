/** A pod that is killed in the middle of an upload to a real object store, and the next pod on another disk. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { startReferenceServer } from '../../src/reference-server/server.js'
import { openTrial, stderrShows } from '../support/command/trial.js'
import { envOf, paceOf } from '../support/oracle/rate.js'
import { STORAGE_CREDENTIALS } from '../support/storage/credentials.js'
import { startVersitygw, VERSITYGW } from '../support/storage/versitygw.js'
import { SLOW } from '../support/suite/slow.js'
import { query } from '../support/warehouse/duckdb.js'

const RATE = { requests: 20, perMs: 10_000 }

// Only `npm run test:slow` runs this, because a lease lives for a minute. The simulation kills at every step.
test.skipIf(!SLOW || VERSITYGW === null)(
  'after SIGKILL the next pod waits for the lease, keeps the cap, and publishes the truth',
  async (context) => {
    const trial = await openTrial(context)
    const gateway = await startVersitygw(context.onTestFinished)
    await using server = await startReferenceServer({
      port: 0,
      surveys: 12,
      rateLimit: RATE,
      clock: 'frozen',
    })
    const settings = await trial.settings({ limits: { request_timeout: '2s' } })
    const pod = async () => ({
      ...STORAGE_CREDENTIALS,
      ...envOf(server),
      AWS_ENDPOINT_URL_S3: gateway.endpoint,
      FIELDWORK_SYNC_STORAGE_URL: `s3://${gateway.bucket}/fieldwork`,
      FIELDWORK_SYNC_RATE_LIMIT: '20/10s',
      FIELDWORK_SYNC_WAREHOUSE: join(await trial.temporary(), 'pod'),
    })
    const sync = ['sync', '--publish', 'duckdb,parquet', ...settings]
    const document = async (key: string) =>
      JSON.parse(await readFile(join(gateway.directory, gateway.bucket, 'fieldwork', key), 'utf8'))
    expect(await trial.run([...sync, '--max-requests', '20'], await pod())).toMatchObject({ code: 3 })
    const killed = trial.start([...sync, '--max-requests', '20', '--log-level', 'info'], await pod())
    await stderrShows(killed, /"msg":"uploading"/)
    killed.child.kill('SIGKILL')
    expect(await killed.ended).toMatchObject({ signal: 'SIGKILL' })
    expect(await document('current.json')).toMatchObject({ version: 1 })
    expect(await document('lease.json')).toMatchObject({ state: 'held' })

    const next = await trial.run(sync, await pod())
    expect(next).toMatchObject({ code: 0 })
    expect(next.stderr).toContain('the last run has not released the bucket')
    const { version, database } = await document('current.json')
    expect(version).toBe(2)
    const file = join(gateway.directory, gateway.bucket, 'fieldwork', database)
    expect(await query(file, 'SELECT status FROM _sync.runs ORDER BY started_at')).toEqual([
      { status: 'partial' },
      { status: 'complete' },
    ])
    expect(await query(file, 'SELECT count(*)::INT AS surveys FROM survey_progress')).toEqual([
      { surveys: 12 },
    ])
    const pace = await paceOf(server)
    expect(pace.refused).toBe(0)
    expect(pace.mostInAny(RATE.perMs)).toBeLessThanOrEqual(RATE.requests)
  },
  300_000,
)
