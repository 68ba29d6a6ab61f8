/**
 * Each planted fault is found: what contradicts itself by the local half, what does not by comparing with the service. Each is also planted
 * alone, and the test prints how large a sample it took. Slow, because its world takes ten seconds: test/unit/verify judges the same
 * differences without a service.
 */

import { appendFile, chmod, cp, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DuckDBInstance } from '@duckdb/node-api'
import { beforeAll, expect, test } from 'vitest'
import type { ReferenceServer } from '../../src/reference-server/server.js'
import { inSampleOrder } from '../../src/verify/sample/choose.js'
import { startWorld } from '../support/api/reference-api.js'
import { publishedFile } from '../support/command/sync.js'
import { runWarm } from '../support/command/warm.js'
import { blocksOf, scribbleBlock } from '../support/files/damage.js'
import { atEndOfFile, type Finished, temporaryDirectory } from '../support/files/temporary.js'
import { unlimitedEnv } from '../support/oracle/rate.js'
import { openWorld } from '../support/oracle/truth.js'
import { query } from '../support/warehouse/duckdb.js'

const SURVEYS = 40
/** More than the world has at the end. */
const ALL = '60'
let server: ReferenceServer
/** A good warehouse after three nights; every test changes a copy. */
let good = ''

const environment = (warehouse: string) => unlimitedEnv(server, warehouse)

beforeAll(async () => {
  server = await startWorld({ seed: 8, surveys: SURVEYS, pageSize: 20 })
  atEndOfFile(() => server.close())
  const world = openWorld(server)
  good = join(await temporaryDirectory(atEndOfFile), 'warehouse')
  for (let night = 0; night < 3; night += 1) {
    await world.advance('P3D')
    expect(await runWarm(['sync', '--publish', 'duckdb,parquet'], environment(good))).toMatchObject({
      code: 0,
    })
  }
  await world.advance('PT5H')
})

const copyOfGood = async (onTestFinished: Finished): Promise<string> => {
  const warehouse = join(await temporaryDirectory(onTestFinished), 'warehouse')
  await cp(good, warehouse, { recursive: true, verbatimSymlinks: true })
  return warehouse
}

/** Runs statements on the published file, as somebody does who changes it by hand. */
const change = async (warehouse: string, statements: readonly string[]): Promise<void> => {
  const file = publishedFile(warehouse)
  await chmod(file, 0o644)
  const instance = await DuckDBInstance.create(file, { threads: '1' })
  const connection = await instance.connect()
  for (const statement of statements) await connection.run(statement)
  await connection.run('CHECKPOINT')
  connection.closeSync()
  instance.closeSync()
}

const one = async (sql: string): Promise<number> => {
  const [row] = await query(publishedFile(good), sql)
  if (row === undefined) throw new Error(`the world has no survey for ${sql}`)
  return Number(row.id)
}

interface SampledFault {
  readonly what: string
  /** Selects a survey that can have it. Each fault gets another one. */
  readonly survey: string
  /** The table in which `verify` finds it. */
  readonly table: string
  readonly statements: (id: number) => readonly string[]
}

const both = (table: string, set: string, where: string): readonly string[] => [
  `UPDATE ${table} SET ${set} WHERE ${where}`,
  `UPDATE ${table}_history SET ${set} WHERE ${where} AND ${table.endsWith('progress') ? `observed_at = (SELECT max(observed_at) FROM ${table}_history WHERE ${where})` : 'valid_to IS NULL'}`,
]

const settled = `FROM surveys s JOIN freshness f ON f.survey_id = s.id WHERE s.updated_at < f.refreshed_at - INTERVAL 1 DAY AND s._missing_since IS NULL`

/** Faults that the tables alone do not show: row and history are changed alike. */
const SAMPLED: readonly SampledFault[] = [
  {
    what: 'a title is changed by hand',
    // The last page of the listing has only a few old surveys, which small samples seldom have.
    survey: `SELECT s.id ${settled} AND s.created_at > (SELECT median(created_at) FROM surveys) ORDER BY s.id LIMIT 1`,
    table: 'surveys',
    statements: (id) => both('surveys', `title = 'by hand'`, `id = ${id}`),
  },
  {
    what: 'a change of a survey is lost: its row is that of an earlier night',
    survey: `SELECT DISTINCT h.id FROM surveys_history h JOIN surveys s USING (id)
      WHERE h.valid_to = s._synced_at AND s.updated_at < (SELECT max(refreshed_at) - INTERVAL 1 DAY FROM freshness) ORDER BY id LIMIT 1`,
    table: 'surveys',
    statements: (id) => [
      `DELETE FROM surveys_history WHERE id = ${id} AND valid_to IS NULL`,
      `UPDATE surveys_history SET valid_to = NULL WHERE id = ${id} AND valid_from = (SELECT max(valid_from) FROM surveys_history WHERE id = ${id})`,
      `UPDATE surveys s SET status = h.status, title = h.title, project_id = h.project_id, updated_at = h.updated_at, _synced_at = h.valid_from
        FROM surveys_history h WHERE h.id = ${id} AND s.id = ${id} AND h.valid_to IS NULL`,
    ],
  },
  {
    what: 'a survey is lost',
    survey: `SELECT s.id ${settled} ORDER BY s.id DESC LIMIT 1`,
    table: 'surveys',
    statements: (id) => [
      `DELETE FROM surveys WHERE id = ${id}`,
      `DELETE FROM surveys_history WHERE id = ${id}`,
      ...['sample_sources', 'survey_progress', 'sample_source_progress'].flatMap((table) => [
        `DELETE FROM ${table} WHERE survey_id = ${id}`,
        `DELETE FROM ${table}_history WHERE survey_id = ${id}`,
      ]),
      `DELETE FROM survey_progress_reconstructed WHERE survey_id = ${id}`,
      `DELETE FROM survey_progress_by_day WHERE survey_id = ${id}`,
      `DELETE FROM survey_forecasts WHERE survey_id = ${id}`,
      `DELETE FROM freshness WHERE survey_id = ${id}`,
      `DELETE FROM _sync.tasks WHERE survey_id = ${id}`,
    ],
  },
  {
    what: 'a source is lost',
    survey: `SELECT survey_id AS id FROM sample_sources WHERE _missing_since IS NULL GROUP BY survey_id HAVING count(*) > 2 ORDER BY id LIMIT 1`,
    table: 'sample_sources',
    statements: (id) => {
      const lost = `(SELECT min(id) FROM sample_sources WHERE survey_id = ${id})`
      return [
        `DELETE FROM sample_source_progress WHERE survey_id = ${id} AND sample_source_id = ${lost}`,
        `DELETE FROM sample_source_progress_history WHERE survey_id = ${id} AND sample_source_id = ${lost}`,
        `DELETE FROM sample_sources_history WHERE survey_id = ${id} AND id = ${lost}`,
        `DELETE FROM sample_sources WHERE survey_id = ${id} AND id = ${lost}`,
      ]
    },
  },
  {
    what: 'the target of a source is changed by hand',
    survey: `SELECT s.survey_id AS id FROM sample_sources s JOIN freshness f USING (survey_id) GROUP BY s.survey_id
      HAVING count(*) = 1 AND max(s.updated_at) < max(f.sources_listed_at) - INTERVAL 1 DAY ORDER BY id LIMIT 1`,
    table: 'sample_sources',
    statements: (id) => both('sample_sources', 'sample_size = sample_size + 7', `survey_id = ${id}`),
  },
  {
    what: 'progress is stale: the row is that of the first night, although it says that it was read in the last',
    survey: `SELECT survey_id AS id FROM survey_progress_history h JOIN surveys s ON s.id = h.survey_id WHERE s.status = 'fieldwork'
      GROUP BY survey_id HAVING max(complete_individuals) > min(complete_individuals) + 5 ORDER BY id LIMIT 1`,
    table: 'survey_progress',
    statements: (id) => [
      `DELETE FROM survey_progress_history WHERE survey_id = ${id} AND observed_at > (SELECT min(observed_at) FROM survey_progress_history WHERE survey_id = ${id})`,
      `INSERT INTO survey_progress BY NAME SELECT * EXCLUDE (observed_at, day, day_before), observed_at AS _first_seen_at, observed_at AS _observed_at FROM survey_progress_history WHERE survey_id = ${id}`,
      `DELETE FROM survey_progress WHERE survey_id = ${id} AND _observed_at > (SELECT min(observed_at) FROM survey_progress_history WHERE survey_id = ${id})`,
    ],
  },
  {
    what: 'a rate is changed by hand',
    survey: `SELECT survey_id AS id FROM survey_progress WHERE drop_out_rate BETWEEN 0.05 AND 0.5 AND complete_individuals > 20 ORDER BY id LIMIT 1`,
    table: 'survey_progress',
    statements: (id) => both('survey_progress', 'drop_out_rate = drop_out_rate + 0.3', `survey_id = ${id}`),
  },
  {
    what: 'the number of complete interviews is changed by hand',
    survey: `SELECT survey_id AS id FROM survey_progress WHERE complete_individuals > 20 ORDER BY id DESC LIMIT 1`,
    table: 'survey_progress',
    statements: (id) =>
      both('survey_progress', 'interviews_count = interviews_count + 1', `survey_id = ${id}`),
  },
  {
    what: 'the length of the interviews is changed by hand',
    survey: `SELECT survey_id AS id FROM survey_progress p JOIN surveys s ON s.id = p.survey_id
      WHERE length_of_interview > 0 AND status = 'complete' ORDER BY s.updated_at LIMIT 1`,
    table: 'survey_progress',
    statements: (id) =>
      both('survey_progress', 'length_of_interview = length_of_interview + 1', `survey_id = ${id}`),
  },
  {
    what: 'interviews of a source are lost',
    survey: `SELECT survey_id AS id FROM sample_source_progress GROUP BY survey_id
      HAVING count(*) = 1 AND max(incomplete_individuals) > 3 AND max(complete_individuals) > 0 ORDER BY id DESC LIMIT 1`,
    table: 'sample_source_progress',
    statements: (id) =>
      both(
        'sample_source_progress',
        `incomplete_individuals = incomplete_individuals - 3, drop_out_rate = NULL, questionnaire_incidence_rate = NULL`,
        `survey_id = ${id}`,
      ),
  },
]

const plantAll = async (warehouse: string, faults: readonly SampledFault[]) => {
  const taken: number[] = []
  const planted: { readonly fault: SampledFault; readonly id: number }[] = []
  for (const fault of faults) {
    const id = await one(
      `SELECT id FROM (${fault.survey.replace(/ LIMIT 1$/, '')}) WHERE id NOT IN (0, ${taken.join(', ') || 0}) LIMIT 1`,
    )
    taken.push(id)
    planted.push({ fault, id })
  }
  await change(
    warehouse,
    planted.flatMap(({ fault, id }) => fault.statements(id)),
  )
  // The Parquet files are those of the good warehouse, and would show every fault.
  await rm(join(warehouse, 'parquet'), { recursive: true })
  return planted
}

interface Finding {
  readonly verdict: string
  readonly table: string
  readonly survey_id: number
}

const verify = async (warehouse: string, ...args: readonly string[]) => {
  const { code, stdout, stderr } = await runWarm(['verify', '--json', ...args], environment(warehouse))
  const { local, sample } = JSON.parse(stdout)
  const findings: readonly Finding[] = sample?.accounts[0]?.findings ?? []
  return { code, stderr, stdout, local, wrong: findings.filter(({ verdict }) => verdict === 'wrong') }
}

test('the good warehouse has no fault', async () => {
  const found = await verify(good, '--sample', ALL)
  expect(found, found.stdout).toMatchObject({ code: 0, wrong: [], local: { problems: [], notes: [] } })
})

test('faults that the tables do not show are found by comparing with the API', async ({ onTestFinished }) => {
  const warehouse = await copyOfGood(onTestFinished)
  const planted = await plantAll(warehouse, SAMPLED)
  const found = await verify(warehouse, '--sample', ALL)
  expect(found.code, found.stderr).toBe(5)
  expect(found.local.problems).toEqual([])
  const expected = planted.map(({ fault, id }) => `${id} ${fault.table}`).toSorted()
  const wrong = [...new Set(found.wrong.map(({ survey_id, table }) => `${survey_id} ${table}`))].toSorted()
  expect(wrong, found.stdout).toEqual(expected)
})

/** The candidates as `verify` reads them from the published state. */
const placeOf = async (warehouse: string, id: number, seed: string): Promise<number> => {
  const rows = await query(
    publishedFile(warehouse),
    'SELECT survey_id AS id, epoch_us(refreshed_at) AS at FROM freshness JOIN surveys s ON s.id = survey_id WHERE s._missing_since IS NULL',
  )
  const candidates = rows.map((row) => ({ id: Number(row.id), refreshedAt: BigInt(String(row.at)) }))
  return inSampleOrder(candidates, { account: 'default', seed }).findIndex((one) => one.id === id)
}

/**
 * The smallest sample that finds it; SURVEYS + 1 if none does. A page of the listing shows more surveys than the chosen ones. A larger
 * sample of the same seed has every survey of a smaller one.
 */
const smallestByPages = async (warehouse: string, id: number, seed: string): Promise<number> => {
  let [missed, found] = [0, SURVEYS + 1]
  while (found - missed > 1) {
    const sample = Math.floor((missed + found) / 2)
    const { wrong } = await verify(warehouse, '--sample', String(sample), '--seed', seed)
    if (wrong.some(({ survey_id }) => survey_id === id)) found = sample
    else missed = sample
  }
  return found
}

test.for(SAMPLED)('alone: $what', async (fault, { onTestFinished }) => {
  const warehouse = await copyOfGood(onTestFinished)
  const [planted] = await plantAll(warehouse, [fault])
  const id = planted?.id ?? 0
  const seed = fault.what
  if (fault.table === 'surveys') {
    const sample = await smallestByPages(warehouse, id, seed)
    expect(sample).toBeLessThanOrEqual(SURVEYS / 2)
    report(
      fault,
      `by ${sample} of ${SURVEYS} surveys (${(100 * sample) / SURVEYS} %), on a page of the listing`,
    )
    return
  }
  const place = await placeOf(warehouse, id, seed)
  const found = await verify(warehouse, '--sample', String(place + 1), '--seed', seed)
  expect(found.wrong.map(({ survey_id }) => survey_id)).toContain(id)
  if (place > 0) {
    const before = await verify(warehouse, '--sample', String(place), '--seed', seed)
    expect(before, before.stdout).toMatchObject({ code: 0, wrong: [] })
  }
  const others: number[] = []
  for (let other = 0; other < 20; other += 1) others.push(await placeOf(warehouse, id, `seed ${other}`))
  const mean = others.reduce((sum, other) => sum + other + 1, 0) / others.length
  report(
    fault,
    `by ${place + 1} of ${SURVEYS} surveys (${(100 * (place + 1)) / SURVEYS} %); over 20 other seeds by ${Math.round((100 * mean) / SURVEYS)} % on average`,
  )
})

const report = ({ what }: SampledFault, found: string): void =>
  console.info(`verify: ${what}: found ${found}`)

const FILES = [
  {
    what: 'one byte of a Parquet file is changed',
    rule: 'files_have_their_checksum',
    damage: async (parquet: string, path: string) => {
      const file = join(parquet, path)
      const bytes = await readFile(file)
      bytes.writeUInt8(bytes.readUInt8(100) ^ 1, 100)
      await rm(file)
      await writeFile(file, bytes)
    },
  },
  {
    what: 'a Parquet file is missing',
    rule: 'files_exist',
    damage: (parquet: string, path: string) => rm(join(parquet, path)),
  },
  {
    what: 'a Parquet file is longer',
    rule: 'files_have_their_size',
    damage: (parquet: string, path: string) => appendFile(join(parquet, path), 'x'),
  },
  {
    what: 'there is a file that the manifest does not name',
    rule: 'files_are_in_manifest',
    damage: (parquet: string, path: string) =>
      cp(join(parquet, path), join(parquet, `${path.slice(0, -8)}-2.parquet`)),
  },
] as const

test('damaged blocks of the published database are found without a request', async ({ onTestFinished }) => {
  const warehouse = await copyOfGood(onTestFinished)
  const file = publishedFile(warehouse)
  await chmod(file, 0o644)
  // Some blocks are free, and their damage harms nobody.
  for (let block = 1; block < (await blocksOf(file)); block += 2) await scribbleBlock(file, block)
  const world = openWorld(server)
  await world.forgetRequests()
  const found = await verify(warehouse)
  expect(found, found.stderr).toMatchObject({
    code: 5,
    local: { problems: [{ rule: 'state_can_be_read' }] },
  })
  expect(await world.requests()).toEqual([])
})

test.for(FILES)('$what: found', async ({ rule, damage }, { onTestFinished }) => {
  const warehouse = await copyOfGood(onTestFinished)
  const parquet = join(warehouse, 'parquet/current')
  const manifest = JSON.parse(await readFile(join(parquet, 'manifest.json'), 'utf8'))
  const [file] = manifest.tables.find(({ name }: { name: string }) => name === 'surveys').files
  await damage(parquet, file.path)
  const found = await verify(warehouse, '--local')
  expect(found, found.stderr).toMatchObject({ code: 5, local: { problems: [{ rule, count: 1 }] } })
})
