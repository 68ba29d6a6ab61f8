/** When our clock or the server's is wrong for one night, later nights do not rely on its times. */
import { chmod, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import {
  bodyOf,
  type Hook,
  refusing,
  scriptedProgress,
  scriptedSurvey,
  sendJson,
} from '../support/api/scripted-api.js'
import { night, openTrial, type Trial } from '../support/command/trial.js'
import { openBucketTrial } from '../support/storage/bucket-trial.js'
import { FORBIDDEN } from '../support/storage/s3-server.js'

const DAY_MS = 86_400_000
const AHEAD_DAYS = 400

const aheadBy = (wallMs: number) => ({
  NODE_OPTIONS: `--import ${new URL('fixtures/shifted-clocks.mjs', import.meta.url).href}`,
  SHIFT_CLOCKS: JSON.stringify({ wallMs, monotonicMs: 0, atStart: true }),
})
const OURS_AHEAD = aheadBy(AHEAD_DAYS * DAY_MS)

const WARN = ['--log-level', 'warn']

test.concurrent('a run whose clock is an hour behind is the last run, however it ends', async (context) => {
  const behind = aheadBy(-3_600_000)
  const check = async (trial: Pick<Trial, 'run'>, env = {}) => {
    const { code, stdout } = await trial.run(['status', '--check'], env)
    return [code, stdout]
  }
  const trial = await openTrial(context, [scriptedSurvey(1)])
  expect(await trial.run(['sync'])).toMatchObject({ code: 0 })
  trial.api.hook = () => true
  const arrived = trial.api.arrived(() => true)
  const killed = trial.start(['sync'], behind)
  await arrived
  killed.child.kill('SIGKILL')
  await killed.ended
  expect(await check(trial)).toEqual([3, expect.stringMatching(/^INTERRUPTED 1 h ago: killed/)])
  trial.api.hook = () => false
  expect(await trial.run(['sync'], behind)).toMatchObject({ code: 0 })
  expect(await check(trial)).toEqual([0, expect.stringMatching(/^OK: .* 1 h ago\n$/)])
  // Another machine, and its bucket refuses what it publishes.
  const bucket = await openBucketTrial(context, [scriptedSurvey(1)])
  expect(await bucket.run(['sync'], await bucket.pod())).toMatchObject({ code: 0 })
  bucket.fault = ({ verb, key }) => (verb === 'put' && key.includes('/versions/') ? FORBIDDEN : null)
  expect(await bucket.run(['sync'], { ...(await bucket.pod()), ...behind })).toMatchObject({ code: 7 })
  const failed = expect.stringMatching(/^FAILED 1 h ago: not published \(exit 7\)/)
  expect(await check(bucket, await bucket.pod())).toEqual([7, failed])
})

test.concurrent('after a night 400 days ahead, the next run makes its full listing', async (context) => {
  const trial = await openTrial(context, [scriptedSurvey(1), scriptedSurvey(2)])
  expect(await night(trial, 0, undefined, WARN, OURS_AHEAD)).toMatchObject({ code: 0 })
  const late = await trial.runWarm(['status', '--check'])
  expect(late).toMatchObject({ code: 3, stdout: expect.stringContaining('is dated in the future') })
  // A survey vanishes, which no incremental listing shows.
  trial.api.surveys.pop()
  const next = await night(trial, 1)
  expect(next).toMatchObject({ code: 0, run: { listing: 'full' } })
  expect(next.stderr).toContain("the last full listing is dated ahead of this machine's clock")
  expect(await trial.rows('SELECT id FROM surveys WHERE _missing_since IS NOT NULL')).toEqual([{ id: 2 }])
  const later = await night(trial, 2)
  expect(later).toMatchObject({ code: 0, run: { listing: 'incremental' } })
  expect(later.stderr).not.toContain('ahead')
})

test.concurrent("after a night with the server's clock ahead, the next run reads all surveys again, also a closed one", async (context) => {
  const at = '2025-06-01T00:00:00Z'
  const trial = await openTrial(context, [
    scriptedSurvey(1, { status: 'complete', created_at: at, updated_at: at }, 1),
    scriptedSurvey(2, {}, 1),
  ])
  await night(trial, 0)
  const ahead: Hook = (arrival, response) => {
    const now = new Date(trial.api.now.getTime() + AHEAD_DAYS * DAY_MS)
    sendJson({ ...trial.api, now }, response, 200, bodyOf(trial.api, arrival))
    return true
  }
  expect(await night(trial, 1, ahead)).toMatchObject({ code: 0 })
  const refreshed = () =>
    trial.rows(
      'SELECT survey_id AS id, refreshed_at, sources_read_at, source_progress_read_at FROM freshness ORDER BY 1',
    )
  const readAt = (id: number, time: string) => ({
    id,
    refreshed_at: time,
    sources_read_at: time,
    source_progress_read_at: time,
  })
  // List and progress of the closed survey were as stored, so its sources were not read.
  const ofFirstNight = { source_progress_read_at: '2026-03-01T00:00:00Z' }
  expect(await refreshed()).toContainEqual({ ...readAt(1, '2027-04-06T00:00:00Z'), ...ofFirstNight })
  const [one] = trial.api.surveys
  if (one === undefined) throw new Error('there is a first survey')
  one.sourceProgress = { 101: scriptedProgress(11) }
  one.progress = scriptedProgress(11)
  const next = await night(trial, 2)
  expect(next).toMatchObject({ code: 0, run: { listing: 'full', surveys_refreshed: 2 } })
  expect(next.stderr).toContain("surveys have a reading time ahead of the server's clock and are read again")
  expect(next.stderr).toContain('the cursor is in the future')
  expect(await refreshed()).toEqual([1, 2].map((id) => readAt(id, '2026-03-03T00:00:00Z')))
  expect(
    await trial.rows('SELECT interviews_count AS n FROM sample_source_progress WHERE survey_id = 1'),
  ).toEqual([{ n: 11 }])
})

test.concurrent('a partial night that is dated in the future is the last run for one night only', async (context) => {
  const trial = await openTrial(context, [scriptedSurvey(1), scriptedSurvey(2)])
  const formats = ['--publish', 'duckdb,parquet,report']
  await night(trial, 0)
  const refused = refusing(trial.api, 403, ({ path }) => path.includes('/surveys/1/'))
  expect(await night(trial, 1, refused, [], OURS_AHEAD)).toMatchObject({
    code: 3,
  })
  const { run } = await night(trial, 2, undefined, formats)
  expect(run).toMatchObject({ status: 'complete' })
  const runId = run.run_id
  const file = join(trial.warehouse, 'parquet/current/manifest.json')
  const manifest = await readFile(file, 'utf8')
  expect(JSON.parse(manifest).run_id).toBe(runId)
  expect(await readFile(join(trial.warehouse, 'report.html'), 'utf8')).not.toContain('The last sync was')
  const status = await trial.runWarm(['status', '--json'])
  expect(JSON.parse(status.stdout).runs[0].run_id).toBe(runId)
  const out = join(trial.warehouse, '..', 'exported')
  const exported = await trial.runWarm(['export', '--json', '--format', 'csv', '--out', out])
  expect(JSON.parse(exported.stdout).run_id).toBe(runId)
  expect(await trial.runWarm(['verify', '--local'])).toMatchObject({ code: 0 })
  await chmod(file, 0o644)
  await writeFile(file, manifest.replace(`"run_id": "${runId}"`, '"run_id": "another"'))
  const lying = await trial.runWarm(['verify', '--local'])
  expect(lying.code).toBe(5)
  expect(lying.stdout).toContain('the manifest names another run than the last one in its files')
})
