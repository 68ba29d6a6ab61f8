/**
 * Paths that a file system or DuckDB treats specially. A directory that cannot be created ends the run at once. Any other
 * directory holds a warehouse that can be published, rebuilt and exported.
 */
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { scriptedSurvey } from '../support/api/scripted-api.js'
import { openSynced, openTrial } from '../support/command/trial.js'
import { query } from '../support/warehouse/duckdb.js'

test('an export to an impossible place exits 7', async (context) => {
  const trial = await openSynced(context, [scriptedSurvey(1)])
  for (const out of ['/proc/x', '/proc/x/y', '/dev/null/x', '/dev/null/x/y']) {
    const ended = await trial.runWarm(exportTo(out))
    expect(ended, out).toMatchObject({ code: 7, signal: null, stdout: '' })
    expect(ended.stderr).toContain(`cannot export to ${out}: E`)
  }
})

/** Names with a special meaning in patterns, addresses, options, partitions, quotes or shells. */
const NAMES = [
  'account=foo',
  'a*b',
  // A directory like a partition in one like a pattern.
  'a*b/account=foo',
  'title=x',
  'created_month=1',
  'id=5',
  'a#b',
  'a%20b',
  'a[b]{c}',
  '**',
  ' a b ',
  `it's "so"`,
  'a\\b',
  'a;b,c$d&e|f`g',
  'a:b',
  ':memory:',
  's3:',
  '~',
  '-a',
  'ü\u{1F600}',
  'a\nb\tc',
  'data.duckdb',
  'data.parquet',
]

const exportTo = (out: string): readonly string[] => [
  ...['export', '--format', 'parquet', '--tables', 'surveys'],
  ...['--out', out],
]

const TITLES = 'SELECT account, id, title FROM surveys ORDER BY id'

test.for(NAMES)(
  'a sync publishes to a directory named %j, which can be rebuilt from each format, read and exported',
  async (name, context) => {
    const parent = await openTrial(context, []).then((trial) => trial.temporary())
    const warehouse = join(parent, name, 'deep')
    const trial = await openTrial(context, [scriptedSurvey(1), scriptedSurvey(2)], { directory: warehouse })
    expect(await trial.runWarm(['sync', '--publish', 'duckdb,parquet'])).toMatchObject({ code: 0 })
    const rows = await trial.rows(TITLES)
    expect(rows).toHaveLength(2)

    await rm(join(warehouse, 'work.duckdb'))
    const fromFile = await trial.runWarm(['sync', '--publish', 'duckdb,parquet'])
    expect(fromFile).toMatchObject({ code: 0, stderr: expect.stringContaining('from the published file') })
    expect(await trial.rows(TITLES)).toEqual(rows)

    await rm(join(warehouse, 'work.duckdb'))
    await rm(trial.published)
    expect(await trial.runWarm(['status'])).toMatchObject({ code: 0 })
    const out = join(parent, name, 'out')
    const exported = await trial.runWarm(exportTo(out))
    expect(exported, exported.stderr).toMatchObject({ code: 0 })
    const fromParquet = await trial.runWarm(['sync', '--publish', 'duckdb,parquet'])
    expect(fromParquet).toMatchObject({
      code: 0,
      stderr: expect.stringContaining('from published Parquet files'),
    })
    expect(await trial.rows(TITLES)).toEqual(rows)
    expect(await query(':memory:', `${readExported(out)} ORDER BY id`)).toEqual(rows)
  },
)

const readExported = (out: string): string =>
  `SELECT account, id, title FROM read_parquet('${join(out, 'surveys.parquet')
    .replaceAll(/[[*?]/g, '[$&]')
    .replaceAll("'", "''")}', hive_partitioning = false)`

test('an export writes to a directory with a question mark in its name', async (context) => {
  const trial = await openSynced(context, [scriptedSurvey(1)])
  const out = join(await trial.temporary(), 'what?', 'now?')
  expect(await trial.runWarm(exportTo(out))).toMatchObject({ code: 0 })
  expect(await query(':memory:', readExported(out))).toHaveLength(1)
})
