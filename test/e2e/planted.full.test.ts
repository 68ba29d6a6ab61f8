/**
 * A warehouse is data, not a program: whoever may write its files can change rows, but can make no command read a file of the machine that
 * runs it. Each command reads files with each plant, and a secret file must appear in nothing that it prints or writes.
 */
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { cp, mkdir, readdir, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { scriptedSurvey } from '../support/api/scripted-api.js'
import type { Ended } from '../support/command/command.js'
import { openTrial, type Trial } from '../support/command/trial.js'
import { OTHERS_SQL, PLANTED_VIEWS, PLANTS, plantedViews, plantIn } from '../support/files/plants.js'
import { atEndOfFile, temporaryDirectory } from '../support/files/temporary.js'
import { type BucketTrial, openBucketTrial } from '../support/storage/bucket-trial.js'
import { query } from '../support/warehouse/duckdb.js'

const SECRET = 'secret-of-the-reader-7f3a'

let trial: Trial

let secret: string

beforeAll(async () => {
  trial = await openTrial({ onTestFinished: atEndOfFile }, [scriptedSurvey(1), scriptedSurvey(2)])
  secret = join(await temporaryDirectory(atEndOfFile), 'token')
  await writeFile(secret, SECRET)
  const formats = await trial.settings({ publish: { formats: ['duckdb', 'parquet', 'report'] } })
  expect(await trial.runWarm(['sync', ...formats])).toMatchObject({ code: 0 })
})

/** A copy of the warehouse after its first night. With the secret below it, where a run may read. */
const copyOf = async () => {
  const directory = join(await temporaryDirectory(), 'warehouse')
  await cp(trial.warehouse, directory, { recursive: true, verbatimSymlinks: true })
  const inside = join(directory, 'token')
  await writeFile(inside, SECRET)
  return {
    directory,
    inside,
    published: join(directory, 'fieldwork.duckdb'),
    work: join(directory, 'work.duckdb'),
  }
}

const VIEWS = Object.keys(PLANTED_VIEWS)

const TABLES = ['surveys', '_sync.runs', '_sync.schema_version', ...VIEWS].join(',')

/** Every command that reads what is published; `out` is a new directory. */
const READERS: Readonly<Record<string, (out: string) => readonly string[]>> = {
  status: () => ['status'],
  'status --json': () => ['status', '--json'],
  'status --survey': () => ['status', '--survey', '1'],
  plan: () => ['plan'],
  'verify --local': () => ['verify', '--local'],
  'query by name': () => ['query', 'needs-action'],
  'query of a table': () => ['query', 'FROM surveys', '--format', 'csv'],
  'query of views': () => [
    'query',
    VIEWS.map((name) => `(SELECT count(*) FROM main.${name})`).join(' UNION ALL '),
  ],
  'export as CSV': (out) => ['export', '--format', 'csv', '--tables', TABLES, '--out', out],
  'export as Parquet': (out) => ['export', '--format', 'parquet', '--tables', TABLES, '--out', out],
  'export as a workbook': (out) => ['export', '--format', 'xlsx', '--out', out],
  report: (out) => ['report', '--out', join(out, 'report.html')],
}

const run = async (directory: string, args: readonly string[]): Promise<Ended> =>
  await trial.runWarm([...args, '--warehouse', directory], { FIELDWORK_SYNC_WAREHOUSE: directory })

/** Files of a directory that show the secret, also in the values of Parquet. */
const leaksBelow = async (directory: string): Promise<readonly string[]> => {
  const found: string[] = []
  const entries = await readdir(directory, { recursive: true, withFileTypes: true }).catch(() => [])
  for (const entry of entries) {
    const file = join(entry.parentPath, entry.name)
    if (!entry.isFile() || entry.name === 'token') continue
    const rows = entry.name.endsWith('.parquet')
      ? await query(':memory:', `FROM read_parquet('${file}')`)
      : []
    if ((await readFile(file)).includes(SECRET) || JSON.stringify(rows).includes(SECRET)) found.push(file)
  }
  return found
}

const expectNoLeak = async (ended: Ended, ...directories: readonly string[]) => {
  expect(`${ended.stdout}${ended.stderr}`).not.toContain(SECRET)
  for (const directory of directories) expect(await leaksBelow(directory)).toEqual([])
}

describe('a published file', () => {
  test.each(
    Object.keys(READERS).flatMap((command) => Object.keys(PLANTS).map((kind) => [command, kind] as const)),
  )('%s refuses a %s', async (command, kind) => {
    const { published, directory } = await copyOf()
    await plantIn(published, PLANTS[kind]?.sql(secret) ?? '')
    const out = await temporaryDirectory()
    const ended = await run(directory, READERS[command]?.(join(out, 'new')) ?? [])
    await expectNoLeak(ended, out)
    expect(ended).toMatchObject({ code: 7 })
    expect(ended.stderr.trimEnd().split('\n')).toHaveLength(1)
    expect(ended.stderr).toMatch(/: it holds an? /)
    expect(ended.stderr).toContain(`${kind}, which fieldwork-sync did not write`)
  })

  test.each(Object.entries(READERS))('%s runs no view of the file', async (command, argsOf) => {
    const { published, directory } = await copyOf()
    await plantIn(published, plantedViews(secret))
    const out = await temporaryDirectory()
    const ended = await run(directory, argsOf(join(out, 'new')))
    await expectNoLeak(ended, out)
    expect(ended.code, ended.stderr).toBe(command === 'verify --local' ? 5 : 0)
    if (command === 'verify --local') expect(ended.stdout).toContain('views with another SQL')
  })

  test('a query of a view that is not ours cannot read a file', async () => {
    const { published, directory } = await copyOf()
    await plantIn(published, plantedViews(secret))
    const ended = await run(directory, ['query', 'FROM planted'])
    await expectNoLeak(ended)
    expect(ended).toMatchObject({ code: 2, stdout: '' })
  })

  test('a lost work database is not rebuilt from a file that holds more than data', async () => {
    const { published, directory, work, inside } = await copyOf()
    await plantIn(published, PLANTS['view in place of the table main.surveys']?.sql(inside) ?? '')
    await rename(work, `${work}.lost`)
    await rename(join(directory, 'parquet'), join(directory, 'parquet.lost'))
    const ended = await run(directory, ['sync'])
    await expectNoLeak(ended, directory)
    expect(ended.code).toBe(7)
    expect(ended.stderr).toContain('it holds a view in place of the table main.surveys')
  })

  test('a lost work database is rebuilt from tables only', async () => {
    const { published, directory, work, inside } = await copyOf()
    await plantIn(published, plantedViews(inside))
    await rename(work, `${work}.lost`)
    await rename(join(directory, 'parquet'), join(directory, 'parquet.lost'))
    const ended = await run(directory, ['sync'])
    await expectNoLeak(ended, directory)
    expect(ended).toMatchObject({ code: 0 })
    expect(await query(published, 'SELECT count(*) AS n FROM surveys_today')).toEqual([{ n: 2 }])
    expect(await othersIn(published)).toEqual([])
  })
})

/** What is not ours in a file. */
const othersIn = (file: string) => query(file, OTHERS_SQL)

describe('the work database', () => {
  test.each(Object.entries(PLANTS).filter(([, { fate }]) => fate === 'refused'))(
    'with a %s is refused',
    async (kind, { sql }) => {
      const { directory, work, inside } = await copyOf()
      await plantIn(work, sql(inside))
      const ended = await run(directory, ['sync'])
      await expectNoLeak(ended, directory)
      expect(ended).toMatchObject({ code: 7 })
      expect(ended.stderr).toContain(`${kind}, which fieldwork-sync did not write`)
      expect(ended.stderr.trimEnd().split('\n')).toHaveLength(1)
    },
  )

  test('with more than tables loses that, and gets views of ours', async () => {
    const { directory, work, inside, published } = await copyOf()
    const dropped = Object.values(PLANTS).filter(({ fate }) => fate === 'dropped')
    await plantIn(work, [plantedViews(inside), ...dropped.map(({ sql }) => sql(inside))].join(';'))
    const ended = await run(directory, ['sync'])
    await expectNoLeak(ended, directory)
    expect(ended, ended.stderr).toMatchObject({ code: 0 })
    for (const file of [work, published]) expect(await othersIn(file)).toEqual([])
    expect(await run(directory, ['verify', '--local'])).toMatchObject({ code: 0 })
  })
})

describe('a link or a pipe under the name of a file of a run', () => {
  const NAMES = ['work.duckdb', 'work.duckdb.wal', 'work.holder.json', 'last-run.json', 'fieldwork.duckdb']

  test.each(NAMES)('nothing is written through a link %s', async (name) => {
    const { directory } = await copyOf()
    const outside = join(await temporaryDirectory(), 'precious')
    await writeFile(outside, SECRET)
    await rm(join(directory, name), { force: true })
    await symlink(outside, join(directory, name))
    const ended = await run(directory, ['sync'])
    expect(ended.code, ended.stderr).toBe(name.startsWith('work.duckdb') ? 7 : 0)
    expect(await readFile(outside, 'utf8')).toBe(SECRET)
  })

  const READ = [...NAMES, 'bucket.json', 'parquet/current/manifest.json']

  test.each(READ)('neither sync nor status waits for a pipe %s', async (name) => {
    const { directory } = await copyOf()
    await rm(join(directory, name), { force: true })
    execFileSync('mkfifo', [join(directory, name)])
    for (const command of ['sync', 'status'])
      expect((await run(directory, [command])).code).toBeOneOf([0, 2, 7])
  })
})

describe('published Parquet', () => {
  /** Where a manifest may not lead; the file is Parquet with the columns of the table, so that DuckDB could read it. */
  const ELSEWHERE: Readonly<Record<string, (outside: string) => string>> = {
    'an absolute path': (outside) => outside,
    'a path with dots': (outside) => `../../../../../../../../../../../..${outside}`,
    'a path with dots inside': (outside) => `surveys/../../../../../../../../../../../../..${outside}`,
    'an address': () => 'https://127.0.0.1:9/data.parquet',
    'an address of a bucket': () => 's3://bucket/data.parquet',
  }

  const withPath = async (path: (outside: string) => string) => {
    const { directory, work } = await copyOf()
    const current = join(directory, 'parquet', 'current')
    const outside = join(await temporaryDirectory(), 'data.parquet')
    const manifest = JSON.parse(await readFile(join(current, 'manifest.json'), 'utf8'))
    const [file] = manifest.tables.find(({ name }: { name: string }) => name === 'surveys').files
    await query(
      ':memory:',
      `COPY (SELECT * REPLACE ('${SECRET}' AS title) FROM read_parquet('${join(current, file.path)}', hive_partitioning = false)) TO '${outside}'`,
    )
    await rename(join(directory, 'fieldwork.duckdb'), join(directory, 'fieldwork.lost'))
    await rename(work, `${work}.lost`)
    const original = join(current, file.path)
    file.path = path(outside)
    await writeFile(join(current, 'manifest.json'), JSON.stringify(manifest))
    return { directory, outside, original }
  }

  test.each(Object.entries(ELSEWHERE))('whose manifest has %s is refused', async (_, path) => {
    const { directory } = await withPath(path)
    for (const args of [['status'], ['query', 'FROM surveys'], ['sync']]) {
      const ended = await run(directory, args)
      await expectNoLeak(ended)
      expect(ended, args.join(' ')).toMatchObject({ code: 7, stdout: '' })
    }
  })

  test('whose file is a link to another place is refused', async () => {
    const { directory, outside, original } = await withPath(() => 'surveys/planted/link.parquet')
    await mkdir(join(directory, 'parquet', 'current', 'surveys', 'planted'))
    await symlink(outside, join(directory, 'parquet', 'current', 'surveys', 'planted', 'link.parquet'))
    expect(original).toContain('surveys')
    for (const args of [['status'], ['query', 'FROM surveys'], ['sync']]) {
      const ended = await run(directory, args)
      await expectNoLeak(ended)
      expect(ended, args.join(' ')).toMatchObject({ code: 7, stdout: '' })
    }
  })
})

describe('a bucket', () => {
  const FORMATS = ['duckdb', 'parquet', 'report', 'delta']

  /** Plants in the stored database as somebody who may write the bucket can, so that size and SHA-256 fit again. */
  const plantInBucket = async ({ s3, document }: BucketTrial, sql: string) => {
    const { manifest, database } = document('current.json')
    const file = join(await temporaryDirectory(), 'stored.duckdb')
    await writeFile(file, s3.store.objects.get(`fieldwork/${database}`)?.body ?? '')
    await plantIn(file, sql)
    const body = await readFile(file)
    const sha256 = createHash('sha256').update(body).digest('hex')
    const described = document(String(manifest))
    const named = { key: database, bytes: body.length, sha256 }
    const mended = JSON.stringify({ ...described, database: named })
    for (const key of [`fieldwork/${database}`, 'fieldwork/fieldwork.duckdb']) s3.store.write(key, body)
    s3.store.write(`fieldwork/${manifest}`, Buffer.from(mended))
  }

  /** A bucket after its first night, and a pod with an empty disk for the next one. */
  const openPlanted = async (sql: string) => {
    const bucket = await openBucketTrial({ onTestFinished: atEndOfFile }, [
      scriptedSurvey(1),
      scriptedSurvey(2),
    ])
    const args = ['sync', ...(await bucket.settings({ publish: { formats: FORMATS } }))]
    expect(await bucket.runWarm(args, await bucket.pod())).toMatchObject({ code: 0 })
    await plantInBucket(bucket, sql)
    bucket.api.now = new Date('2026-03-02T00:00:00Z')
    const pod = await bucket.pod()
    const disk = String(pod.FIELDWORK_SYNC_WAREHOUSE)
    return { bucket, disk, run: (given: readonly string[]) => bucket.runWarm(given, pod), night: args }
  }

  /** No object of the bucket shows the secret. */
  const expectNoLeakIn = async ({ s3 }: BucketTrial) => {
    const directory = await temporaryDirectory()
    for (const [place, [key, { body }]] of [...s3.store.objects].entries())
      await writeFile(join(directory, `${place}-${key.replaceAll('/', '-')}`), body)
    expect(await leaksBelow(directory)).toEqual([])
  }

  test('whose database has a view in place of a table makes the next run end with 7', async () => {
    const kind = 'view in place of the table main.surveys'
    const { bucket, disk, run, night } = await openPlanted(PLANTS[kind]?.sql(secret) ?? '')
    const { version, manifest, database } = bucket.document('current.json')
    const out = await temporaryDirectory()
    for (const args of [
      night,
      ['report', '--out', join(out, 'report.html')],
      ['export', '--format', 'parquet', '--tables', TABLES, '--out', join(out, 'new')],
      ['status', '--survey', '1'],
    ]) {
      const ended = await run(args)
      await expectNoLeak(ended, disk, out)
      expect(ended, args.join(' ')).toMatchObject({ code: 7 })
      expect(ended.stderr.trimEnd().split('\n'), ended.stderr).toHaveLength(1)
      expect(ended.stderr).toContain(`${kind}, which fieldwork-sync did not write`)
    }
    await expectNoLeakIn(bucket)
    // The pointer still names what was there, so a state from before can be restored.
    expect(bucket.document('current.json')).toMatchObject({ version, manifest, database })
  })

  test('whose database has more than tables loses that in the next run', async () => {
    const dropped = Object.values(PLANTS).filter(({ fate }) => fate === 'dropped')
    const sql = [plantedViews(secret), ...dropped.map((plant) => plant.sql(secret))].join(';')
    const { bucket, disk, run, night } = await openPlanted(sql)
    const ended = await run(night)
    await expectNoLeak(ended, disk)
    await expectNoLeakIn(bucket)
    expect(ended, ended.stderr).toMatchObject({ code: 0 })
    expect(bucket.document('current.json')).toMatchObject({ version: 2 })
    const file = join(await temporaryDirectory(), 'next.duckdb')
    const { database } = bucket.document('current.json')
    await writeFile(file, bucket.s3.store.objects.get(`fieldwork/${database}`)?.body ?? '')
    expect(await othersIn(file)).toEqual([])
    expect(await query(file, 'SELECT count(*) AS n FROM surveys_today')).toEqual([{ n: 2 }])
  })
})
