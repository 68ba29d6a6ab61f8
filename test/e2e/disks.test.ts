/** A disk that takes no more ends a run with exit 7. `disks.full.test.ts` fills a disk at each stage, and has other obstacles. */

import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { scriptedSurvey } from '../support/api/scripted-api.js'
import { MAIN } from '../support/command/command.js'
import { openSynced } from '../support/command/trial.js'

/** A shell limits the size of files, in blocks of 512 bytes. The probe of a run fits into 1.5 MB, and the published file does not. */
const BLOCKS = 3_000

test('a disk that takes no more ends the run with exit 7, and the next run recovers when there is space', async (context) => {
  const trial = await openSynced(context, [scriptedSurvey(1)])
  const before = await readFile(trial.published)
  trial.api.surveys.push(scriptedSurvey(2, { updated_at: trial.api.now.toISOString() }))
  const sync = ['-c', `ulimit -f ${BLOCKS}; exec "$0" "$@"`, process.execPath, MAIN, 'sync']
  const env = { ...trial.api.env, PATH: process.env.PATH, FIELDWORK_SYNC_WAREHOUSE: trial.warehouse }
  const ended = await promisify(execFile)('sh', sync, { env }).catch((error: unknown) => error)
  expect(ended).toMatchObject({ code: 7, signal: null })
  expect(ended).toMatchObject({
    stderr: expect.stringMatching(/^.*not published: cannot publish .*Could not write file/s),
  })
  expect((await readFile(trial.published)).equals(before)).toBe(true)
  expect(await trial.runWarm(['sync'])).toMatchObject({ code: 0 })
  expect(await trial.rows('SELECT id FROM surveys ORDER BY id')).toEqual([{ id: 1 }, { id: 2 }])
  await trial.expectSound()
})
