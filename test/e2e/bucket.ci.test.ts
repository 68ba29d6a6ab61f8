/** With `storage`, the bucket is the warehouse: every pod begins with an empty disk, and nothing is lost, doubled or torn. */
import { readdir, stat, utimes, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { scriptedProgress } from '../support/api/scripted-api.js'
import { keysIn, openBucketTrial } from '../support/storage/bucket-trial.js'
import { FORBIDDEN } from '../support/storage/s3-server.js'
import { some } from '../support/suite/cases.js'
import { query } from '../support/warehouse/duckdb.js'
import { surveys } from './bucket-shared.js'

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
    for (const command of some([['status'], ['plan'], ['verify', '--local'], ['replay']], 1))
      expect(await trial.runWarm(command, await trial.pod())).toMatchObject({ code: 7, stderr: lost })
    expect(trial.api.arrivals).toHaveLength(arrivals)
  })

  test.concurrent('leave copies that others download or are about to open, and remove what is no longer used', async (context) => {
    const trial = await openBucketTrial(context, surveys())
    await trial.runWarm(NIGHT, await trial.pod())
    const pod = await trial.pod()
    const cache = join(String(pod.FIELDWORK_SYNC_WAREHOUSE), 'bucket-cache')
    const runs = async () => {
      const args = ['query', 'SELECT count(*) AS runs FROM _sync.runs', '--format', 'csv']
      const { code, stdout } = await trial.runWarm(args, pod)
      return { code, stdout }
    }
    const copy = () => join(cache, basename(String(trial.document('current.json').database)))
    expect(await runs()).toEqual({ code: 0, stdout: 'runs\n1\n' })
    const first = copy()
    const long = new Date(Date.now() - 2 * 3_600_000)
    await utimes(first, long, long)
    // A reader says that it uses the copy.
    await runs()
    expect((await stat(first)).mtimeMs).toBeGreaterThan(long.getTime())
    const [unused, download, killed] = ['0.duckdb', '.1.duckdb.publishing', '.2.duckdb.publishing']
    for (const name of [unused, download, killed]) await writeFile(join(cache, name), '')
    for (const name of [unused, killed]) await utimes(join(cache, name), long, long)
    expect(await trial.runWarm(NIGHT, await trial.pod())).toMatchObject({ code: 0 })
    expect(await runs()).toEqual({ code: 0, stdout: 'runs\n2\n' })
    expect((await readdir(cache)).sort()).toEqual([download, basename(first), basename(copy())])
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

describe('a Delta log that is damaged', () => {
  test('fails the run, which says what is published and how to mend it; that helps', async (context) => {
    const trial = await openBucketTrial(context, surveys())
    const pod = await trial.pod()
    const night = ['sync', '--publish', 'duckdb,parquet,delta', '--log-level', 'warn']
    expect(await trial.runWarm(night, pod)).toMatchObject({ code: 0 })
    const logs = keysIn(trial).filter((key) => key.startsWith('data/surveys/_delta_log/'))
    for (const key of logs) trial.s3.store.write(`fieldwork/${key}`, '{"broken"')
    const [first] = trial.api.surveys
    Object.assign(first ?? {}, { title: 'another', updated_at: '2026-03-02T00:00:00Z' })
    trial.api.now = new Date('2026-03-02T12:00:00Z')
    const { code, stdout, stderr } = await trial.runWarm(night, pod)
    expect(code).toBe(7)
    expect(stdout).toContain('published duckdb: s3://research/fieldwork/fieldwork.duckdb (')
    expect(stdout).not.toMatch(/published nothing|published delta/)
    expect(stdout).toMatch(
      /version 2 is published in s3:\S+, but its Delta tables are behind: .*Delete the log, and the next run writes it anew/,
    )
    expect(`${stdout}${stderr}`).not.toMatch(/not published|catches up/)
    for (const key of logs) trial.s3.store.objects.delete(`fieldwork/${key}`)
    expect(await trial.runWarm(night, pod)).toMatchObject({ code: 0 })
  })
})

describe('a store that fails', () => {
  test.concurrent.for(some(['if-match', 'if-none-match'], 1))(
    'no run ever writes a row where the store ignores %s, though others have failed before it',
    async (header, context) => {
      const trial = await openBucketTrial(context, surveys(1), { ignored: [header] })
      const problem = expect.stringMatching(/no reliable conditional writes: it ignores If-(None-)?Match/)
      for (const _ of some([1, 2], 1))
        expect(await trial.runWarm(NIGHT, await trial.pod())).toMatchObject({ code: 7, stderr: problem })
      expect(await trial.runWarm(['check'], await trial.pod())).toMatchObject({ code: 7, stdout: problem })
      expect(keysIn(trial)).toEqual(['lease.json'])
      expect(trial.api.arrivals).toEqual([])
    },
  )

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
