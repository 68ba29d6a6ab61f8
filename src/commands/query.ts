/**
 * What `query` does: runs one SELECT, or a named query, on the published state, and prints its rows or writes them to a file. It reads
 * only published files, so it works while a sync runs.
 */
import { realpath } from 'node:fs/promises'
import { makeTemporaryDirectory, TemporaryDirectoryError } from '../base/temporary-directory.js'
import type { Settings } from '../settings/settings.js'
import { findState, requirePublished } from '../storage/open.js'
import { inTransaction, type Sql } from '../warehouse/connection/database.js'
import { duckdbCause, isOutOfMemory, unreadable } from '../warehouse/connection/duckdb-error.js'
import { CutResultError } from '../warehouse/connection/errors.js'
import { accountsOfSurvey, readAccounts } from '../warehouse/survey-status.js'
import { ALL_VIEWS, withTemporaryViews } from '../warehouse/views/all.js'
import type { CliContext } from './context.js'
import { surveyNameOf } from './flags.js'
import { csvLines, JSON_LIST, MARKDOWN, type Write, writeLines } from './query/lines.js'
import { NAMED_QUERIES, type NamedQuery, sqlToCopy } from './query/named.js'
import { unwritable, writeFile } from './query/out-file.js'
import { writeParquet } from './query/parquet.js'
import { parametersOf, prepare, questionOf } from './query/question.js'
import { refused, type Statement, throwFailure } from './query/statement.js'
import { writeTable } from './query/table.js'
import { textOf } from './query/text.js'
import { durationOf, limitedIn } from './query/time-limit.js'
import { jsonOf } from './text/json.js'
import { textTable, WIDTH_DEFAULT, widthOf } from './text/text-table.js'

export interface QueryRequest {
  /** SQL, the name of a query, or `-` for SQL on stdin. */
  readonly input: string
  readonly format: 'table' | 'markdown' | 'csv' | 'json' | 'parquet' | 'xlsx'
  /** Absolute path of the file to write; null for stdout. */
  readonly out: string | null
  /** `4711` or `acme/4711` */
  readonly survey?: string | undefined
  readonly days?: string | undefined
  /** Such as `5m`, and `0` for none. */
  readonly maxDuration?: string | undefined
}

export const listOfQueries = (): string =>
  `${textTable(
    NAMED_QUERIES.map(({ name, describe }) => [name, describe]),
    { leftColumns: 2 },
  )}\n\nfieldwork-sync query NAME runs one, and query NAME --sql prints its SQL.\n`

/** `query --list --json`: the named queries with the SQL that `--sql` prints. */
export const namedQueriesAsJson = (): string =>
  `${jsonOf({ queries: NAMED_QUERIES.map((namedQuery) => ({ name: namedQuery.name, describe: namedQuery.describe, sql: `${sqlToCopy(namedQuery)};` })) })}\n`

/** Throws `query_refused` for an unknown name. */
export const sqlOfQuery = async (context: CliContext, input: string): Promise<string> => {
  const { text, named } = questionOf(await textOf(context, input))
  return named === null ? text : `${sqlToCopy(named)};\n`
}

/** Throws `usage`, `query_refused`, `nothing_published`, `query_failed`, or the error of a state that cannot be read. */
export const query = async (
  context: CliContext,
  settings: Settings,
  { input, format, out, survey: surveyText, days, maxDuration = DURATION_MAX }: QueryRequest,
): Promise<void> => {
  const { print, stdout } = context
  const durationMsMax = durationOf(maxDuration)
  const question = questionOf(await textOf(context, input))
  const survey = surveyText === undefined ? null : surveyNameOf(surveyText, 'query')
  const values = parametersOf(survey, days)
  const published = await requirePublished(settings, await findState(settings, context.signal))
  const leftovers: string[] = []
  using limited = limitedIn(context, durationMsMax, leftovers)
  const { signal } = limited
  const runIn = (memoryLimit: string, file: string | null, write: Write): Promise<number> =>
    onPublished(published, { memoryLimit, file, signal, leftovers }, async (sql) => {
      const statement = await prepare(sql, question, values)
      // SQL may use $survey as it likes.
      const { named } = question
      const accounts =
        survey === null || named === null ? null : await accountsOfSurvey(sql, survey, published.path)
      const width = out === null ? widthOf(stdout) : WIDTH_DEFAULT
      const writing = { file: file ?? '', write, signal, width, named, accounts }
      try {
        // An error of the system concerns the file that is written, and not the state that is read.
        return await inTransaction(sql, () =>
          writeAs(format, sql, statement, writing).catch(unwritable(out ?? 'stdout')),
        )
      } catch (error) {
        if (!(error instanceof CutResultError)) throw error
        return await throwFailure(sql, statement)
      }
    })
  const run = async (file: string | null, write: Write): Promise<number> => {
    const memory = question.named === null ? MEMORY : MEMORY_MAX
    let hasWritten = false
    const noted: Write = (text) => {
      hasWritten = true
      return write(text)
    }
    try {
      return await runIn(memory, file, noted)
    } catch (error) {
      const isOfDisk = error instanceof TemporaryDirectoryError
      if (memory === MEMORY_MAX || !(isOfDisk || isOutOfMemory(error))) throw error
      // The rows that were written cannot be taken back. A sort has all rows before the first is written.
      if (hasWritten && isOfDisk) throw error
      if (hasWritten)
        throw refused(
          `the query needs more than ${MEMORY} of memory after its first rows. Sort the rows, for which it gets ${MEMORY_MAX}, select fewer, or group them`,
        )
      return await runIn(MEMORY_MAX, file, write)
    }
  }
  // A reader of a pipe, such as `less`, may take its time.
  if (out === null) await run(null, (text) => limited.uncounted(() => print(text, 'data')))
  else await print(await writeFile(out, leftovers, run))
}

const DURATION_MAX = '60s'

interface Writing {
  readonly file: string
  readonly write: Write
  readonly signal: AbortSignal
  readonly width: number
  readonly named: NamedQuery | null
  /** The accounts that have the survey; null for a result of all surveys. */
  readonly accounts: readonly string[] | null
}

const writeAs = async (
  format: QueryRequest['format'],
  sql: Sql,
  statement: Statement,
  writing: Writing,
): Promise<number> => {
  if (format === 'table')
    return await writeTable(sql, statement, { ...writing, ...(await tableOf(sql, statement, writing)) })
  if (format === 'parquet') return await writeParquet(sql, statement, writing.file)
  if (format === 'xlsx')
    return await (await import('./query/workbook.js')).writeWorkbook(
      sql,
      statement,
      writing.file,
      writing.signal,
    )
  return await writeLines(
    sql,
    statement,
    { csv: csvLines(writing.file === '' ? '\n' : '\r\n'), json: JSON_LIST, markdown: MARKDOWN }[format],
    writing.write,
  )
}

/** What the table of a named query shows. One account says nothing. Other formats have all columns, so that programs find the same ones. */
const tableOf = async (sql: Sql, { columns }: Statement, { named, accounts }: Writing) => {
  const { dispensable = [], note = null } = named ?? {}
  const isOfOne = named !== null && (accounts ?? (await readAccounts(sql))).length === 1
  return { columns: columns.filter(({ name }) => !isOfOne || name !== 'account'), dispensable, note }
}

/**
 * Runs `work` on a connection that reads the published state, writes at most `file`, and cannot be changed. Sorts that need more
 * memory spill into a directory of their own.
 */
const onPublished = async (
  { path, file, open: openState }: Awaited<ReturnType<typeof requirePublished>>,
  options: {
    readonly memoryLimit: string
    readonly file: string | null
    readonly signal: AbortSignal
    readonly leftovers: string[]
  },
  work: (sql: Sql) => Promise<number>,
): Promise<number> => {
  // If the directory cannot be made, as on a read-only disk, only a query that would spill fails.
  let unmade: unknown = null
  await using spill = await makeTemporaryDirectory('query').catch((error: unknown) => {
    unmade = error
    return null
  })
  const temporaryDirectory = spill?.path ?? ''
  if (spill !== null) options.leftovers.push(temporaryDirectory)
  try {
    const source = await realpath(file)
    await using database = await openState(source, {
      memoryLimit: options.memoryLimit,
      threads: 2,
      temporaryDirectory,
      spillLimit: SPILL_MAX,
      files: options.file === null ? [] : [options.file],
    })
    return await database.interruptibly(options.signal, () =>
      database.exclusively((sql) => withTemporaryViews(sql, ALL_VIEWS, [], () => work(sql))),
    )
  } catch (error) {
    const cause = duckdbCause(error)
    if (!isOutOfMemory(cause)) throw unreadable(path, error, spill?.path)
    if (options.memoryLimit !== MEMORY_MAX) throw cause
    if (unmade !== null) throw unmade
    throw refused(
      `the query needs more than ${MEMORY_MAX} of memory, or ${SPILL_MAX} on the disk. Select fewer rows or columns, or group them`,
    )
  }
}

/**
 * Most queries read rows as they come, or spill. The others, and the named ones, which read all surveys, get what two threads need for
 * 60,000 surveys of five years (docs/decisions/export-and-sql.md#0104-who-waits-for-an-answer-gets-a-second-thread).
 */
const [MEMORY, MEMORY_MAX] = ['32MB', '384MB']

/** Results that take more are for `export`. */
const SPILL_MAX = '4GB'
