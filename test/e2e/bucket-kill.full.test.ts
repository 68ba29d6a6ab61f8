/** Pods that are killed in the middle of an upload to a real object store, and the next pods on other disks. */

import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { AbortMultipartUploadCommand, ListMultipartUploadsCommand, S3Client } from '@aws-sdk/client-s3'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { manifestSchema, pointerSchema } from '../../src/storage/bucket/documents.js'
import { startWorld } from '../support/api/reference-api.js'
import type { Env } from '../support/command/command.js'
import { openTrial } from '../support/command/trial.js'
import type { Finished } from '../support/files/temporary.js'
import { envOf, paceOf } from '../support/oracle/rate.js'
import { STORAGE_CREDENTIALS, withEnvironment } from '../support/storage/credentials.js'
import { startHoldingFront } from '../support/storage/holding-front.js'
import { startVersitygw, VERSITYGW, type Versitygw } from '../support/storage/versitygw.js'
import { lacks } from '../support/suite/lacks.js'
import { query } from '../support/warehouse/duckdb.js'
import { addBallast } from './bucket-shared.js'

const RATE = { requests: 20, perMs: 10_000 }
const HOUR_MS = 3_600_000

// A lease lives for a minute. The simulation kills at every step.
test.skipIf(lacks('versitygw', VERSITYGW !== null))(
  'after SIGKILL the next pod waits for the lease, keeps the cap, publishes the truth, and nothing stays behind',
  async (context) => {
    const trial = await openTrial(context)
    const gateway = await startVersitygw(context.onTestFinished)
    await using server = await startWorld({ surveys: 12, rateLimit: RATE, rateWindow: 'sliding' })
    const settings = await trial.settings({ limits: { request_timeout: '2s' } })
    const pod = async () => ({
      ...STORAGE_CREDENTIALS,
      ...envOf(server),
      AWS_ENDPOINT_URL_S3: gateway.endpoint,
      FIELDWORK_SYNC_STORAGE_URL: `s3://${gateway.bucket}/fieldwork`,
      FIELDWORK_SYNC_RATE_LIMIT: '20/10s',
      FIELDWORK_SYNC_WAREHOUSE: join(await trial.temporary(), 'pod'),
    })
    const sync = ['sync', '--publish', 'duckdb,parquet,delta', ...settings]
    const few = [...sync, '--max-requests', '20']
    const bucket = join(gateway.directory, gateway.bucket, 'fieldwork')
    const killedAt = async (args: readonly string[], env: Env, put: RegExp, version = 1) => {
      const front = await startHoldingFront(context.onTestFinished, gateway.endpoint, (line) =>
        put.test(line),
      )
      const killed = trial.start(args, { ...env, AWS_ENDPOINT_URL_S3: front.endpoint })
      await Promise.race([front.held.opened, killed.ended])
      killed.child.kill('SIGKILL')
      expect(await killed.ended).toMatchObject({ signal: 'SIGKILL' })
      expect(await documentIn(bucket, 'current.json')).toMatchObject({ version })
      expect(await documentIn(bucket, 'lease.json')).toMatchObject({ state: 'held' })
    }

    const first = await pod()
    expect(await trial.run(few, first)).toMatchObject({ code: 3 })
    await addBallast(join(first.FIELDWORK_SYNC_WAREHOUSE, 'work.duckdb'))
    await killedAt(few, first, /^PUT .*\/duckdb\/.*partNumber=2/)
    expect(await unfinishedUploads(gateway, context.onTestFinished)).toHaveLength(1)
    expect(await orphansIn(bucket)).toEqual([])

    await killedAt(sync, await pod(), /^PUT .*\/versions\//)
    const orphans = await orphansIn(bucket)
    expect(orphans.filter((key) => key.startsWith('data/')).length).toBeGreaterThan(0)
    expect(orphans.filter((key) => key.startsWith('duckdb/'))).toHaveLength(1)

    const next = await trial.run(sync, await pod())
    expect(next).toMatchObject({ code: 0 })
    expect(next.stderr).toContain('the last run has not released the bucket')
    const { version, database } = await documentIn(bucket, 'current.json')
    expect(version).toBe(2)
    const file = join(bucket, database)
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

    // They are too young.
    expect(await orphansIn(bucket)).toEqual(orphans)
    // The request ledger gets older too, but not the rate window of the API: it must not judge the next run.
    await gateway.age(49 * HOUR_MS)
    expect(await trial.run(sync, await pod())).toMatchObject({ code: 0 })
    expect(await orphansIn(bucket)).toEqual([])
    const uploads = await unfinishedUploads(gateway, context.onTestFinished)
    expect(uploads.filter(({ isOld }) => !isOld)).toEqual([])
    for (const { abort } of uploads) await abort()
    expect(await unfinishedUploads(gateway, context.onTestFinished)).toEqual([])
    expect(await readdir(join(gateway.directory, gateway.bucket, '.sgwtmp/multipart'))).toEqual([])

    // A copy that is not complete leaves the address as it was, and the next run replaces it.
    const shows = async (key: string) =>
      (await readFile(join(bucket, 'fieldwork.duckdb'))).equals(await readFile(join(bucket, key)))
    const before = (await documentIn(bucket, 'current.json')).database
    expect(await shows(before)).toBe(true)
    await killedAt(sync, await pod(), /^POST .*\/fieldwork\.duckdb\?.*uploadId/, 4)
    expect(await shows(before)).toBe(true)
    expect(await trial.run(sync, await pod())).toMatchObject({ code: 0 })
    expect(await shows((await documentIn(bucket, 'current.json')).database)).toBe(true)
  },
)

const documentIn = async (bucket: string, key: string) =>
  JSON.parse(await readFile(join(bucket, key), 'utf8'))

/** The objects that no version names. Every named object must exist. */
const orphansIn = async (bucket: string): Promise<readonly string[]> => {
  const { manifest, earlier } = pointerSchema.parse(await documentIn(bucket, 'current.json'))
  const named = new Set([
    ...[
      'current.json',
      'lease.json',
      'last-run.json',
      'layout.json',
      'conditional-writes.json',
      'fieldwork.duckdb',
    ],
  ])
  for (const key of [manifest ?? '', ...earlier]) {
    const { tables, database } = manifestSchema.parse(await documentIn(bucket, key))
    for (const path of [key, database.key, ...tables.flatMap(({ files }) => files.map((file) => file.path))])
      named.add(path)
  }
  const entries = await readdir(bucket, { recursive: true, withFileTypes: true })
  const keys = entries
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name).slice(bucket.length + 1))
  expect(keys).toEqual(expect.arrayContaining([...named]))
  return keys
    .filter((key) => !named.has(key) && !key.startsWith('ledger/') && !key.includes('/_delta_log/'))
    .sort()
}

/**
 * The uploads that were begun and not completed. No listing of objects shows them, and versitygw has no life-cycle rules, so the test
 * plays the rule that our page recommends: `isOld` says whether the rule aborts the upload.
 */
const unfinishedUploads = async (gateway: Versitygw, finished: Finished) => {
  withEnvironment(finished, {
    ...STORAGE_CREDENTIALS,
    AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED: 'true',
  })
  const client = new S3Client({ endpoint: gateway.endpoint, region: 'us-east-1', forcePathStyle: true })
  finished(() => client.destroy())
  const rule = await ruleOfPage()
  const { Uploads: uploads = [] } = await client.send(
    new ListMultipartUploadsCommand({ Bucket: gateway.bucket, Prefix: rule.Filter.Prefix }),
  )
  return uploads.map(({ Key, UploadId, Initiated }) => ({
    isOld:
      Date.now() - (Initiated?.getTime() ?? Date.now()) >
      rule.AbortIncompleteMultipartUpload.DaysAfterInitiation * 24 * HOUR_MS,
    abort: () => client.send(new AbortMultipartUploadCommand({ Bucket: gateway.bucket, Key, UploadId })),
  }))
}

const ruleOfPage = async () => {
  const page = await readFile(new URL('../../docs/how-to/bucket-upkeep.md', import.meta.url), 'utf8')
  const [, json = ''] = /^```json\n([\s\S]*?)^```$/m.exec(page) ?? []
  const { Rules } = z
    .object({
      Rules: z.tuple([
        z.object({
          Filter: z.object({ Prefix: z.string() }),
          AbortIncompleteMultipartUpload: z.object({ DaysAfterInitiation: z.number() }),
        }),
        z.unknown(),
      ]),
    })
    .parse(JSON.parse(json))
  return Rules[0]
}
