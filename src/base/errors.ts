/**
 * The errors that a user can meet. Each has a stable `code`, and `EXITS` says what the code means and how a command ends by it. The
 * message says what happened, where, and what to do now. No code compares the text of a message. A class of its own is only for an
 * error that code catches.
 */

export const EXIT_CODES = {
  complete: 0,
  bug: 1,
  usage: 2,
  partial: 3,
  upstream: 4,
  data: 5,
  held: 6,
  warehouse: 7,
} as const

export type ExitCode = (typeof EXIT_CODES)[keyof typeof EXIT_CODES]

interface ExitDeclaration {
  /** If accounts end differently, the command exits with the code of highest rank. */
  readonly rank: number
  readonly meaning: string
  readonly next: string
  /** The errors that lead to this exit code: their stable codes, for programs, and what each means. */
  readonly errors: Readonly<Record<string, string>>
}

/** `--help` prints the meanings, and docs/reference/exit-codes.md the whole table. */
export const EXITS = {
  [EXIT_CODES.complete]: {
    rank: 0,
    meaning: 'complete: everything due was read, committed and published',
    next: 'Do nothing',
    errors: {},
  },
  [EXIT_CODES.bug]: {
    rank: 7,
    meaning: 'a bug: please report',
    next: 'Report the bug, with the stack on stderr. The next run continues from what was committed',
    errors: { bug: 'A bug in fieldwork-sync. stderr has the stack' },
  },
  [EXIT_CODES.usage]: {
    rank: 2,
    meaning: 'wrong usage or settings; nothing was requested',
    next: 'Correct what the message names. It has one line for each problem',
    errors: {
      usage: 'The command line cannot be understood',
      settings_invalid: 'Settings cannot be used; the message has a line for each problem',
      invalid_header: 'A header value that HTTP cannot carry',
      settings_file_exists: '`init`: the settings file exists, and `--force` is not given',
      settings_file_unwritable: '`init`: the settings file or the token file cannot be written',
      metrics_file_unwritable:
        '`check`: the directory of `metrics.file` cannot be written. A `sync` would work without its metrics',
      plan_unreadable: '`check`: lines of the plan cannot be read. A `sync` would work without them',
      shared_cap_evicts:
        '`check`: the Redis of a shared cap may evict its record. A `sync` would work, and pause when that happens',
      no_warehouse: '`replay`, `sync --surveys`: this directory has no warehouse',
      nothing_published:
        '`status`, `export`, `query`, `report`, `verify`: nothing is published in this directory or bucket',
      unknown_survey: '`--survey`, `--surveys`: no survey that is known has this name, or several have',
      other_shards:
        'The directory holds another number of shards, a warehouse without shards, or shards although the command has no `--shard`',
      other_bucket:
        'The local directory belongs to another bucket or warehouse, or the bucket is divided into other shards',
      export_request: '`export`: a table or directory that it refuses',
      query_refused: '`query`: SQL, a name or a value that it refuses',
      reference_server_options: '`reference-server`: wrong options',
      reference_server_faults: '`reference-server`: faults that cannot be used',
      reference_server_listen: '`reference-server`: an address that it cannot listen on',
      no_working_directory: 'The directory in which the command was started is gone, and a path is relative',
      installation_incomplete:
        'A package is missing, such as the native part of DuckDB after `npm ci --omit=optional`',
      node_restricted:
        'A flag of Node, such as `--no-addons`, `--jitless` or `--permission`, forbids what the command needs',
    },
  },
  [EXIT_CODES.partial]: {
    rank: 1,
    meaning:
      'partial: budget, signal or failed surveys; what was read is committed, and the next run reads the rest',
    next: 'Do nothing: the next run continues. If surveys failed, the summary and `status` name them: [problem surveys](../how-to/problem-surveys.md)',
    errors: {
      stopped: 'A signal stopped the command before it had a result',
    },
  },
  [EXIT_CODES.upstream]: {
    rank: 4,
    meaning: 'the API refused or stayed unreachable; what was committed stays',
    next: 'Read the last line of the output. It names the credentials, the address, the network, the service or [an endpoint](../explanation/data-problems.md#endpoints-that-answer-for-no-survey). The next run tries again',
    errors: {
      credentials_refused: 'The API answered 401 or 403',
      redirect_refused: 'The API answered with a redirect',
      unexpected_status: 'The API answered with an unexpected status, such as 201',
      request_rejected: 'The API answered with another 4xx',
      not_there: 'The API answered 404',
      server_trouble: 'The API answered 408 or 5xx',
      request_timeout: 'No complete answer within `limits.request_timeout`',
      connection_failed: 'No connection, or a connection that broke',
      invalid_body: 'An answer 200 whose body is cut short, is not JSON, or has an unknown encoding',
      body_too_large: 'An answer larger than `limits.response_bytes_max`',
      unusable_answer: 'An answer 200 in which the rows or the next page cannot be found',
      attempts_exhausted: 'All `limits.attempts` of a request failed',
      no_answer: 'The API gave no usable answer for `limits.patience`, or until `--max-duration`',
      rate_refused: 'The API answered 429 after every pause',
      retry_after_too_long: 'The API demands a pause longer than an hour',
      shared_cap_unreachable: 'The Redis of a shared cap cannot be reached',
      proxy_refused: 'The proxy refuses the request or its credentials',
      proxy_failed: 'The proxy cannot be reached, or cannot reach the API',
      reading_refused:
        'The API refused one address of a survey. The run continues, and the other addresses of the survey are read',
      survey_unread: 'Every request for a survey failed. The survey stays queued',
      sources_outdated:
        "The list of a survey's sources changed while the survey was read. The list is read again",
      unstable_list:
        "The list of a survey's sources kept changing between its pages, or lost many at once. The survey stays queued",
      too_many_sources:
        'A survey has more sources than `limits.sources_per_survey_max`. Its own progress is read',
      endless_list: 'A list kept announcing more pages, and the run stopped reading it',
      too_many_failures:
        '`limits.consecutive_failures_max` surveys in a row failed, or an endpoint answered for none of at least five surveys',
      wrong_address: 'The API answers the list of surveys, but 404 to the addresses of its surveys',
      surveys_forbidden: 'The API answers the list of surveys, but refuses every survey in it',
    },
  },
  [EXIT_CODES.data]: {
    rank: 3,
    meaning:
      'data problems: rejected rows or, with contract: freeze, drift; conformance, verify: something is wrong',
    next: 'Read the rejected rows and the drift in the summary or `status`: [data problems](../explanation/data-problems.md). After `verify`: [do what it says](../how-to/verify.md#what-to-do)',
    errors: {},
  },
  [EXIT_CODES.held]: {
    rank: 5,
    meaning: 'another process holds this warehouse',
    next: 'Wait until the process that holds the warehouse has ended. The message names it, or says that it is in another container or on another machine',
    errors: {
      warehouse_is_held: 'Another process holds the warehouse',
      lease_lost:
        'Another run took the bucket over. 7: the bucket could not be reached for so long that another run may take it over',
      lost_publish: "Another run took the bucket over, so this run's data is not published",
    },
  },
  [EXIT_CODES.warehouse]: {
    rank: 6,
    meaning:
      'warehouse or output cannot be written or read, or a newer version wrote it; what was published stays',
    next: 'Do what the message says, then run again. You repair nothing by hand. See below',
    errors: {
      warehouse_unusable: 'The work database or a published file cannot be read or written',
      warehouse_damaged: 'A part of the work database cannot be read. The next run rebuilds the database',
      object_store:
        'The object store refused a request, could not be reached, or answered something unusable. The message says what to check',
      warehouse_is_newer: 'A newer version of fieldwork-sync wrote the warehouse',
      ledger_unwritable: 'The request ledger cannot be read or written, so the cap could not be kept',
      delta_behind:
        'A version is published in the bucket, but its Delta tables show an older one. The next run brings them up to date',
      address_behind:
        'A version is published in the bucket, but `fieldwork.duckdb` or `fieldwork.ducklake` shows an older one. The next run replaces it',
      bucket_damaged:
        'An object of the bucket is missing or damaged, or a newer version of fieldwork-sync wrote it',
      address_space_limited: 'The address space of the process is too small (`ulimit -v`)',
      output_failed: 'The output cannot be written to stdout',
      temporary_unwritable: 'The directory for temporary files (`TMPDIR`) cannot be written',
      system_refused:
        'The system refused a file or a connection where no other code fits, such as with too many open files',
      lock_refused:
        'A file cannot be locked, although nobody holds it: the file system gives no locks, or the disk fails',
      unsynced:
        'A file has its new content and readers see it, but the disk failed afterwards: a power failure may undo it',
      export_failed: '`export`: the files cannot be written',
      query_failed: '`query`: the file cannot be written',
      report_failed: '`report`: the file cannot be written',
    },
  },
} as const satisfies Readonly<Record<ExitCode, ExitDeclaration>>

const WAIT =
  'wait: the next run tries again and goes on from here. fieldwork-sync check says whether the service answers by now'
const CORRECT = 'correct what the reason names, then run fieldwork-sync check'
const AGAIN = 'correct what the reason names, then run the command again'
const SYNC_FIRST = 'run fieldwork-sync sync first, or name the directory or bucket into which it publishes'

/** What to do next where the exit code does not say it. */
const NEXT_BY_ERROR = new Map<string, string>(
  Object.entries({
    // The service or the network did not answer, and may answer later.
    no_answer: WAIT,
    server_trouble: WAIT,
    request_timeout: WAIT,
    connection_failed: WAIT,
    invalid_body: WAIT,
    attempts_exhausted: WAIT,
    rate_refused: WAIT,
    retry_after_too_long: WAIT,
    shared_cap_unreachable: WAIT,
    proxy_failed: WAIT,
    too_many_failures: WAIT,
    no_warehouse: SYNC_FIRST,
    nothing_published: SYNC_FIRST,
    output_failed: AGAIN,
    export_failed: AGAIN,
    query_failed: AGAIN,
    report_failed: AGAIN,
    temporary_unwritable: AGAIN,
  } satisfies Partial<Record<ErrorCode, string>>),
)

/** What to do after a command ended with this exit code, in one plain sentence. `errorCode` is the code of the error that decided it. */
export const nextStep = (exitCode: ExitCode, errorCode: string | null): string =>
  NEXT_BY_ERROR.get(errorCode ?? '') ?? NEXT_STEPS[exitCode]

const NEXT_STEPS: Readonly<Record<ExitCode, string>> = {
  [EXIT_CODES.complete]: 'nothing',
  [EXIT_CODES.bug]: 'report the bug with this log. The next run goes on from what was committed',
  [EXIT_CODES.usage]: AGAIN,
  [EXIT_CODES.partial]: 'nothing, unless the reason names something: the next run goes on from here',
  [EXIT_CODES.upstream]: CORRECT,
  [EXIT_CODES.data]:
    'look at the rows that could not be read: fieldwork-sync query "FROM _sync.rejected_rows", and at the drift: fieldwork-sync query "FROM _sync.drift_events"',
  [EXIT_CODES.held]: 'wait until the other run has ended. The next run goes on from here',
  [EXIT_CODES.warehouse]: CORRECT,
}

export const worseOf = (a: ExitCode, b: ExitCode): ExitCode => (EXITS[a].rank > EXITS[b].rank ? a : b)

type CodesOf<Errors> = Errors extends unknown ? keyof Errors : never
export type ErrorCode = CodesOf<(typeof EXITS)[ExitCode]['errors']>

/** The stable `code` of every error that is not a bug, for programs. docs/reference/exit-codes.md prints this table. */
export const ERRORS = Object.values(EXIT_CODES).flatMap((exit) =>
  Object.entries<string>(EXITS[exit].errors).map(([code, means]) => ({ code, exit, means })),
)
const EXIT_OF: ReadonlyMap<string, ExitCode> = new Map(ERRORS.map(({ code, exit }) => [code, exit]))

/** The account's other requests would fail as well, as after a 429 that outlasts its pauses. */
const ENDS_RUN: ReadonlySet<string> = new Set<ErrorCode>([
  'no_answer',
  'rate_refused',
  'retry_after_too_long',
  'shared_cap_unreachable',
  'proxy_refused',
  'too_many_failures',
  'wrong_address',
  'surveys_forbidden',
])

/** Base of every error that is not a bug: no stack is printed. The exit code follows from `code`. */
export class ExpectedError extends Error {
  readonly code: ErrorCode
  readonly exitCode: ExitCode

  constructor(code: ErrorCode, message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = new.target.name
    this.code = code
    this.exitCode = EXIT_OF.get(code) ?? EXIT_CODES.bug
  }
}

/**
 * The API refused, or stayed unreachable or unusable. Exit 4 when it ends the run.
 *
 * Without `endsRun` the error affects only the survey that was being read. That holds for 401 and 403 as for 400 and 404. In a listing,
 * each of these errors ends the run. `src/sync/failure-watch.ts` ends it when too many surveys fail.
 */
export class UpstreamError extends ExpectedError {
  readonly endsRun: boolean

  constructor(code: ErrorCode, message: string, options?: ErrorOptions) {
    super(code, message, options)
    this.endsRun = ENDS_RUN.has(code)
  }
}

/** The warehouse, or a file that a command writes, cannot be read or written. Exit 7, or 6 if another process holds it. */
export class WarehouseError extends ExpectedError {}

/** A file has its new content, but a power failure may undo that, because the disk failed after the rename. Exit 7. */
export class UnsyncedError extends WarehouseError {
  constructor(message: string, options?: ErrorOptions) {
    super('unsynced', message, options)
  }
}

/** A signal or a used-up budget stops the run. Not a failure; exit 3. */
export class StoppedError extends ExpectedError {
  /** A type of its own: otherwise TypeScript takes every `ExpectedError` for a stop. */
  override readonly code = 'stopped'

  constructor(message: string, options?: ErrorOptions) {
    super('stopped', message, options)
  }
}

/** Whether `error` only means that we stopped the work, not that something failed. */
export const isStop = (error: unknown): error is StoppedError => error instanceof StoppedError

/** Whether `error` has one of these system codes, such as `ENOENT`. */
export const hasCode = (error: unknown, ...codes: readonly string[]): boolean =>
  error instanceof Error && 'code' in error && codes.some((code) => code === error.code)

/** Whether the system refused a file operation or a connection. */
export const isSystemError = (
  error: unknown,
): error is Error & { readonly code: string; readonly syscall: unknown } =>
  error instanceof Error && 'syscall' in error && 'code' in error && typeof error.code === 'string'

/** For `catch`: if the system refused, throws a `WarehouseError` with the system's message. Other errors are thrown unchanged. */
export const asWarehouseError =
  (code: ErrorCode, messageWith: (reason: string) => string) =>
  (error: unknown): never => {
    if (!isSystemError(error)) throw error
    throw new WarehouseError(code, messageWith(messageOf(error)), { cause: error })
  }

/** A thrown value of any kind as one line of text. */
export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))
