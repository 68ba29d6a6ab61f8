/**
 * What `query` does: runs one SELECT, or a named query, on the published state, and prints its rows or writes them to a file. It reads
 * only published files, so it works while a sync runs.
 */
import { isUtf8 } from 'node:buffer'
import { rmSync } from 'node:fs'
import { mkdtemp, open, realpath, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { addAbortSignal } from 'node:stream'
import { z } from 'zod'
import { systemClock } from '../base/clock.js'
import { asWarehouseError, StoppedError, WarehouseError } from '../base/errors.js'
import { counted, humanBytes, humanDuration } from '../base/human.js'
import { makeDirectory } from '../base/make-directory.js'
import { joinSignals, onAbort, throwIfAborted } from '../base/signals.js'
import { createTimeLimit } from '../base/time-limit.js'
import { keepMode, renameDurably, syncToDisk, temporaryBeside } from '../publish/replace-file.js'
import { parseDuration } from '../settings/readers.js'
import type { Settings } from '../settings/settings.js'
import { findState, requirePublished } from '../storage/open.js'
import { bigintCell } from '../warehouse/connection/cells.js'
import type { Sql } from '../warehouse/connection/database.js'
import { literal, quote } from '../warehouse/connection/ddl.js'
import {
  duckdbCause,
  firstLine,
  isFileFailure,
  isOutOfMemory,
  unreadable,
} from '../warehouse/connection/duckdb-error.js'
import { accountsOfSurvey } from '../warehouse/survey-status.js'
import { ALL_VIEWS, withTemporaryViews } from '../warehouse/views/all.js'
import type { CliContext } from './context.js'
import { surveyNameOf, usageError } from './flags.js'
import { csvLines, JSON_LIST, MARKDOWN, type Write, writeLines } from './query/lines.js'
import { NAMED_QUERIES, sqlToCopy } from './query/named.js'
import { parametersOf, prepare, questionOf } from './query/question.js'
import { namedRows, ofStatement, refused, type Statement } from './query/statement.js'
import { writeTable } from './query/table.js'
import { jsonOf } from './text/json.js'
import { textTable } from './text/text-table.js'

export interface QueryRequest {
  /** SQL, the name of a query, or `-` for SQL on stdin. */
  readonly asked: string
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

/** `query --list --json`: the same, with the SQL that `--sql` prints. */
export const namedQueriesAsJson = (): string =>
  `${jsonOf({ queries: NAMED_QUERIES.map((one) => ({ name: one.name, describe: one.describe, sql: `${sqlToCopy(one)};` })) })}\n`

/** Throws `query_refused` for an unknown name. */
export const sqlOfQuery = async (context: CliContext, asked: string): Promise<string> => {
  const { text, named } = questionOf(await textOf(context, asked))
  return named === null ? text : `${sqlToCopy(named)};\n`
}

/** Throws `usage`, `query_refused`, `nothing_published`, `query_failed`, or the error of a state that cannot be read. */
export const query = async (
  context: CliContext,
  settings: Settings,
  { asked, format, out, survey: surveyText, days, maxDuration = DURATION_MAX }: QueryRequest,
): Promise<void> => {
  const { print, stdout } = context
  const durationMsMax = durationOf(maxDuration)
  const question = questionOf(await textOf(context, asked))
  const survey = surveyText === undefined ? null : surveyNameOf(surveyText, 'query')
  const given = parametersOf(survey, days)
  const published = await requirePublished(settings, await findState(settings, context.signal))
  const leftovers: string[] = []
  using limited = limitedIn(context, durationMsMax, leftovers)
  const { signal } = limited
  const runIn = (memoryLimit: string, file: string | null, write: Write): Promise<number> =>
    onPublished(published, { memoryLimit, file, signal, leftovers }, async (sql) => {
      const statement = await prepare(sql, question, given)
      // SQL may use $survey as it likes.
      if (survey !== null && question.named !== null) await accountsOfSurvey(sql, survey, published.path)
      const width = stdout.isTTY && out === null ? (stdout.columns ?? WIDTH) : WIDTH
      return await writeAs(format, sql, statement, { file: file ?? '', write, signal, width })
    })
  const run = async (file: string | null, write: Write): Promise<number> => {
    let hasWritten = false
    const noted: Write = (text) => {
      hasWritten = true
      return write(text)
    }
    try {
      return await runIn(MEMORY, file, noted)
    } catch (error) {
      if (hasWritten || !isOutOfMemory(error)) throw error
      return await runIn(MEMORY_MAX, file, write)
    }
  }
  if (out === null) await run(null, (text) => print(text, 'data'))
  else await print(await writeFile(out, leftovers, run))
}

const DURATION_MAX = '60s'

/** Null for none. Throws an error `usage`. */
const durationOf = (text: string): number | null => {
  const durationMs = text === '0' ? null : parseDuration(text)
  if (durationMs !== null && durationMs > 0) return durationMs
  if (text === '0') return null
  throw usageError(`--max-duration ${text} is not a duration, such as 60s or 5m, and not 0 for none`, 'query')
}

/**
 * A signal that also ends after that long. DuckDB cannot be interrupted in one evaluation of an expression, which may take hours. A query
 * changes nothing but its `leftovers`, so the process then removes these, and ends without it.
 */
const limitedIn = (
  { signal, endNow, stderr }: CliContext,
  durationMsMax: number | null,
  leftovers: readonly string[],
): Disposable & { readonly signal: AbortSignal } => {
  const limit = createTimeLimit(systemClock)
  if (durationMsMax !== null)
    limit.after(durationMsMax, () =>
      limit.end(
        new StoppedError(
          `the query was stopped after ${humanDuration(durationMsMax)}. Select less, or give it more time by --max-duration`,
        ),
      ),
    )
  const joined = joinSignals([signal, limit.signal])
  const listening = onAbort([joined.signal], ({ message }) =>
    limit.after(INTERRUPT_MS_MAX, () => {
      for (const path of leftovers) rmSync(path, { recursive: true, force: true })
      stderr.write(`fieldwork-sync: ${message}\n`)
      endNow()
    }),
  )
  return {
    signal: joined.signal,
    [Symbol.dispose]: () => {
      listening[Symbol.dispose]()
      joined[Symbol.dispose]()
      limit[Symbol.dispose]()
    },
  }
}

const INTERRUPT_MS_MAX = 1_000

/** Where nothing says how wide the output may be. */
const WIDTH = 80

const textOf = async (context: CliContext, asked: string): Promise<string> => {
  const text = asked === '-' ? await textOnStdin(context) : asked
  if (text !== null && !/[\0\uFFFD]/.test(text)) return text
  throw refused(
    'the SQL is not UTF-8 text. Convert it, as in iconv -f LATIN1 -t UTF-8 query.sql; for the character U+FFFD itself write chr(65533)',
  )
}

/** Null for bytes that are not UTF-8. */
const textOnStdin = async ({ stdin, signal }: CliContext): Promise<string | null> => {
  const chunks: Buffer[] = []
  let length = 0
  try {
    for await (const chunk of addAbortSignal(signal, stdin())) {
      chunks.push(Buffer.from(chunk))
      length += chunk.length
      if (length > TEXT_BYTES_MAX) throw refused('the query on stdin is longer than 1 MiB')
    }
  } catch (error) {
    throwIfAborted(signal)
    throw error
  }
  const bytes = Buffer.concat(chunks)
  return isUtf8(bytes) ? new TextDecoder().decode(bytes) : null
}

const TEXT_BYTES_MAX = 1_048_576

interface Writing {
  readonly file: string
  readonly write: Write
  readonly signal: AbortSignal
  readonly width: number
}

const writeAs = async (
  format: QueryRequest['format'],
  sql: Sql,
  statement: Statement,
  writing: Writing,
): Promise<number> => {
  if (format === 'table') return await writeTable(sql, statement, writing)
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
  // Where it cannot be made, as with a read-only disk, only a query that would spill fails.
  const temporaryDirectory = await mkdtemp(join(tmpdir(), 'fieldwork-sync-query-')).catch(() => '')
  if (temporaryDirectory !== '') options.leftovers.push(temporaryDirectory)
  try {
    const source = await realpath(file)
    await using database = await openState(source, {
      memoryLimit: options.memoryLimit,
      temporaryDirectory,
      spillLimit: SPILL_MAX,
      files: options.file === null ? [] : [options.file],
    })
    return await database.interruptibly(options.signal, () =>
      database.exclusively((sql) => withTemporaryViews(sql, ALL_VIEWS, [], () => work(sql))),
    )
  } catch (error) {
    const cause = duckdbCause(error)
    if (!isOutOfMemory(cause)) throw unreadable(path, error)
    if (options.memoryLimit !== MEMORY_MAX) throw cause
    throw refused(
      `the query needs more than ${MEMORY_MAX} of memory and ${SPILL_MAX} on the disk. Select fewer rows or columns, or group them`,
    )
  } finally {
    if (temporaryDirectory !== '') await rm(temporaryDirectory, { recursive: true, force: true })
  }
}

/** Most queries read rows as they come, or spill. The others get the memory of a sync. */
const [MEMORY, MEMORY_MAX] = ['32MB', '256MB']

/** Rows that take more than that are to be exported. */
const SPILL_MAX = '4GB'

/** Runs a query into a file that then replaces `out`. Returns what was written, in words. */
const writeFile = async (
  out: string,
  leftovers: string[],
  run: (file: string, write: Write) => Promise<number>,
): Promise<string> => {
  const found = await stat(out).catch(() => null)
  if (found !== null && !found.isFile())
    throw usageError(`--out ${out} is not a file. Name another one`, 'query')
  // What a link names is replaced, and the link stays.
  const target = await realpath(out).catch(() => out)
  const temporary = temporaryBeside(target)
  leftovers.push(temporary)
  try {
    await makeDirectory(dirname(target))
    const rows = await into(temporary, (write) => run(temporary, write))
    await syncToDisk(temporary)
    const { size } = await stat(temporary)
    await keepMode(temporary, target)
    await renameDurably(temporary, target)
    return `${counted(rows, 'row')} written to ${out} (${humanBytes(size)})\n`
  } catch (error) {
    // DuckDB writes a Parquet file itself, and names it.
    const cause = duckdbCause(error)
    if (isFileFailure(cause) && firstLine(cause).includes(temporary))
      throw new WarehouseError('query_failed', `cannot write ${out}: ${firstLine(cause)}`, { cause })
    return asWarehouseError('query_failed', (reason) => `cannot write ${out}: ${reason}. ${ADVICE}`)(error)
  } finally {
    // Also where the directory is none.
    await rm(temporary, { force: true }).catch(() => undefined)
  }
}

const ADVICE = 'Check the permissions and the free space'

const into = async (file: string, run: (write: Write) => Promise<number>): Promise<number> => {
  await using handle = await open(file, 'wx')
  return await run(async (text) => {
    await handle.writeFile(text)
    return true
  })
}

/** DuckDB writes the file, so a million rows need no memory of ours. Returns the number of rows. */
const writeParquet = async (sql: Sql, statement: Statement, file: string): Promise<number> => {
  // polars reads Parquet's JSON type as bytes.
  const cells = statement.columns.map(({ name, type }) =>
    type === 'JSON' ? `CAST(${quote(name)} AS VARCHAR) AS ${quote(name)}` : quote(name),
  )
  const [copied] = await ofStatement(() =>
    sql.rows(
      z.object({ Count: bigintCell }),
      `COPY (SELECT ${cells.join(', ')} FROM ${namedRows(statement)})
      TO ${literal(file)} (FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE 30720, USE_TMP_FILE false)`,
      statement.parameters,
    ),
  )
  return copied?.Count ?? 0
}
