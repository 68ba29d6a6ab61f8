/** `status --check` says how the last run ended, also if that run could not publish, was killed, or still goes on. */
import { cp, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { refusing, scriptedSurvey } from '../support/api/scripted-api.js'
import { lastLine, openTrial, type Trial } from '../support/command/trial.js'
import { openDisk } from '../support/files/disk.js'
import { openBucketTrial } from '../support/storage/bucket-trial.js'
import { FORBIDDEN } from '../support/storage/s3-server.js'

const check = async (trial: Pick<Trial, 'runWarm'>, env = {}) => {
  const { code, stdout } = await trial.runWarm(['status', '--check'], env)
  return [code, stdout]
}

const KILLED = /^INTERRUPTED \d+ \w+ ago: killed, .* began \d+ \w+ ago and left no end; next: .*\n$/

test.concurrent('a run under way, its kill, and what does not count as a night', async (context) => {
  const trial = await openTrial(context, [scriptedSurvey(1)])
  trial.api.hook = () => true
  const arrived = trial.api.arrived(() => true)
  const first = trial.start(['sync'])
  await arrived
  const busy = await trial.runWarm(['status', '--check'])
  expect([busy.code, busy.stderr]).toEqual([2, expect.stringMatching(/held by "fieldwork-sync sync"/)])
  first.child.kill('SIGKILL')
  await first.ended
  expect(await check(trial)).toEqual([3, expect.stringMatching(KILLED)])
  // In another container, its process cannot be looked for: it says so often that it is there.
  const note = join(trial.warehouse, 'last-run.json')
  const left = JSON.parse(await readFile(note, 'utf8'))
  const elsewhere = (seenMs: number) =>
    writeFile(
      note,
      JSON.stringify({
        ...left,
        run: { ...left.run, host: 'pod-1', seen_at: new Date(seenMs).toISOString() },
      }),
    )
  await elsewhere(Date.now())
  expect(await check(trial)).toEqual([2, ''])
  await elsewhere(Date.now() - 600_000)
  expect(await check(trial)).toEqual([3, expect.stringMatching(/^INTERRUPTED 10 min ago: killed/)])
  // A clock that was ahead proves no life.
  await elsewhere(Date.now() + 3_600_000)
  expect(await check(trial)).toEqual([
    3,
    expect.stringMatching(/^INTERRUPTED \d+ (min|h) \d+ (s|min) ahead of this clock: killed/),
  ])
  await elsewhere(Date.now() - 600_000)
  trial.api.hook = () => false
  expect(await trial.runWarm(['sync'])).toMatchObject({ code: 0 })
  expect(await check(trial)).toEqual([0, expect.stringMatching(/^OK: /)])
  trial.api.hook = () => true
  const again = trial.api.arrived(() => true)
  const second = trial.start(['sync'])
  await again
  // A night that the first one keeps out says nothing of the warehouse.
  expect(await trial.runWarm(['sync'])).toMatchObject({ code: 6 })
  expect(await check(trial)).toEqual([
    0,
    expect.stringMatching(/^OK: .*; a run is under way, which began \d+ \w+ ago\n$/),
  ])
  second.child.kill('SIGKILL')
  await second.ended
  expect(await check(trial)).toEqual([3, expect.stringMatching(KILLED)])
  const third = trial.start(['sync'])
  await trial.api.arrived(() => true)
  expect(await check(trial)).toEqual([
    3,
    expect.stringMatching(
      /^INTERRUPTED \d+ \w+ ago: killed, .*; a run is under way, which began \d+ \w+ ago\n$/,
    ),
  ])
  third.child.kill('SIGKILL')
  await third.ended
  trial.api.hook = () => false
  expect(await trial.runWarm(['sync', '--surveys', '1'])).toMatchObject({ code: 0 })
  expect(await trial.runWarm(['replay'])).toMatchObject({ code: 0 })
  expect(await check(trial)).toEqual([3, expect.stringMatching(KILLED)])
  // A copy of the published file alone, and a file that is none of ours.
  const copy = join(await trial.temporary(), 'copy')
  await mkdir(copy)
  await cp(trial.published, join(copy, 'fieldwork.duckdb'))
  const env = { FIELDWORK_SYNC_WAREHOUSE: copy }
  const killed = [3, expect.stringMatching(/^INTERRUPTED: killed, .* began \d+ \w+ ago and left no end/)]
  expect(await check(trial, env)).toEqual(killed)
  await writeFile(join(copy, 'last-run.json'), 'no JSON')
  expect(await check(trial, env)).toEqual(killed)
  trial.api.hook = refusing(trial.api, 401)
  expect(await trial.runWarm(['sync'])).toMatchObject({ code: 4 })
  expect(await check(trial)).toEqual([4, expect.stringMatching(/^FAILED \d+ \w+ ago: .*credentials/)])
})

test.concurrent('in a bucket, to those who only read', async (context) => {
  const trial = await openBucketTrial(context, [scriptedSurvey(1)])
  expect(await trial.runWarm(['sync'], await trial.pod())).toMatchObject({ code: 0 })
  const reader = await trial.pod()
  expect(await check(trial, reader)).toEqual([0, expect.stringMatching(/^OK: /)])
  trial.fault = ({ verb, key }) => (verb === 'put' && key.includes('/versions/') ? FORBIDDEN : null)
  const failed = await trial.runWarm(['sync'], await trial.pod())
  expect([failed.code, lastLine(failed)]).toEqual([
    7,
    expect.stringMatching(/^failed \(exit 7\): not published/),
  ])
  expect(await check(trial, reader)).toEqual([
    7,
    expect.stringMatching(/^FAILED \d+ \w+ ago: not published \(exit 7\): /),
  ])
  // A policy of the bucket may keep runs from the object: then none starts, because status could not show its end.
  let puts = 0
  const refuseFrom = (first: number) => {
    puts = 0
    trial.fault = ({ verb, key }) =>
      verb === 'put' && key.endsWith('/last-run.json') && ++puts >= first ? FORBIDDEN : null
  }
  const requests = trial.api.arrivals.length
  refuseFrom(1)
  expect(await trial.runWarm(['sync'], await trial.pod())).toMatchObject({
    code: 7,
    stderr: expect.stringMatching(/last-run\.json.*; status cannot show this end/s),
  })
  expect(trial.api.arrivals).toHaveLength(requests)
  expect(await check(trial, reader)).toEqual([7, expect.stringMatching(/^FAILED /)])
  // Its start is recorded and its end is not, but published.
  refuseFrom(2)
  const unrecorded = await trial.runWarm(['sync'], await trial.pod())
  expect(unrecorded).toMatchObject({ code: 0, stderr: expect.stringContaining('could not be recorded') })
  expect(await check(trial, reader)).toEqual([0, expect.stringMatching(/^OK: /)])
  trial.fault = () => null
  trial.api.hook = () => true
  const arrived = trial.api.arrived(() => true)
  const killed = trial.start(['sync'], await trial.pod())
  await arrived
  expect(await check(trial, reader)).toEqual([0, expect.stringMatching(/^OK: .* under way, .*\n$/)])
  killed.child.kill('SIGKILL')
  await killed.ended
  // By the clock of the store, its lease was not renewed for a minute.
  const { objects } = trial.s3.store
  for (const [key, one] of objects) objects.set(key, { ...one, writtenMs: one.writtenMs - 61_000 })
  expect(await check(trial, reader)).toEqual([3, expect.stringMatching(KILLED)])
})

test.concurrent('a full disk: before the first request, at the publish, and with no room for a word', async (context) => {
  const disk = await openDisk(context, 40)
  if (disk === null) return
  const trial = await openTrial(context, [scriptedSurvey(1)], {
    directory: join(disk.directory, 'warehouse'),
  })
  disk.fill(16)
  const first = await trial.runWarm(['sync'])
  expect(first.code).toBe(7)
  const nothing = await check(trial)
  expect(nothing).toEqual([
    7,
    expect.stringMatching(/^FAILED \d+ \w+ ago: not published \(exit 7\): .*no space left/i),
  ])
  await disk.clear()
  expect(await trial.runWarm(['sync'])).toMatchObject({ code: 0 })
  expect(await check(trial)).toEqual([0, expect.stringMatching(/^OK: /)])
  // Enough for the probe, and too little for the published file.
  disk.fill(1_800)
  expect(await trial.runWarm(['sync'])).toMatchObject({ code: 7 })
  const full = expect.stringMatching(
    /^FAILED \d+ \w+ ago: not published \(exit 7\): .*no space left.*; next: /i,
  )
  expect(await check(trial)).toEqual([7, full])
  const json = await trial.runWarm(['status', '--json'])
  expect(JSON.parse(json.stdout)).toMatchObject({
    verdict: { state: 'failed', exit_code: 7 },
    running: null,
    last_run: { exit_code: 7, is_published: false, reason: expect.stringMatching(/no space left/i) },
    runs: [{ status: 'complete' }],
  })
  disk.fill(0)
  await rm(join(trial.warehouse, 'last-run.json'))
  await disk.clear()
  expect(await trial.runWarm(['sync'])).toMatchObject({ code: 0 })
  disk.fill(0)
  expect(await trial.runWarm(['sync'])).toMatchObject({ code: 7 })
  expect(await check(trial)).toEqual([7, full])
  await disk.clear()
  expect(await trial.runWarm(['sync'])).toMatchObject({ code: 0 })
  expect(await check(trial)).toEqual([0, expect.stringMatching(/^OK: /)])
})
