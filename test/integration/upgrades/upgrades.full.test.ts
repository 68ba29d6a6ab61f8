/** What test/integration/upgrades/upgrades.ci.test.ts shows of the directory, of a bucket and of a loss. */
import { copyFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { openTrial } from '../../support/command/trial.js'
import { temporaryDirectory } from '../../support/files/temporary.js'
import { openBucketTrial } from '../../support/storage/bucket-trial.js'
import { lostRows, NEXT_DAY, night, RELEASES, restoreBucket, unpack, writeRelease } from './release.js'

describe.each(RELEASES)('what %s wrote', (version) => {
  test.concurrent('is rebuilt from its Parquet files where all else is lost', async (context) => {
    const trial = await openTrial(context)
    unpack(version, 'warehouse', trial.warehouse)
    const before = join(await trial.temporary(), 'before.duckdb')
    copyFileSync(trial.published, before)
    for (const name of ['work.duckdb', 'fieldwork.duckdb']) rmSync(join(trial.warehouse, name))
    expect(await night(trial, NEXT_DAY, 'duckdb,parquet')).toMatchObject({ code: 0 })
    expect(await lostRows(before, trial.published)).toEqual([])
  })

  test.concurrent('in a bucket is read, and synced on', async (context) => {
    const trial = await openBucketTrial(context)
    await restoreBucket(trial, version)
    expect(
      await trial.runWarm(['status', '--check', '--max-age', '99999d'], await trial.pod()),
    ).toMatchObject({ code: 0 })
    const before = Number(trial.document('current.json').version)
    const ended = await night(trial, NEXT_DAY, 'duckdb,parquet,delta,ducklake', await trial.pod())
    expect(ended).toMatchObject({ code: 0 })
    expect(trial.document('current.json')).toMatchObject({ version: before + 1 })
    expect(await trial.rows('SELECT count(*)::INT AS nights FROM _sync.runs')).toEqual([{ nights: 4 }])
    expect(await trial.runWarm(['verify', '--local'], await trial.pod())).toMatchObject({ code: 0 })
  })
})

/** With `KEEP_RELEASE`, it is kept there: docs/release.md. */
test('this version writes what a release keeps', async (context) => {
  await writeRelease(context, process.env.KEEP_RELEASE ?? (await temporaryDirectory(context.onTestFinished)))
})
