/** What a newer version wrote is refused with exit 7, and nothing of it is removed, replaced or called damaged. */
import { readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DuckDBInstance } from '@duckdb/node-api'
import { expect, test } from 'vitest'
import { SCHEMA_VERSION } from '../../src/model/sync-tables.js'
import { scriptedSurvey } from '../support/api/scripted-api.js'
import { openTrial } from '../support/command/trial.js'
import { keysIn, openBucketTrial } from '../support/storage/bucket-trial.js'
import { query } from '../support/warehouse/duckdb.js'

const NEWER = SCHEMA_VERSION + 1
const ONLY = `but this version of fieldwork-sync supports only up to`
const REFUSED = `has schema version ${NEWER}, ${ONLY} ${SCHEMA_VERSION}. Use the fieldwork-sync that wrote it, or a newer one`

/** A part that this version does not know. */
const PART = `CREATE SCHEMA _history2; CREATE TABLE _history2.readings AS FROM range(1000);
  CREATE MACRO main.twice(a) AS 2 * a; INSERT INTO _sync.schema_version (version, applied_at, description) VALUES (${NEWER}, now(), 'newer')`

const makeNewer = async (file: string): Promise<void> => {
  const instance = await DuckDBInstance.create(file)
  const connection = await instance.connect()
  await connection.run(PART)
  connection.closeSync()
  instance.closeSync()
}

/** What a newer version may have done to a manifest: another format, and columns of another type. */
const newerManifest = (manifest: object): string =>
  JSON.stringify({ ...manifest, format: 2, schema_version: NEWER, tables: 'elsewhere' })

const refusal = (place: string) => ({ code: 7, stderr: expect.stringContaining(`${place} ${REFUSED}`) })

test.concurrent('a directory: its work database, its published file, and its Parquet', async (context) => {
  const trial = await openTrial(context, [scriptedSurvey(1)])
  const both = await trial.settings({ publish: ['duckdb', 'parquet'] })
  expect(await trial.runWarm(['sync', ...both])).toMatchObject({ code: 0 })
  const [work, parquet] = ['work.duckdb', 'parquet'].map((name) => join(trial.warehouse, name))
  if (work === undefined || parquet === undefined) throw new Error('there are two paths')
  await makeNewer(work)
  const before = await readFile(work)
  const refused = await trial.runWarm(['sync', ...both])
  expect(refused).toMatchObject(refusal(work))
  expect(refused.stderr).not.toContain('removed')
  expect(before.equals(await readFile(work))).toBe(true)
  expect(await query(work, 'SELECT count(*)::INT AS kept FROM _history2.readings')).toEqual([{ kept: 1_000 }])
  // The newer version has published.
  await rm(work)
  await rm(trial.published)
  await writeFile(trial.published, before)
  const readers = [['status'], ['query', 'FROM surveys'], ['verify', '--local'], ['plan']]
  for (const args of readers)
    expect(await trial.runWarm([...args, ...both]), args[0]).toMatchObject(refusal(trial.published))
  const lost = await trial.runWarm(['sync', ...both])
  expect(lost).toMatchObject(refusal(trial.published))
  expect(lost.stderr).not.toContain('move it away')
  await rm(trial.published)
  const [version] = await readdir(join(parquet, 'versions'))
  const manifest = join(parquet, 'versions', String(version), 'manifest.json')
  await writeFile(manifest, newerManifest(JSON.parse(await readFile(manifest, 'utf8'))))
  expect(await trial.runWarm(['sync', ...both])).toMatchObject(refusal(manifest))
  for (const args of readers)
    expect(await trial.runWarm([...args, ...both]), args[0]).toMatchObject({
      code: 7,
      stderr: expect.stringContaining(REFUSED),
    })
  expect(await readdir(join(parquet, 'versions'))).toEqual([version])
})

test.concurrent('a bucket: its newest manifest, and its database', async (context) => {
  const trial = await openBucketTrial(context, [scriptedSurvey(1)])
  expect(await trial.runWarm(['sync'], await trial.pod())).toMatchObject({ code: 0 })
  const used = await trial.pod()
  expect(await trial.runWarm(['sync'], used)).toMatchObject({ code: 0 })
  const key = String(trial.document('current.json').manifest)
  const manifest = trial.document(key)
  trial.s3.store.write(`fieldwork/${key}`, Buffer.from(newerManifest(manifest)))
  const { length } = trial.api.arrivals
  const state = () => [keysIn(trial), trial.document('current.json'), trial.document(key)]
  const before = state()
  for (const pod of [used, await trial.pod()])
    for (const args of [['sync'], ['check'], ['replay'], ['status'], ['verify', '--local']]) {
      const refused = await trial.runWarm(args, pod)
      const said = expect.stringContaining(`s3://research/fieldwork/${key} ${REFUSED}`)
      expect(refused, args[0]).toMatchObject(
        args[0] === 'check' ? { code: 7, stdout: said } : { code: 7, stderr: said },
      )
    }
  expect(state()).toEqual(before)
  expect(trial.api.arrivals).toHaveLength(length)
  // Whoever goes back restores the older pointer, and the newer manifest stays.
  trial.s3.store.write(`fieldwork/${key}`, Buffer.from(JSON.stringify({ ...manifest, format: 2 })))
  expect(await trial.runWarm(['status'], used)).toMatchObject({
    code: 7,
    stderr: expect.stringContaining(`${key} has format 2, ${ONLY} 1. Use`),
  })
  const [older] = trial.document('current.json').earlier as string[]
  const back = { ...trial.document('current.json'), version: 1, manifest: older, database: null, earlier: [] }
  trial.s3.store.write('fieldwork/current.json', Buffer.from(JSON.stringify(back)))
  const gone = await trial.runWarm(['sync'], await trial.pod())
  expect(gone).toMatchObject({ code: 0, stderr: expect.stringContaining('nothing was cleaned up, because') })
  expect(keysIn(trial)).toContain(key)
})
