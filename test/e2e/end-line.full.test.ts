/** Where stderr is no terminal, its last line says in JSON how the command ended, why, and what to do next. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { refusing, scriptedSurvey, scriptedSurveys } from '../support/api/scripted-api.js'
import type { EndLine } from '../support/command/command.js'
import { openTrial } from '../support/command/trial.js'

const WAIT = /^wait: the next run tries again/

const CORRECT = /^correct what the reason names/

test.concurrent('of sync after each exit code', async (context) => {
  const trial = await openTrial(context, scriptedSurveys(3))
  const quick = await trial.settings({ limits: { attempts: 1, patience: '0s' } })
  const endOf = async (args: readonly string[], env = {}): Promise<EndLine | null> => {
    const ended = await trial.runWarm(args, env)
    expect(ended.end, args.join(' ')).toMatchObject({ exit_code: ended.code })
    return ended.end
  }
  const failed = { level: 'error', status: 'failed' }
  expect(await endOf(['sync'])).toMatchObject({
    ...{ level: 'info', exit_code: 0, status: 'complete', reason: null, next: 'nothing' },
    ...{ time: expect.any(String), run_id: expect.stringMatching(/^\d{8}T/), msg: 'sync ended with exit 0' },
  })
  expect(await endOf(['replay'])).toMatchObject({ exit_code: 0, status: 'complete' })
  expect(await endOf(['sync', '--max-requests', '2'])).toMatchObject({
    ...{ level: 'warn', status: 'partial', exit_code: 3 },
    ...{ reason: expect.stringMatching(/--max-requests/), next: expect.stringMatching(/next run goes on/) },
  })
  trial.api.hook = refusing(trial.api, 503)
  const away = { ...failed, exit_code: 4, next: expect.stringMatching(WAIT) }
  expect(await endOf(['sync', ...quick])).toMatchObject({ ...away, reason: expect.stringMatching(/503/) })
  const { code, stdout } = await trial.runWarm(['status', '--check'])
  expect([code, stdout]).toEqual([4, expect.stringMatching(/503.*; next: wait: the next run/)])
  expect(await endOf(['status', '--check'])).toMatchObject({
    exit_code: 4,
    next: expect.stringMatching(WAIT),
  })
  trial.api.hook = refusing(trial.api, 401)
  const reason = expect.stringMatching(/credentials/)
  expect(await endOf(['sync'])).toMatchObject({
    ...failed,
    exit_code: 4,
    reason,
    next: expect.stringMatching(CORRECT),
  })
  expect(await endOf(['check'])).toMatchObject({ ...failed, exit_code: 4, reason })
  trial.api.hook = () => false
  trial.api.surveys.push(scriptedSurvey(4, { title: 12 }))
  const rejected = { exit_code: 5, next: expect.stringMatching(/query "FROM _sync\.rejected_rows"/) }
  expect(await endOf(['sync', '--full'])).toMatchObject({ ...failed, ...rejected })
  expect((await trial.runWarm(['status'])).stdout).not.toContain('status lists')
  await writeFile(join(trial.warehouse, 'no-directory'), '')
  const nowhere = { FIELDWORK_SYNC_WAREHOUSE: join(trial.warehouse, 'no-directory') }
  expect(await endOf(['sync'], nowhere)).toMatchObject({
    ...failed,
    exit_code: 7,
    next: expect.stringMatching(CORRECT),
  })
  expect(await endOf(['sync', '--log-level', 'loud'])).toMatchObject({
    ...{ ...failed, exit_code: 2 },
    reason: expect.stringMatching(/^1 problem in the settings; nothing was requested: --log-level: must be/),
  })
  const silent = await trial.runWarm(['sync', '--log-level', 'silent'], nowhere)
  expect([silent.code, silent.end]).toEqual([7, null])
})
