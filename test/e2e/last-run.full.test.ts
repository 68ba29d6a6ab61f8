/** `status --check` says how the last run ended, also if that run could not publish, was killed, or still goes on. */
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { scriptedSurvey } from '../support/api/scripted-api.js'
import { openTrial, type Trial } from '../support/command/trial.js'
import { openDisk } from '../support/files/disk.js'

const check = async (trial: Pick<Trial, 'runWarm'>, env = {}) => {
  const { code, stdout } = await trial.runWarm(['status', '--check'], env)
  return [code, stdout]
}

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
    expect.stringMatching(/^FAILED \d+ s ago: not published \(exit 7\): .*no space left/i),
  ])
  await disk.clear()
  expect(await trial.runWarm(['sync'])).toMatchObject({ code: 0 })
  expect(await check(trial)).toEqual([0, expect.stringMatching(/^OK: /)])
  // Enough for the probe, and too little for the published file.
  disk.fill(1_800)
  expect(await trial.runWarm(['sync'])).toMatchObject({ code: 7 })
  const full = expect.stringMatching(
    /^FAILED \d+ s ago: not published \(exit 7\): .*no space left.*; next: /i,
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
