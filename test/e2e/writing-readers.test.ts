/**
 * Readers that open the published file for writing, as DuckDB does by default. Such a reader locks out all others.
 * The mode of the file forbids this to everybody but root, and a sync still replaces the file.
 */
import { chmod } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { scriptedSurvey } from '../support/api/scripted-api.js'
import { openSynced } from '../support/command/trial.js'
import { some } from '../support/suite/cases.js'
import { startReader } from './writing-readers-shared.js'

test('status, plan and export name a reader that has the file open for writing, and a sync still publishes', async (context) => {
  const trial = await openSynced(context, [scriptedSurvey(1)])
  // Older versions published files with this mode, and copies may have it.
  await chmod(trial.published, 0o644)
  const writer = await startReader('write', trial.published)
  expect(writer.firstLine).toEqual({ opened: true })

  const out = join(await trial.temporary(), 'handover')
  const others = [['status', '--requests'], ['plan'], ['export', '--format', 'csv', '--out', out]]
  for (const args of some([['status'], ...others], 1)) {
    const { code, stderr } = await trial.runWarm(args)
    expect(code, stderr).toBe(7)
    expect(stderr).toContain(
      `cannot read ${trial.published}: it is open for writing in process ${writer.pid} (`,
    )
    expect(stderr).toContain('open it read-only')
    expect(stderr).not.toContain('fieldwork-sync sync')
  }
  expect(await trial.runWarm(['sync'])).toMatchObject({ code: 0 })
  expect(await trial.runWarm(['status'])).toMatchObject({ code: 0, stderr: '' })
  await writer.end()
})
