/** With `storage`, the bucket is the warehouse: every pod begins with an empty disk, and nothing is lost, doubled or torn. */

import { mkdir, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { manifestSchema } from '../../src/storage/bucket/documents.js'
import { startWorld } from '../support/api/reference-api.js'
import { scriptedProgress, scriptedSurveys } from '../support/api/scripted-api.js'
import { answered, stderrShows } from '../support/command/trial.js'
import { openDisk } from '../support/files/disk.js'
import { envOf, paceOf } from '../support/oracle/rate.js'
import { keysIn, openBucketTrial } from '../support/storage/bucket-trial.js'
import { FORBIDDEN } from '../support/storage/s3-server.js'
import { SLOW, slow } from '../support/suite/slow.js'
import { query } from '../support/warehouse/duckdb.js'

const surveys = (count = 3) => scriptedSurveys(count, {}, 1)

const ALL = ['sync', '--publish', 'duckdb,parquet,delta', '--log-level', 'warn']
const NIGHT = ['sync', '--log-level', 'warn']
const RUNS = `SELECT status, exit_code FROM _sync.runs ORDER BY started_at`

describe('a night', () => {
  test.concurrent('each run on an empty disk continues where the last one ended', async (context) => {
    const trial = await openBucketTrial(context, surveys())
    expect(await trial.runWarm(NIGHT, await trial.pod())).toMatchObject({ code: 0, stderr: '' })
    trial.api.now = new Date('2026-03-02T00:00:00Z')
    const [first] = trial.api.surveys
    if (first !== undefined) first.progress = scriptedProgress(9)
    const pod = await trial.pod()
    const second = await trial.runWarm(NIGHT, pod)
    expect(second).toMatchObject({ code: 0, stderr: '' })
    // The address that a run names always has its database.
    expect(second.stdout).toContain('published duckdb: s3://research/fieldwork/fieldwork.duckdb (')
    const bodyOf = (key: unknown) => trial.s3.store.objects.get(`fieldwork/${key}`)?.body ?? Buffer.alloc(0)
    const shown = bodyOf('fieldwork.duckdb')
    expect(shown.equals(bodyOf(trial.document('current.json').database))).toBe(true)
    expect(await trial.rows(RUNS)).toEqual([
      { status: 'complete', exit_code: 0 },
      { status: 'complete', exit_code: 0 },
    ])
    expect(
      await trial.rows('SELECT count(*)::INT AS versions FROM survey_progress_history WHERE survey_id = 1'),
    ).toEqual([{ versions: 2 }])
    // The second listing asked only for what changed since the first one.
    const listings = trial.api.arrivals.filter(({ path }) => path === '/surveys')
    expect(listings.map(({ query: asked }) => asked.has('updated_since'))).toEqual([false, true])
    expect(trial.document('current.json')).toMatchObject({ version: 2, snapshot: null })
    expect(trial.document('lease.json')).toMatchObject({ state: 'free', ledgers_uploaded: true })
    // The disk is a cache: nothing is published there.
    const local = await readdir(String(pod.FIELDWORK_SYNC_WAREHOUSE))
    expect(local.filter((name) => !name.startsWith('sent-requests-')).sort()).toEqual([
      'bucket.json',
      'work.duckdb',
    ])

    if (!SLOW) return
    // A damaged newest database is replaced by the one before it, and that is said.
    const newest = String(trial.document('current.json').database)
    const body = trial.s3.store.objects.get(`fieldwork/${newest}`)?.body ?? Buffer.alloc(0)
    trial.s3.store.write(`fieldwork/${newest}`, body.subarray(0, body.length - 4_096))
    const damaged = await trial.runWarm(NIGHT, await trial.pod())
    expect(damaged).toMatchObject({ code: 0 })
    expect(damaged.stderr).toContain(`${newest} has ${body.length - 4_096} bytes instead of ${body.length}`)
    expect(damaged.stderr).toContain('an older one was restored')
    expect(trial.document('current.json')).toMatchObject({ version: 3 })
    expect(await trial.rows('SELECT count(*)::INT AS surveys FROM surveys')).toEqual([{ surveys: 3 }])
  })

  slow.concurrent(
    'a night with few changes uploads few objects: what changed, and nothing else',
    async (context) => {
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
        expect(bytesOf(/\.duckdb$/)).toBe(manifest.database.bytes)
        // The rest are documents: pointer, lease, manifest, ledger and Delta commits.
        expect(bytesOf(/\.(json|ndjson)$/)).toBe(
          puts.reduce((sum, { bytes }) => sum + bytes, 0) - bytesOf(/\.(parquet|duckdb)$/),
        )
      }
      expect(checkpoints).toBeGreaterThanOrEqual(6)
    },
  )

  slow.concurrent('a disk that is still there is used, unless another pod has published', async (context) => {
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

describe('commands that read', () => {
  test.concurrent('work from an empty directory, download once and need no lease', async (context) => {
    const trial = await openBucketTrial(context, surveys())
    await trial.runWarm(NIGHT, await trial.pod())
    const pod = await trial.pod()
    const from = trial.s3.requests.length
    const status = await trial.runWarm(['status', '--json'], pod)
    expect(status).toMatchObject({ code: 0, stderr: '' })
    expect(JSON.parse(status.stdout)).toMatchObject({
      published: `s3://research/fieldwork/${trial.document('current.json').database}`,
      holder: null,
      runs: [{ status: 'complete' }],
    })
    expect(await trial.runWarm(['plan'], pod)).toMatchObject({ code: 0, stderr: '' })
    const out = join(await trial.temporary(), 'out')
    expect(await trial.runWarm(['export', '--format', 'csv', '--out', out], pod)).toMatchObject({ code: 0 })
    expect(await query(':memory:', `SELECT id FROM '${out}/surveys.csv' ORDER BY id`)).toEqual([
      { id: 1 },
      { id: 2 },
      { id: 3 },
    ])
    const requests = trial.s3.requests.slice(from)
    expect(requests.filter(({ verb }) => verb !== 'get')).toEqual([])
    expect(requests.filter(({ key }) => key.endsWith('.duckdb'))).toHaveLength(1)

    // No command calls a bucket empty whose pointer is lost, and check finds that before any request to the API.
    const arrivals = trial.api.arrivals.length
    trial.s3.store.objects.delete('fieldwork/current.json')
    const lost = expect.stringContaining('current.json is missing, but there are versions')
    expect(await trial.runWarm(['check'], await trial.pod())).toMatchObject({ code: 7, stdout: lost })
    for (const command of SLOW ? [['status'], ['plan'], ['verify', '--local'], ['replay']] : [['status']])
      expect(await trial.runWarm(command, await trial.pod())).toMatchObject({ code: 7, stderr: lost })
    expect(trial.api.arrivals).toHaveLength(arrivals)
  })

  test.concurrent('say in one line that nothing is published yet', async (context) => {
    const trial = await openBucketTrial(context)
    const pod = await trial.pod()
    expect(await trial.runWarm(['status'], pod)).toMatchObject({
      code: 2,
      signal: null,
      stdout: '',
      stderr:
        'fieldwork-sync: nothing has been published in s3://research/fieldwork yet. Run fieldwork-sync sync, or check storage.url\n',
    })
    expect(await trial.runWarm(['replay'], pod)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('there is no warehouse in s3://research/fieldwork'),
    })
    expect(keysIn(trial)).toEqual([])
  })
})

describe('a store that fails', () => {
  test.concurrent.for(SLOW ? ['if-match', 'if-none-match'] : ['if-match'])(
    'no run ever writes a row where the store ignores %s, though others have failed before it',
    async (header, context) => {
      const trial = await openBucketTrial(context, surveys(1), { ignored: [header] })
      const problem = expect.stringMatching(/no reliable conditional writes: it ignores If-(None-)?Match/)
      for (const _ of SLOW ? [1, 2] : [1])
        expect(await trial.runWarm(NIGHT, await trial.pod())).toMatchObject({ code: 7, stderr: problem })
      expect(await trial.runWarm(['check'], await trial.pod())).toMatchObject({ code: 7, stdout: problem })
      expect(keysIn(trial)).toEqual(['lease.json'])
      expect(trial.api.arrivals).toEqual([])
    },
  )

  slow.concurrent('a full or missing disk is one line, and the bucket stays as it is', async (context) => {
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

  test.concurrent.for([
    { why: 'wrong credentials', fault: FORBIDDEN, says: /refused \(403 AccessDenied\); check/ },
    {
      why: 'no such bucket',
      fault: { kind: 'refused', status: 404, code: 'NoSuchBucket' } as const,
      says: /there is no such bucket; create it, or correct storage\.url/,
    },
  ])('$why is one line, exit 7, before any request to the API', async ({ fault, says }, context) => {
    const trial = await openBucketTrial(context, surveys())
    trial.fault = () => fault
    const pod = await trial.pod()
    const ended = await trial.runWarm(['sync'], pod)
    expect(ended).toMatchObject({ code: 7, stdout: '' })
    expect(ended.stderr).toMatch(says)
    expect(ended.stderr.trim().split('\n')).toHaveLength(1)
    for (const secret of [pod.AWS_SECRET_ACCESS_KEY, pod.AWS_ACCESS_KEY_ID])
      expect(ended.stderr).not.toContain(secret)
    expect(trial.api.arrivals).toEqual([])
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

  slow.concurrent('SIGTERM publishes what was read and frees the lease for the next pod', async (context) => {
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

  slow.concurrent('the cap holds although each run is on another disk', async (context) => {
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
  slow.concurrent(
    'one sync moves a warehouse into the bucket, and a copied file moves it back',
    async (context) => {
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
    },
  )

  slow.concurrent('a directory of a bucket is refused without it; its run would be lost', async (context) => {
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

  slow.concurrent('a directory with another warehouse is refused, and both stay as is', async (context) => {
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
