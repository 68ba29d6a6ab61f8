/** With `storage`, the bucket is the warehouse: every pod begins with an empty disk, and nothing is lost, doubled or torn. */
import { createHash } from 'node:crypto'
import { mkdir, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { manifestSchema } from '../../src/storage/bucket/documents.js'
import { startWorld } from '../support/api/reference-api.js'
import type { Env } from '../support/command/command.js'
import { answered, stderrShows } from '../support/command/trial.js'
import { openDisk } from '../support/files/disk.js'
import { envOf, paceOf } from '../support/oracle/rate.js'
import { keysIn, openBucketTrial } from '../support/storage/bucket-trial.js'
import { query } from '../support/warehouse/duckdb.js'
import { addBallast, surveys } from './bucket-shared.js'

const ALL = ['sync', '--publish', 'duckdb,parquet,delta', '--log-level', 'warn']

const NIGHT = ['sync', '--log-level', 'warn']

const RUNS = `SELECT status, exit_code FROM _sync.runs ORDER BY started_at`

describe('a night', () => {
  test.concurrent('a night with few changes uploads few objects: what changed, and nothing else', async (context) => {
    const trial = await openBucketTrial(context)
    await using server = await startWorld({ seed: 42, surveys: 60 })
    const env = { ...envOf(server), FIELDWORK_SYNC_RATE_LIMIT: '1000/1s' }
    expect(await trial.runWarm(ALL, { ...(await trial.pod()), ...env })).toMatchObject({ code: 0 })
    let checkpoints = 0
    // Enough for checkpoints of the Delta logs.
    for (let night = 1; night <= 24; night += 1) {
      const from = trial.s3.requests.length
      expect(await trial.runWarm(ALL, { ...(await trial.pod()), ...env })).toMatchObject({ code: 0 })
      const requests = trial.s3.requests.slice(from)
      const puts = requests.filter(({ verb }) => verb === 'put')
      checkpoints += puts.filter(({ key }) => key.endsWith('.checkpoint.parquet')).length
      const ofTheRun = puts.filter(({ key }) => key.endsWith('/last-run.json'))
      // Its start and its end.
      expect(ofTheRun).toHaveLength(2)
      expect(puts.length - ofTheRun.length).toBeLessThanOrEqual(20)
      expect(requests.filter(({ verb }) => verb === 'list').length).toBeLessThanOrEqual(8)
      if (night > 1) continue
      const bytesOf = (match: RegExp) =>
        puts.filter(({ key }) => match.test(key)).reduce((sum, { bytes }) => sum + bytes, 0)
      const manifest = manifestSchema.parse(trial.document(String(trial.document('current.json').manifest)))
      const files = manifest.tables.flatMap((table) => table.files)
      const changed = files.filter(({ written_by }) => written_by === manifest.version)
      expect(files.map(({ path }) => path).filter((path) => !keysIn(trial).includes(path))).toEqual([])
      expect(files.length).toBeGreaterThan(100)
      expect(changed.length).toBeLessThanOrEqual(4)
      expect(bytesOf(/\.parquet$/)).toBe(changed.reduce((sum, { bytes }) => sum + bytes, 0))
      const parts = requests.filter(({ verb, key }) => verb === 'multipart_part' && key.includes('/duckdb/'))
      const sent = parts.reduce((sum, { bytes }) => sum + bytes, bytesOf(/\.duckdb$/))
      expect(sent).toBeGreaterThan(0)
      expect(sent).toBeLessThanOrEqual(manifest.database.bytes)
      // The rest are documents: pointer, lease, manifest, ledger and Delta commits.
      expect(bytesOf(/\.(json|ndjson)$/)).toBe(
        puts.reduce((sum, { bytes }) => sum + bytes, 0) - bytesOf(/\.(parquet|duckdb)$/),
      )
    }
    expect(checkpoints).toBeGreaterThanOrEqual(6)
  })

  test.concurrent('a night sends only what changed of a large database, and never copies what is damaged', async (context) => {
    const trial = await openBucketTrial(context, surveys())
    const pod = await trial.pod()
    expect(await trial.runWarm(NIGHT, pod)).toMatchObject({ code: 0 })
    await addBallast(join(String(pod.FIELDWORK_SYNC_WAREHOUSE), 'work.duckdb'))
    const night = async (env: Env) => {
      const from = trial.s3.requests.length
      expect(await trial.runWarm(NIGHT, env)).toMatchObject({ code: 0 })
      const parts = trial.s3.requests
        .slice(from)
        .filter(({ verb, key }) => verb === 'multipart_part' && key.includes('/duckdb/'))
      const { database } = manifestSchema.parse(
        trial.document(String(trial.document('current.json').manifest)),
      )
      const { body } = trial.s3.store.objects.get(`fieldwork/${database.key}`) ?? { body: Buffer.alloc(0) }
      expect(createHash('sha256').update(body).digest('hex')).toBe(database.sha256)
      return {
        key: `fieldwork/${database.key}`,
        body,
        sent: parts.reduce((sum, { bytes }) => sum + bytes, 0),
      }
    }
    const whole = await night(pod)
    expect(whole.sent).toBe(whole.body.length)
    const next = await night(await trial.pod())
    expect(next.sent).toBeGreaterThan(0)
    expect(next.sent).toBeLessThan(next.body.length / 2)
    const last = await trial.pod()
    const good = await night(last)
    const damaged = Buffer.from(good.body)
    damaged.fill('?', 16 * 1_048_576, 16 * 1_048_576 + 1)
    trial.s3.store.write(good.key, damaged)
    expect((await night(last)).sent).toBeGreaterThan(good.sent)
    expect(trial.s3.uploads.size).toBe(0)
  })

  test.concurrent('a disk that is still there is used, unless another pod has published', async (context) => {
    const trial = await openBucketTrial(context, surveys())
    const [pod, other] = [await trial.pod(), await trial.pod()]
    const restores = () =>
      trial.s3.requests.filter(({ verb, key }) => verb === 'get' && key.endsWith('.duckdb')).length
    await trial.runWarm(NIGHT, pod)
    await trial.runWarm(NIGHT, pod)
    expect(restores()).toBe(0)
    await trial.runWarm(NIGHT, other)
    expect(restores()).toBe(1)
    expect(await trial.runWarm(NIGHT, pod)).toMatchObject({ code: 0 })
    expect(restores()).toBe(2)
    expect(await trial.rows(RUNS)).toHaveLength(4)
  })
})

describe('a store that fails', () => {
  test.concurrent('a full or missing disk is one line, and the bucket stays as it is', async (context) => {
    const trial = await openBucketTrial(context, surveys())
    await trial.runWarm(NIGHT, await trial.pod())
    const pod = await trial.pod()
    const nowhere = { ...pod, FIELDWORK_SYNC_WAREHOUSE: '/proc/nowhere' }
    for (const command of ['sync', 'status']) {
      const ended = await trial.runWarm([command], nowhere)
      expect(ended).toMatchObject({ code: 7, stdout: '' })
      expect(ended.stderr.trim().split('\n')).toHaveLength(1)
      expect(ended.stderr).toContain('/proc/nowhere')
    }
    const disk = await openDisk(context, 4)
    if (disk === null) return
    const full = { ...pod, FIELDWORK_SYNC_WAREHOUSE: disk.directory }
    for (const command of [NIGHT, ['status']]) {
      const ended = await trial.runWarm(command, full)
      expect(ended).toMatchObject({ code: 7, stdout: '' })
      expect(ended.stderr).toContain('ENOSPC')
      expect(ended.stderr.trim().split('\n')).toHaveLength(1)
    }
    // Nothing of a download that did not fit is left, neither beside the work database nor in the cache.
    expect(
      (await readdir(disk.directory, { recursive: true })).filter((name) => /duckdb/.test(name)),
    ).toEqual([])
    expect(trial.document('current.json')).toMatchObject({ version: 1 })
    expect(trial.document('lease.json')).toMatchObject({ state: 'free' })
    expect(await trial.runWarm(NIGHT, pod)).toMatchObject({ code: 0 })
  })
})

describe('who holds the bucket', () => {
  test.concurrent('check reports the bucket and leaves only a free lease; a run beside an active one ends with exit 6 and names the holder', async (context) => {
    const trial = await openBucketTrial(context, surveys())
    const checked = await trial.runWarm(['check'], await trial.pod())
    expect(checked).toMatchObject({ code: 0, stderr: '' })
    const holds = 's3://research/fieldwork: conditional writes hold; nothing is published yet'
    expect(checked.stdout).toContain(holds)
    expect(keysIn(trial).filter((key) => !key.startsWith('ledger/'))).toEqual(['lease.json'])
    const lease = trial.document('lease.json')
    expect(lease).toMatchObject({ state: 'free' })
    const holder = { ...Object(lease.holder), host: 'pod-9' }
    const held = (token: string) =>
      trial.s3.store.write('fieldwork/lease.json', JSON.stringify({ ...lease, state: 'held', token, holder }))
    held('1')
    let looks = 0
    trial.fault = ({ verb, key }) => {
      // The other run renews its lease between two looks.
      if (verb === 'get' && key.endsWith('lease.json')) {
        looks += 1
        held(String(looks))
      }
      return null
    }
    const from = trial.api.arrivals.length
    const ended = await trial.runWarm(['sync'], await trial.pod())
    expect(ended).toMatchObject({ code: 6, stdout: '' })
    expect(ended.stderr).toContain('s3://research/fieldwork is in use by "fieldwork-sync check"')
    expect(ended.stderr).toContain('pod-9')
    expect(trial.api.arrivals).toHaveLength(from)
  })

  test.concurrent('SIGTERM publishes what was read and frees the lease for the next pod', async (context) => {
    const trial = await openBucketTrial(context, surveys(6))
    trial.api.hook = ({ number }) => number > 8
    const running = trial.start(['sync', '--log-level', 'debug'], await trial.pod())
    await stderrShows(running, answered(8))
    running.child.kill('SIGTERM')
    expect(await running.ended).toMatchObject({ code: 3 })
    expect(trial.document('lease.json')).toMatchObject({ state: 'free', ledgers_uploaded: true })
    trial.api.hook = () => false
    expect(await trial.runWarm(NIGHT, await trial.pod())).toMatchObject({ code: 0 })
    expect((await trial.rows(RUNS)).map(({ exit_code }) => exit_code)).toEqual([3, 0])
    expect(await trial.rows('SELECT count(*)::INT AS surveys FROM survey_progress')).toEqual([{ surveys: 6 }])
  })

  test.concurrent('the cap holds although each run is on another disk', async (context) => {
    const trial = await openBucketTrial(context)
    const rateLimit = { requests: 6, perMs: 4_000 }
    await using server = await startWorld({ surveys: 40, rateLimit, rateWindow: 'sliding' })
    const env = { ...envOf(server), FIELDWORK_SYNC_RATE_LIMIT: '6/4s' }
    for (let run = 0; run < 2; run += 1)
      expect(
        await trial.runWarm(['sync', '--max-requests', '5', '--log-level', 'error'], {
          ...(await trial.pod()),
          ...env,
        }),
      ).toMatchObject({ code: 3, stderr: '' })
    const pace = await paceOf(server)
    expect(pace.requests).toBeGreaterThan(rateLimit.requests)
    expect(pace.refused).toBe(0)
    expect(pace.mostInAny(rateLimit.perMs)).toBeLessThanOrEqual(rateLimit.requests)
  })
})

describe('moving', () => {
  test.concurrent('one sync moves a warehouse into the bucket, and a copied file moves it back', async (context) => {
    const trial = await openBucketTrial(context, surveys())
    const { FIELDWORK_SYNC_WAREHOUSE: _, ...bucket } = await trial.pod()
    expect(await trial.runWarm(['sync'])).toMatchObject({ code: 0 })
    expect(await trial.runWarm(['sync'], bucket)).toMatchObject({ code: 0 })
    expect(await trial.rows(RUNS)).toHaveLength(2)
    const back = join(await trial.temporary(), 'back')
    await mkdir(back)
    const database = trial.s3.store.objects.get(`fieldwork/${trial.document('current.json').database}`)
    await writeFile(join(back, 'fieldwork.duckdb'), database?.body ?? '')
    expect(await trial.runWarm(['sync'], { FIELDWORK_SYNC_WAREHOUSE: back })).toMatchObject({ code: 0 })
    expect(await query(join(back, 'fieldwork.duckdb'), RUNS)).toHaveLength(3)
  })

  test.concurrent('a directory of a bucket is refused without it; its run would be lost', async (context) => {
    const trial = await openBucketTrial(context, surveys())
    const pod = await trial.pod()
    await trial.runWarm(NIGHT, pod)
    const { FIELDWORK_SYNC_STORAGE_URL: _, ...alone } = pod
    const requests = trial.api.arrivals.length
    for (const command of ['sync', 'check', 'replay']) {
      const ended = await trial.runWarm([command], alone)
      expect(ended, command).toMatchObject({ code: 2 })
      expect(ended.stdout + ended.stderr).toContain(
        `the work database in ${pod.FIELDWORK_SYNC_WAREHOUSE} belongs to s3://research/fieldwork, but the settings have no storage.url. Set it, or use an empty directory`,
      )
    }
    expect(trial.api.arrivals).toHaveLength(requests)
  })

  test.concurrent('a directory with another warehouse is refused, and both stay as is', async (context) => {
    const trial = await openBucketTrial(context, surveys())
    await trial.runWarm(NIGHT, await trial.pod())
    expect(await trial.runWarm(['sync'])).toMatchObject({ code: 0 })
    const { FIELDWORK_SYNC_WAREHOUSE: _, ...bucket } = await trial.pod()
    const ended = await trial.runWarm(['sync'], bucket)
    expect(ended).toMatchObject({ code: 2, stdout: '' })
    expect(ended.stderr).toContain(
      'holds a warehouse of its own, and s3://research/fieldwork holds another one',
    )
    expect(trial.document('current.json')).toMatchObject({ version: 1 })
    // The ledgers in the bucket still count, and those of the other directory never do.
    expect(trial.document('lease.json')).toMatchObject({ state: 'free', ledgers_uploaded: true })
    expect(await trial.runs()).toHaveLength(1)
  })
})
