/**
 * Follows the recipes of ARCHITECTURE.md, "How to add", on a copy of the repository: edits only files that a recipe names, runs
 * `npm run reference`, and then the type check and the tests that the recipe names.
 */
import { execFile } from 'node:child_process'
import { readFile, symlink, writeFile } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { temporaryDirectory } from '../../support/files/temporary.js'

/** A file, the line after which lines are added, and these lines. A null line: the file is new. `instead`: they replace the line. */
type Edit = readonly [file: string, after: string | null, added: string, instead?: 'instead']

interface Recipe {
  /** Files that it may edit, apart from documents. */
  readonly files: { readonly src: number; readonly others: number }
  readonly edits: readonly Edit[]
}

/** By the words with which the recipe begins. */
const RECIPES: Readonly<Record<string, Recipe>> = {
  'A field of the API': {
    files: { src: 4, others: 0 },
    edits: [
      [
        'src/model/fields.ts',
        '  project_id: ',
        "  client_reference: varchar.orNull('Reference of the client'),",
      ],
      [
        'src/conformance/fields.ts',
        '  project_id: ',
        "  client_reference: { type: 'string', nullable: true },",
      ],
      [
        'src/reference-server/resources.ts',
        '  project_id: ',
        "  client_reference: z.string().nullable().meta({ description: 'Reference of the client' }),",
      ],
      [
        'src/reference-server/world/surveys.ts',
        '    project_id: ',
        '    client_reference: hashid.slice(0, 6),',
      ],
      [
        'docs/reference/api.md',
        '| `project_id` |',
        '| `client_reference` | text or null | reference of the client |',
      ],
    ],
  },
  'A setting': {
    files: { src: 3, others: 1 },
    edits: [
      [
        'src/settings/schema.ts',
        '  report: section({',
        "    density: choice('wide', ['wide', 'narrow']).describe('How close the lines of the report are'),",
      ],
      [
        'config/fieldwork-sync.example.yaml',
        'report:',
        '  # How close the lines of the report are.\n  density: wide',
      ],
      [
        'src/publish/report/formats.ts',
        'export interface ReportSettings {',
        "  readonly density: 'wide' | 'narrow'",
      ],
      [
        'src/publish/report/render.tsx',
        '<meta charset="utf-8">',
        `<meta name="density" content="\${settings.density}">`,
      ],
    ],
  },
  'A command': {
    files: { src: 2, others: 0 },
    edits: [
      [
        'src/commands/measure.ts',
        null,
        `/** What \`measure\` does: prints how many tables and views every warehouse has. */
import { ALL_TABLES } from '../model/sync-tables.js'
import { ALL_VIEWS } from '../warehouse/views/all.js'
import type { CliContext } from './context.js'

export const measure = async ({ print }: CliContext): Promise<void> => {
  await print(\`\${ALL_TABLES.length + ALL_VIEWS.length}\\n\`)
}
`,
      ],
      [
        'src/commands/table/check.ts',
        'export const CHECK: readonly Command[] = [',
        `  command({
    name: 'measure',
    describe: 'Print how many tables and views there are',
    examples: [
      ['How many are there?', 'measure'],
      ['And with a settings file here, which it does not read', 'measure'],
    ],
    flags: {},
    run: async (context) => {
      const { measure } = await import('../measure.js')
      await measure(context)
    },
  }),`,
      ],
      ['README.md', '| `completion` |', '| `measure` | Counts tables and views |'],
      [
        'docs/reference/commands.md',
        '- `--flag=…` takes a value',
        '\n## measure\n\nIt reads nothing.\n\n<!-- generated: command measure -->\n\n<!-- end of command measure -->',
      ],
    ],
  },
  'A view': {
    files: { src: 3, others: 0 },
    edits: [
      [
        'src/warehouse/views/closed-surveys.ts',
        null,
        `/** Surveys that are complete. */
import { surveys } from '../../model/tables.js'
import type { ViewDeclaration } from './view-declaration.js'

export const closedSurveys: ViewDeclaration = {
  schema: 'main',
  name: 'closed_surveys',
  comment: 'Surveys that are complete',
  key: surveys.key,
  columns: surveys.columns,
  sql: "SELECT * FROM main.surveys WHERE status = 'complete'",
}
`,
      ],
      [
        'src/warehouse/views/all.ts',
        '/** Every view, in the order',
        "import { closedSurveys } from './closed-surveys.js'",
      ],
      ['src/warehouse/views/all.ts', '  surveyOverview,', '  closedSurveys,'],
      ['src/model/publish-formats.ts', "  'survey_overview',", "  'closed_surveys',"],
    ],
  },
  'A metric': {
    files: { src: 1, others: 0 },
    edits: [
      [
        'src/monitoring/metrics/metrics.ts',
        '  requests: byKind(',
        "  account_weight: one('Always 1', () => 1),",
      ],
    ],
  },
  'An exit code': {
    files: { src: 1, others: 0 },
    edits: [
      ['src/base/errors.ts', '  warehouse: 7,', '  moved: 8,'],
      [
        'src/base/errors.ts',
        'export const EXITS = {',
        "  [EXIT_CODES.moved]: { rank: 8, meaning: 'the service has moved', next: 'Ask for its address', errors: {} },",
      ],
      ['src/base/errors.ts', 'const NEXT_STEPS: ', "  [EXIT_CODES.moved]: 'ask for its address',"],
    ],
  },
  'A query with a name': {
    files: { src: 1, others: 1 },
    edits: [
      [
        'src/commands/query/named.ts',
        'export const NAMED_QUERIES: ',
        `  {
    name: 'by-status',
    title: 'Surveys by status',
    describe: 'How many surveys each status has',
    sql: \`SELECT account, status, count(*) AS surveys
FROM surveys
WHERE _missing_since IS NULL
GROUP BY ALL
ORDER BY account ASC, status ASC\`,
  },`,
      ],
      [
        'docs/reference/queries.md',
        '- On [Parquet](',
        '\n## Surveys by status\n\nHow many there are.\n\n<!-- generated: query by-status -->\n\n<!-- end of query by-status -->',
      ],
      [
        'test/integration/docs/queries.ci.test.ts',
        '  expect([...QUERIES.keys()]).toEqual([',
        "    'Surveys by status',",
      ],
    ],
  },
  'A rule of `verify`': {
    files: { src: 1, others: 1 },
    edits: [
      [
        'src/verify/local/rules/bookkeeping.ts',
        'export const BOOKKEEPING_RULES: ',
        `  {
    rule: 'surveys_have_titles',
    where: 'surveys',
    says: 'surveys without a title',
    sql: \`SELECT \${named(['account', 'id'])} FROM main.surveys WHERE title = ''\`,
  },`,
      ],
      [
        'test/unit/verify/local/check-tables.test.ts',
        'const BREAKS: ',
        "  'surveys_have_titles surveys': `UPDATE surveys SET title = '' WHERE id = 1`,",
      ],
    ],
  },
  'A fault': {
    files: { src: 2, others: 0 },
    edits: [
      [
        'src/reference-server/faults/declaration.ts',
        'const ACTIONS = [',
        "const ACTIONS = ['status', 'delay_ms', 'reset', 'hang', 'truncate', 'patch', 'forget', 'empty'] as const",
        'instead',
      ],
      [
        'src/reference-server/faults/declaration.ts',
        '        hang: justTrue',
        '        empty: justTrue.optional(),',
      ],
      [
        'src/reference-server/faults/faults.ts',
        "  { status, headers = {}, body, patch, at = '' }: ",
        "  { status, headers = {}, body, patch, at = '', empty }: ActingFault['action'],",
        'instead',
      ],
      [
        'src/reference-server/faults/faults.ts',
        '  if (status !== undefined) return {',
        '  if (empty) return { ...answer, body: Buffer.alloc(0) }',
      ],
      [
        'docs/reference/reference-server.md',
        '| `{hang: true}`',
        '| `{empty: true}` | the answer without a body |',
      ],
    ],
  },
  'A conformance rule': {
    files: { src: 1, others: 0 },
    edits: [
      [
        'src/conformance/rules/answers.ts',
        'export const ANSWER_RULES: ',
        `  each({
    id: 'answers.date',
    section: 'Endpoints',
    text: 'answers have a Date header',
    items: answered,
    judge: ({ request, header }) =>
      header('date') === null ? fail(request, 'a Date header', 'none') : PASS,
    nothing: 'no request was answered with 200',
  }),`,
      ],
    ],
  },
  'A table': {
    files: { src: 1, others: 0 },
    edits: [
      [
        'src/model/sync-tables.ts',
        'export const SCHEMA_VERSION = ',
        `
const visits = sync('visits', 'Visits of the service', ['visit_id'], {
  visit_id: bigint('Number of the visit'),
})`,
      ],
      ['src/model/sync-tables.ts', 'export const ALL_TABLES: ', '  visits,'],
    ],
  },
  'A migration': {
    files: { src: 3, others: 3 },
    edits: [
      [
        'src/warehouse/lifecycle/migrations.ts',
        '    statements: [],',
        `  },
  {
    version: 9,
    description: 'A shorter name',
    statements: ['ALTER TABLE _sync.compactions RENAME last_compacted_at TO compacted_at'],`,
      ],
      [
        'src/model/sync-tables.ts',
        'export const SCHEMA_VERSION = ',
        'export const SCHEMA_VERSION = 9',
        'instead',
      ],
      [
        'src/model/sync-tables.ts',
        '    last_compacted_at: ',
        "    compacted_at: timestamptz('Time of the last compaction, server time'),",
        'instead',
      ],
      [
        'src/warehouse/history/compaction.ts',
        '        last_run_id = $4, last_compacted_at',
        '        last_run_id = $4, compacted_at = $5',
        'instead',
      ],
      [
        'src/warehouse/history/compaction.ts',
        '      WHEN NOT MATCHED THEN INSERT (account, compacted_before',
        '      WHEN NOT MATCHED THEN INSERT (account, compacted_before, rows_removed, last_run_id, compacted_at)',
        'instead',
      ],
      [
        'test/unit/warehouse/history/compaction.test.ts',
        '      last_compacted_at: ',
        "      compacted_at: '2026-04-09T00:00:00Z',",
        'instead',
      ],
      [
        'test/integration/readers/hostile-world.ts',
        `    'r0' AS last_run_id, \${NEWEST} AS last_compacted_at`,
        `    'r0' AS last_run_id, \${NEWEST} AS compacted_at\`,`,
        'instead',
      ],
      [
        'test/unit/warehouse/lifecycle/open-schema.ci.test.ts',
        "  await older.run('ALTER TABLE _sync.runs RENAME rate_limited",
        "  await older.run('ALTER TABLE _sync.compactions RENAME compacted_at TO last_compacted_at')",
      ],
    ],
  },
  'A format of a published state': {
    files: { src: 5, others: 0 },
    edits: [
      [
        'src/model/publish-formats.ts',
        'export const STATE_FORMATS = ',
        "export const STATE_FORMATS = ['duckdb', 'parquet', 'second'] as const",
        'instead',
      ],
      ['src/model/publish-formats.ts', 'export const PUBLISHED_AS = {', "  second: 'second.duckdb',"],
      [
        'src/publish/second.ts',
        null,
        `/** Publishes the committed state as a second file, which others may move away. */
import { stat } from 'node:fs/promises'
import { publishedPath } from '../model/publish-formats.js'
import type { Publisher } from '../model/warehouse.js'
import type { Database } from '../warehouse/connection/database.js'
import type { PublishedState } from '../warehouse/lifecycle/rebuild.js'
import { copyProved, stateInFile } from './duckdb.js'
import type { FileSystemLacks } from './file-system-lacks.js'
import { ifMissing, replaceFile, sweepTemporaries, temporaryBeside } from './replace-file.js'

export const createSecondPublisher = (
  database: Database,
  directory: string,
  lacks: FileSystemLacks,
): Publisher => ({
  format: 'second',
  publish: async (signal) => {
    const path = publishedPath(directory, 'second')
    await sweepTemporaries(path)
    await copyProved(database, temporaryBeside(path), signal)
    await replaceFile(temporaryBeside(path), path, lacks)
    return [{ format: 'second', path, bytes: (await stat(path)).size }]
  },
})

export const findSecond = async (
  directory: string,
  database: Database,
): Promise<readonly PublishedState[]> => {
  const path = publishedPath(directory, 'second')
  if ((await stat(path).catch(ifMissing)) === null) return []
  return [{ path, what: 'the second file', ...stateInFile(database, path) }]
}
`,
      ],
      [
        'src/publish/formats.ts',
        'import { replaceContent, sweepTemporaries',
        "import { createSecondPublisher, findSecond } from './second.js'",
      ],
      [
        'src/publish/formats.ts',
        'const FORMATS: ',
        `  second: {
    createPublisher: ({ database, directory, lacks }) => createSecondPublisher(database, directory, lacks),
    dated: (path) => path,
    open: openPublishedFile,
    isDirectory: false,
    find: findSecond,
  },`,
      ],
      [
        'src/storage/bucket/follow-pointer.ts',
        "    if (format === 'report' || isLagging)",
        "    if (format === 'report' || format === 'second' || isLagging) return []",
        'instead',
      ],
      [
        'src/settings/storage.ts',
        '  const lake = publish.formats.find(',
        "  if (!isDirectory && publish.formats.includes('second')) refuse(FORMATS, 'can have second only in a directory; remove second')",
      ],
    ],
  },
  'A format of `export`': {
    files: { src: 2, others: 0 },
    edits: [
      [
        'src/commands/table/read.ts',
        'export const EXPORT_FORMATS = ',
        "export const EXPORT_FORMATS = ['parquet', 'csv', 'xlsx', 'ndjson'] as const",
        'instead',
      ],
      [
        'src/commands/export/files.ts',
        'export type FileFormat = ',
        "export type FileFormat = 'parquet' | 'csv' | 'ndjson'",
        'instead',
      ],
      ['src/commands/export/files.ts', '    const options =', "      format === 'ndjson' ? 'FORMAT json' :"],
      ['docs/how-to/export.md', '- `xlsx` is a workbook', '- `ndjson` is a JSON document on each line.'],
    ],
  },
  'A number of the report': {
    files: { src: 2, others: 1 },
    edits: [
      [
        'src/publish/report/queries/run.ts',
        '    row: z.object({ account: text, reason: text, surveys: count',
        '    row: z.object({ account: text, reason: text, surveys: count, failed: count, tries: count, oldest_at: at }),',
        'instead',
      ],
      [
        'src/publish/report/queries/run.ts',
        '    select: `SELECT account, reason, count(*) AS surveys',
        '    select: `SELECT account, reason, count(*) AS surveys, count(last_error) AS failed, max(attempts) AS tries, min(enqueued_at) AS oldest_at',
        'instead',
      ],
      [
        'src/publish/report/page/run.tsx',
        "          { head: 'Failed'",
        "          { head: 'Tries', cell: ({ tries }) => formats.count(tries) },",
      ],
      [
        'test/support/report/page-parts.ts',
        '    queue: (row) => ',
        '    queue: (row) => [spaced(row.reason), f.count(row.surveys), f.count(row.failed), f.count(row.tries), f.instant(row.oldest_at)],',
        'instead',
      ],
    ],
  },
}

test('each recipe of ARCHITECTURE.md names all that has to be edited, and the tests that it names pass', async () => {
  const architecture = await readFile('ARCHITECTURE.md', 'utf8')
  const copy = await temporaryDirectory()
  await run('cp', ['-r', ...(await trackedRoots()), copy], '.')
  await symlink(resolve('node_modules'), join(copy, 'node_modules'))
  const tests = new Set(['test/integration/docs'])
  for (const [name, { files, edits }] of Object.entries(RECIPES)) {
    const [, recipe = ''] = architecture.split(`- **${name}**: `)
    const [text = ''] = recipe.split(/\n- \*\*|\n\n/)
    const named = (file: string) => text.includes(`\`${file}\``) || text.includes(`\`${dirname(file)}\``)
    const edited = [...new Set(edits.map(([file]) => file))]
    const ofSrc = edited.filter((file) => file.startsWith('src/'))
    const others = edited.filter((file) => /^(test|config)\//.test(file))
    expect({ name, unnamed: edited.filter((file) => !named(file)) }).toEqual({ name, unnamed: [] })
    expect({ src: ofSrc.length, others: others.length }).toEqual(files)
    for (const edit of edits) await apply(copy, edit)
    for (const [, test = ''] of text.matchAll(/`(test\/[\w/-]+(?:(?:\.(?:ci|full))?\.test\.ts)?)`/g))
      tests.add(test)
  }
  await run('npm', ['run', 'reference'], copy)
  await run('npm', ['run', 'check:types'], copy)
  expect(tests.size).toBeGreaterThan(Object.keys(RECIPES).length)
  const vitest = ['vitest', 'run', '--config', 'test/vitest.config.ts', '--mode']
  await run('npx', [...vitest, 'ci', ...tests], copy)
  await run('npx', [...vitest, 'full', ...[...tests].filter((file) => file.includes('.full.'))], copy)
})

const execute = promisify(execFile)

/** Rejects with the output if the command fails. */
const run = async (command: string, args: readonly string[], cwd: string): Promise<void> => {
  const env = { ...process.env, CASES: '' }
  await execute(command, args, { cwd, env, maxBuffer: 2 ** 28 }).catch(
    (error: Error & { stdout?: string }) => {
      throw new Error(`${command} ${args.join(' ')}:\n${error.stdout ?? ''}\n${error.message}`)
    },
  )
}

/** The files and folders of the repository, without what is built. */
const trackedRoots = async (): Promise<readonly string[]> => {
  const { stdout } = await execute('git', ['ls-files'])
  return [
    ...new Set(
      stdout
        .trim()
        .split('\n')
        .map((file) => file.replace(/\/.*/, '')),
    ),
  ]
}

const apply = async (copy: string, [file, after, added, instead]: Edit): Promise<void> => {
  const path = join(copy, file)
  if (after === null) return await writeFile(path, added, { flag: 'wx' })
  const lines = (await readFile(path, 'utf8')).split('\n')
  const places = lines.flatMap((line, place) => (line.startsWith(after) ? place : []))
  expect({ file, after, found: places.length }).toEqual({ file, after, found: 1 })
  const place = places[0] ?? 0
  if (instead === undefined) lines.splice(place + 1, 0, added)
  else lines.splice(place, 1, added)
  await writeFile(path, lines.join('\n'))
}
