/** What a release wrote, kept as it wrote it: the directory of a warehouse, and the objects of a bucket. */
import { execFileSync } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { expect } from 'vitest'
import { type ScriptedSurvey, scriptedProgress, scriptedSurvey } from '../../support/api/scripted-api.js'
import type { Env } from '../../support/command/command.js'
import type { Trial } from '../../support/command/trial.js'
import type { Finished } from '../../support/files/temporary.js'
import { type BucketTrial, openBucketTrial } from '../../support/storage/bucket-trial.js'
import { openReader } from '../../support/warehouse/duckdb.js'

/** Folders of this directory: `1.0.0`. Each has `warehouse.tar.gz` and `bucket.tar.gz`. */
const KEPT = join(import.meta.dirname, 'written-by')

export const RELEASES = readdirSync(KEPT)

/** Days of the nights that a release writes, and of the night that this version runs after them. */
const NIGHTS = [0, 1, 3]
export const NEXT_DAY = 5

/** The organization on that day: a survey in fieldwork, one that is complete from day 1 on, and a status that no version knows. */
const surveysOn = (day: number): ScriptedSurvey[] => {
  const moved = { updated_at: new Date(Date.UTC(2026, 2, 1 + day)).toISOString() }
  const running = { ...scriptedSurvey(1, { project_id: 'wave' }), progress: scriptedProgress(10 + 7 * day) }
  const ended = scriptedSurvey(2, day === 0 ? {} : { ...moved, status: 'complete' })
  return [running, ended, scriptedSurvey(3, { status: 'on_hold' })]
}

/** The night of a day, into the directory of the trial or, with the environment of a pod, into its bucket. */
export const night = async (
  { api, runWarm }: Pick<Trial, 'api' | 'runWarm'>,
  day: number,
  formats: string,
  env: Env = {},
) => {
  api.now = new Date(Date.UTC(2026, 2, 1 + day))
  api.surveys.splice(0, api.surveys.length, ...surveysOn(day))
  return await runWarm(['sync', '--publish', formats], env)
}

/** Writes with this version what a release keeps. */
export const writeRelease = async (
  context: { readonly onTestFinished: Finished },
  directory: string,
): Promise<void> => {
  const trial = await openBucketTrial(context)
  mkdirSync(directory, { recursive: true })
  for (const day of NIGHTS) {
    expect(await night(trial, day, 'duckdb,parquet')).toMatchObject({ code: 0 })
    expect(await night(trial, day, 'duckdb,parquet,delta,ducklake', await trial.pod())).toMatchObject({
      code: 0,
    })
  }
  pack(directory, 'warehouse', trial.warehouse)
  const objects = await trial.temporary()
  for (const [key, { body }] of trial.s3.store.objects) {
    mkdirSync(dirname(join(objects, key)), { recursive: true })
    writeFileSync(join(objects, key), body)
  }
  pack(directory, 'bucket', objects)
}

const pack = (directory: string, name: string, from: string): void => {
  execFileSync('tar', [
    '--exclude=sent-requests-*',
    '-czf',
    join(directory, `${name}.tar.gz`),
    '-C',
    from,
    '.',
  ])
}

export const unpack = (version: string, name: 'warehouse' | 'bucket', to: string): void => {
  mkdirSync(to, { recursive: true })
  execFileSync('tar', ['-xzf', join(KEPT, version, `${name}.tar.gz`), '-C', to])
}

/** The bucket of the trial, as the release left it. */
export const restoreBucket = async (trial: BucketTrial, version: string): Promise<void> => {
  const objects = await trial.temporary()
  unpack(version, 'bucket', objects)
  for (const file of readdirSync(objects, { recursive: true, withFileTypes: true })) {
    if (!file.isFile()) continue
    const path = join(file.parentPath, file.name)
    trial.s3.store.write(relative(objects, path), readFileSync(path))
  }
}

/** Rows of histories in the first file that the second lacks, by table. The end of the last version of a row may come later. */
export const lostRows = async (before: string, after: string) => {
  using reader = await openReader(':memory:')
  for (const [name, file] of Object.entries({ before, after }))
    await reader.query(`ATTACH '${file}' AS ${name} (READ_ONLY)`)
  const tables =
    await reader.query(`SELECT table_name AS name, string_agg('"' || column_name || '"', ', ') AS columns
    FROM duckdb_columns() WHERE database_name = 'before' AND schema_name = 'main' AND column_name <> 'valid_to'
      AND table_name IN (SELECT table_name FROM duckdb_tables() WHERE database_name = 'before')
      AND (table_name LIKE '%history' OR table_name IN ('survey_progress_reconstructed', 'survey_forecasts'))
    GROUP BY ALL`)
  expect(tables.length).toBeGreaterThan(4)
  const lost = []
  for (const { name, columns } of tables)
    lost.push(
      ...(await reader.query(`SELECT '${name}' AS "table", count(*)::INT AS lost FROM
        (SELECT ${columns} FROM before.main.${name} EXCEPT ALL SELECT ${columns} FROM after.main.${name}) HAVING count(*) > 0`)),
    )
  return lost
}
