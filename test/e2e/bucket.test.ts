/** With `storage`, the bucket is the warehouse: every pod begins with an empty disk, and nothing is lost, doubled or torn. */

import { existsSync } from 'node:fs'
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { manifestSchema } from '../../src/publish/bucket/documents.js'
import { startWorld } from '../support/api/reference-api.js'
import { scriptedProgress, scriptedSurvey } from '../support/api/scripted-api.js'
import type { Env } from '../support/command/command.js'
import { answered, lastLine, stderrShows } from '../support/command/trial.js'
import { openDisk } from '../support/files/disk.js'
import { envOf, paceOf } from '../support/oracle/rate.js'
import { type BucketTrial, keysIn, openBucketTrial } from '../support/storage/bucket-trial.js'
import { FORBIDDEN, SLOW_DOWN } from '../support/storage/s3-server.js'
import { SLOW, slow } from '../support/suite/slow.js'
import { query } from '../support/warehouse/duckdb.js'

const surveys = (count = 3) =>
  Array.from({ length: count }, (_, index) => scriptedSurvey(index + 1, { status: 'fieldwork' }, 1))

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
    expect(await trial.runWarm(NIGHT, pod)).toMatchObject({ code: 0, stderr: '' })
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
  })

  test.concurrent('a night with few changes uploads few objects: what changed, and nothing else', async (context) => {
    const trial = await openBucketTrial(context)
    await using server = await startWorld({ seed: 42, surveys: 60 })
    const env = { ...envOf(server), FIELDWORK_SYNC_RATE_LIMIT: '1000/1s' }
    expect(await trial.runWarm(ALL, { ...(await trial.pod()), ...env })).toMatchObject({ code: 0 })
    const from = trial.s3.requests.length
    expect(await trial.runWarm(ALL, { ...(await trial.pod()), ...env })).toMatchObject({ code: 0 })
    const requests = trial.s3.requests.slice(from)
    const puts = requests.filter(({ verb }) => verb === 'put')
    const bytesOf = (match: RegExp) =>
      puts.filter(({ key }) => match.test(key)).reduce((sum, { bytes }) => sum + bytes, 0)
    const manifest = manifestSchema.parse(trial.document(String(trial.document('current.json').manifest)))
    const files = manifest.tables.flatMap((table) => table.files)
    const changed = files.filter(({ written_by }) => written_by === manifest.version)
    expect(files.map(({ path }) => path).filter((path) => !keysIn(trial).includes(path))).toEqual([])
    expect(files.length).toBeGreaterThan(100)
    expect(changed.length).toBeLessThanOrEqual(4)
    expect(puts.length).toBeLessThanOrEqual(20)
    expect(requests.filter(({ verb }) => verb === 'list').length).toBeLessThanOrEqual(8)
    expect(bytesOf(/\.parquet$/)).toBe(changed.reduce((sum, { bytes }) => sum + bytes, 0))
    expect(bytesOf(/\.duckdb$/)).toBe(manifest.database.bytes)
    // The rest are documents: pointer, lease, manifest, ledger and Delta commits.
    expect(bytesOf(/\.(json|ndjson)$/)).toBe(
      puts.reduce((sum, { bytes }) => sum + bytes, 0) - bytesOf(/\.(parquet|duckdb)$/),
    )
  })

  slow(
    'no night with few changes takes more than 20 puts, also when Delta logs get checkpoints',
    async (context) => {
      const trial = await openBucketTrial(context)
      await using server = await startWorld({ seed: 42, surveys: 60 })
      const env = { ...envOf(server), FIELDWORK_SYNC_RATE_LIMIT: '1000/1s' }
      await trial.runWarm(ALL, { ...(await trial.pod()), ...env })
      const nights: { puts: number; checkpoints: number }[] = []
      for (let night = 1; night <= 24; night += 1) {
        const from = trial.s3.requests.length
        expect(await trial.runWarm(ALL, { ...(await trial.pod()), ...env })).toMatchObject({ code: 0 })
        const puts = trial.s3.requests.slice(from).filter(({ verb }) => verb === 'put')
        const checkpoints = puts.filter(({ key }) => key.endsWith('.checkpoint.parquet'))
        nights.push({ puts: puts.length, checkpoints: checkpoints.length })
      }
      const checkpoints = nights.reduce((sum, night) => sum + night.checkpoints, 0)
      expect(checkpoints).toBeGreaterThanOrEqual(6)
      expect(Math.max(...nights.map(({ puts }) => puts))).toBeLessThanOrEqual(20)
      console.info(`puts each night: ${nights.map(({ puts }) => puts).join(' ')}; ${checkpoints} checkpoints`)
    },
    120_000,
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
  })

  test.concurrent('say in one line that nothing is published yet', async (context) => {
    const trial = await openBucketTrial(context)
    const pod = await trial.pod()
    expect(await trial.runWarm(['status'], pod)).toEqual({
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

  test.concurrent('check reports the bucket and leaves nothing behind but a free lease', async (context) => {
    const trial = await openBucketTrial(context, surveys())
    const ended = await trial.runWarm(['check'], await trial.pod())
    expect(ended).toMatchObject({ code: 0, stderr: '' })
    expect(ended.stdout).toContain(
      's3://research/fieldwork: conditional writes hold; nothing is published yet',
    )
    expect(keysIn(trial).filter((key) => !key.startsWith('ledger/'))).toEqual(['lease.json'])
    expect(trial.document('lease.json')).toMatchObject({ state: 'free' })
  })
})

describe('check refuses what sync would refuse, before any request to the API', () => {
  const refused = async (trial: BucketTrial, env: Env, args: readonly string[] = []) => {
    const from = trial.api.arrivals.length
    const ended = await trial.runWarm(['check', ...args], env)
    expect(trial.api.arrivals).toHaveLength(from)
    return ended
  }

  slow.concurrent('another division into shards', async (context) => {
    const trial = await openBucketTrial(context, surveys())
    await trial.runWarm(NIGHT, await trial.pod())
    const ended = await refused(trial, await trial.pod(), ['--shard', '0/2'])
    expect(ended.code).toBe(2)
    expect(ended.stdout).toContain('s3://research/fieldwork is divided into no shards')
  })

  test.concurrent('a bucket whose pointer is lost; commands that read do not call it empty either', async (context) => {
    const trial = await openBucketTrial(context, surveys())
    await trial.runWarm(NIGHT, await trial.pod())
    trial.s3.store.objects.delete('fieldwork/current.json')
    const lost = expect.stringContaining('current.json is missing, but there are versions')
    expect(await refused(trial, await trial.pod())).toMatchObject({ code: 7, stdout: lost })
    for (const command of [['status'], ['plan'], ['verify', '--local'], ['replay']])
      expect(await trial.runWarm(command, await trial.pod())).toMatchObject({ code: 7, stderr: lost })
  })

  slow.concurrent('the directory of another warehouse, whose ledgers stay', async (context) => {
    const trial = await openBucketTrial(context, surveys())
    await trial.runWarm(NIGHT, await trial.pod())
    const own = await trial.pod()
    const directory = String(own.FIELDWORK_SYNC_WAREHOUSE)
    await trial.runWarm(NIGHT, { FIELDWORK_SYNC_WAREHOUSE: directory })
    const ledgers = async () => {
      const names = (await readdir(directory)).filter((name) => name.startsWith('sent-requests-'))
      return await Promise.all(names.map((name) => readFile(join(directory, name), 'utf8')))
    }
    const before = await ledgers()
    const ended = await refused(trial, own)
    expect(ended.code).toBe(2)
    expect(ended.stdout).toContain(`${directory} holds a warehouse of its own`)
    expect(await ledgers()).toEqual(before)
  })
})

describe('a store that fails', () => {
  test.concurrent.for([['if-match'], ['if-none-match']])(
    'no run ever writes a row where the store ignores %s, though others have failed before it',
    async ([header], context) => {
      const trial = await openBucketTrial(context, surveys(1), { ignored: [String(header)] })
      const problem = expect.stringMatching(/no reliable conditional writes: it ignores If-(None-)?Match/)
      for (const _ of [1, 2, 3])
        expect(await trial.runWarm(NIGHT, await trial.pod())).toMatchObject({ code: 7, stderr: problem })
      expect(await trial.runWarm(['check'], await trial.pod())).toMatchObject({ code: 7, stdout: problem })
      expect(keysIn(trial)).toEqual(['lease.json'])
      expect(trial.api.arrivals).toEqual([])
    },
  )

  // test/unit/publish/bucket/publisher refuses each step, without a command.
  slow.concurrent(
    'a refused commit leaves the published version, and the next run publishes',
    async (context) => {
      const trial = await openBucketTrial(context, surveys())
      await trial.runWarm(NIGHT, await trial.pod())
      const pod = await trial.pod()
      let puts = 0
      trial.fault = ({ verb, key }) => {
        if (verb !== 'put' || !key.endsWith('current.json')) return null
        puts += 1
        // The first is the fence.
        return puts > 1 ? FORBIDDEN : null
      }
      const ended = await trial.runWarm(NIGHT, pod)
      expect(ended.code).toBe(7)
      expect(lastLine(ended)).toContain('current.json')
      expect(trial.document('current.json')).toMatchObject({ version: 1 })
      trial.fault = () => null
      expect(await trial.runWarm(NIGHT, pod)).toMatchObject({ code: 0 })
      expect(trial.document('current.json')).toMatchObject({ version: 2 })
      expect((await trial.rows(RUNS)).map(({ exit_code }) => exit_code)).toEqual([0, 7, 0])
    },
  )

  slow.concurrent('a store that is busy for a moment costs a retry, not a run', async (context) => {
    const trial = await openBucketTrial(context, surveys())
    const busy = new Set<string>()
    trial.fault = ({ verb, key }) => {
      const request = `${verb} ${key}`
      if (busy.has(request) || busy.size >= 3) return null
      busy.add(request)
      return SLOW_DOWN
    }
    expect(await trial.runWarm(NIGHT, await trial.pod())).toMatchObject({ code: 0 })
    expect(busy.size).toBe(3)
  })

  test.concurrent('a damaged newest database is replaced by the one before it, and that is said', async (context) => {
    const trial = await openBucketTrial(context, surveys())
    await trial.runWarm(NIGHT, await trial.pod())
    const [older] = keysIn(trial).filter((key) => key.startsWith('duckdb/'))
    await trial.runWarm(NIGHT, await trial.pod())
    const [, newest] = keysIn(trial).filter((key) => key.startsWith('duckdb/'))
    const body = trial.s3.store.objects.get(`fieldwork/${newest}`)?.body ?? Buffer.alloc(0)
    trial.s3.store.write(`fieldwork/${newest}`, body.subarray(0, body.length - 4_096))
    const ended = await trial.runWarm(NIGHT, await trial.pod())
    expect(ended).toMatchObject({ code: 0 })
    expect(ended.stderr).toContain(`${newest} has ${body.length - 4_096} bytes instead of ${body.length}`)
    expect(ended.stderr).toContain('an older one was restored')
    expect(older).toBeDefined()
    expect(trial.document('current.json')).toMatchObject({ version: 3 })
    expect(await trial.rows('SELECT count(*)::INT AS surveys FROM surveys')).toEqual([{ surveys: 3 }])
  })

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
  test.concurrent('a second run beside an active one ends with exit 6 and names the holder', async (context) => {
    const trial = await openBucketTrial(context, surveys())
    await trial.runWarm(NIGHT, await trial.pod())
    const lease = trial.document('lease.json')
    const held = (token: string) =>
      trial.s3.store.write(
        'fieldwork/lease.json',
        JSON.stringify({
          ...lease,
          state: 'held',
          token,
          holder: { ...Object(lease.holder), host: 'pod-9' },
        }),
      )
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
    expect(ended.stderr).toContain('s3://research/fieldwork is in use by "fieldwork-sync sync"')
    expect(ended.stderr).toContain('pod-9')
    expect(trial.api.arrivals).toHaveLength(from)
  })

  // test/unit/publish/bucket/pointer shows the fence, and the simulation overtakes runs.
  slow.concurrent(
    'a run that was overtaken while it stood still cannot publish: exit 6, and nothing is harmed',
    async (context) => {
      const trial = await openBucketTrial(context, surveys())
      await trial.runWarm(NIGHT, await trial.pod())
      let overtaken = ''
      trial.fault = ({ verb, key }) => {
        // Another run fences while this one uploads its database.
        if (verb === 'put' && key.includes('/duckdb/') && overtaken === '') {
          overtaken = JSON.stringify({ ...trial.document('current.json'), token: 'of another run' })
          trial.s3.store.write('fieldwork/current.json', overtaken)
        }
        return null
      }
      const ended = await trial.runWarm(NIGHT, await trial.pod())
      expect(ended.code).toBe(6)
      expect(lastLine(ended)).toContain('another run has taken s3://research/fieldwork over')
      expect(trial.s3.store.objects.get('fieldwork/current.json')?.body.toString()).toBe(overtaken)
    },
  )

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
    for (let run = 0; run < 3; run += 1)
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

// test/unit/commands/wiring/ledger-hand-over has every loss; here each run waits for a real window and timeout.
describe.runIf(SLOW)('the cap holds, with a warning, after somebody deleted', () => {
  test.concurrent.for([
    { deleted: 'lease.json', warning: 'lease.json was deleted, so nobody knows what the last run sent' },
    { deleted: 'ledger/', warning: 'is missing, so nobody knows what was sent' },
  ])('$deleted', { timeout: 200_000 }, async ({ deleted, warning }, context) => {
    const trial = await openBucketTrial(context)
    const rateLimit = { requests: 6, perMs: 4_000 }
    await using server = await startWorld({ surveys: 40, rateLimit, rateWindow: 'sliding' })
    const env = { ...envOf(server), FIELDWORK_SYNC_RATE_LIMIT: '6/4s' }
    const sync = async () =>
      trial.run(['sync', '--max-requests', '5', '--log-level', 'warn'], { ...(await trial.pod()), ...env })
    expect(await sync()).toMatchObject({ code: 3, stderr: '' })
    for (const key of keysIn(trial))
      if (key.startsWith(deleted)) trial.s3.store.objects.delete(`fieldwork/${key}`)
    const next = await sync()
    expect(next).toMatchObject({ code: 3 })
    expect(next.stderr).toContain(warning)
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

  slow.concurrent(
    'a warehouse that lost its work database moves too, from its published file',
    async (context) => {
      const trial = await openBucketTrial(context, surveys())
      const { FIELDWORK_SYNC_WAREHOUSE: _, ...bucket } = await trial.pod()
      expect(await trial.runWarm(['sync'])).toMatchObject({ code: 0 })
      await rm(join(trial.warehouse, 'work.duckdb'))
      const moved = await trial.runWarm(NIGHT, bucket)
      expect(moved).toMatchObject({ code: 0 })
      expect(moved.stderr).toContain('the work database was lost and is rebuilt from the published file')
      expect(await trial.rows(RUNS)).toHaveLength(2)
    },
  )

  slow.concurrent(
    'a directory of a bucket is refused without the bucket, whose next run would lose that run',
    async (context) => {
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
    },
  )

  slow.concurrent(
    'a directory with another warehouse is refused, and both stay as they are',
    async (context) => {
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
    },
  )

  // test/unit/publish/bucket/layout compares every division.
  slow.concurrent(
    'a bucket with shards is refused without them, and the other way round',
    async (context) => {
      const trial = await openBucketTrial(context, surveys())
      expect(await trial.runWarm(['sync', '--shard', '0/1'], await trial.pod())).toMatchObject({ code: 0 })
      expect(keysIn(trial)).toContain('shard=0-of-1/current.json')
      const ended = await trial.runWarm(['sync'], await trial.pod())
      expect(ended).toMatchObject({ code: 2 })
      expect(ended.stderr).toContain('is divided into 1 shard, but the settings say no shards')
    },
  )
})

describe('without storage', () => {
  test.concurrent('no module of the SDK is loaded', async (context) => {
    const trial = await openBucketTrial(context, surveys(1))
    const loaded = join(await trial.temporary(), 'loaded.mjs')
    await writeFile(
      loaded,
      `import { register } from 'node:module'
       register('data:text/javascript,' + encodeURIComponent(\`
         import { writeSync } from 'node:fs'
         export const load = (url, context, next) => {
           if (url.includes('@aws-sdk') || url.includes('chunks/bucket')) writeSync(2, 'LOADED ' + url + '\\\\n')
           return next(url, context)
         }\`))`,
    )
    const env = { NODE_OPTIONS: `--import ${loaded}` }
    const plain = await trial.run(['sync', '--log-level', 'warn'], env)
    expect(plain).toMatchObject({ code: 0, stderr: '' })
    const inBucket = await trial.run(['status'], { ...(await trial.pod()), ...env })
    expect(inBucket.stderr).toContain('LOADED')
    expect(existsSync(trial.published)).toBe(true)
  })
})
