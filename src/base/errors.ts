/**
 * The errors that a user can meet. Each has a stable `code`, and `ERRORS` says what the code means and how a command ends by it. The
 * message says what happened, where, and what to do now. No code compares the text of a message. A class of its own is only for an
 * error that code catches.
 */

/** The exit codes of the command. `EXITS` says what each means. */
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

/**
 * `--help` prints the meanings, and docs/reference/exit-codes.md also what to do next. If accounts end differently, the command exits
 * with the code of highest rank.
 */
export const EXITS: Readonly<
  Record<ExitCode, { readonly rank: number; readonly meaning: string; readonly next: string }>
> = {
  [EXIT_CODES.complete]: {
    rank: 0,
    meaning: 'complete: everything due was read, committed and published',
    next: 'Do nothing',
  },
  [EXIT_CODES.bug]: {
    rank: 7,
    meaning: 'a bug: please report',
    next: 'Report the bug, with the stack on stderr. The next run continues from what was committed',
  },
  [EXIT_CODES.usage]: {
    rank: 2,
    meaning: 'wrong usage or settings; nothing was requested',
    next: 'Correct what the message names. It has one line for each problem',
  },
  [EXIT_CODES.partial]: {
    rank: 1,
    meaning:
      'partial: budget, signal or failed surveys; what was read is committed, and the next run reads the rest',
    next: 'Do nothing: the next run continues. If surveys failed, the summary and `status` name them: [problem surveys](../how-to/problem-surveys.md)',
  },
  [EXIT_CODES.upstream]: {
    rank: 4,
    meaning: 'the API refused or stayed unreachable; what was committed stays',
    next: 'Read the last line of the output. It names the credentials, the address, the network, the service or [an endpoint](../explanation/data-problems.md#endpoints-that-answer-for-no-survey). The next run tries again',
  },
  [EXIT_CODES.data]: {
    rank: 3,
    meaning:
      'data problems: rejected rows or, with contract: freeze, drift; conformance, verify: something is wrong',
    next: 'Read the rejected rows and the drift in the summary or `status`: [data problems](../explanation/data-problems.md). After `verify`: [do what it says](../how-to/verify.md#what-to-do)',
  },
  [EXIT_CODES.held]: {
    rank: 5,
    meaning: 'another process holds this warehouse',
    next: 'Wait until the process that holds the warehouse has ended. The message names it, or says that it is in another container or on another machine',
  },
  [EXIT_CODES.warehouse]: {
    rank: 6,
    meaning:
      'warehouse or output cannot be written or read, or a newer version wrote it; what was published stays',
    next: 'Do what the message says, then run again. You repair nothing by hand. See below',
  },
}

interface ErrorDeclaration {
  readonly exit: ExitCode
  readonly means: string
  /** The account's other requests would fail as well, as after a 429 that outlasts its pauses. */
  readonly endsRun?: true
}

/** The stable `code` of every error that is not a bug, for programs. docs/reference/exit-codes.md prints this table. */
export const ERRORS = {
  usage: { exit: EXIT_CODES.usage, means: 'The command line cannot be understood' },
  settings_invalid: {
    exit: EXIT_CODES.usage,
    means: 'Settings cannot be used; the message has a line for each problem',
  },
  invalid_header: { exit: EXIT_CODES.usage, means: 'A header value that HTTP cannot carry' },
  settings_file_exists: {
    exit: EXIT_CODES.usage,
    means: '`init`: the settings file exists, and `--force` is not given',
  },
  settings_file_unwritable: {
    exit: EXIT_CODES.usage,
    means: '`init`: the settings file or the token file cannot be written',
  },
  metrics_file_unwritable: {
    exit: EXIT_CODES.usage,
    means:
      '`check`: the directory of `metrics.file` cannot be written. A `sync` would work without its metrics',
  },
  no_warehouse: { exit: EXIT_CODES.usage, means: '`replay`: this directory has no warehouse' },
  nothing_published: {
    exit: EXIT_CODES.usage,
    means: '`status`, `export`, `report`, `verify`: nothing is published in this directory or bucket',
  },
  other_shards: {
    exit: EXIT_CODES.usage,
    means:
      'The directory holds another number of shards, a warehouse without shards, or shards although the command has no `--shard`',
  },
  other_bucket: {
    exit: EXIT_CODES.usage,
    means:
      'The local directory belongs to another bucket or warehouse, or the bucket is divided into other shards',
  },
  export_request: {
    exit: EXIT_CODES.usage,
    means: '`export`: a table, condition or directory that it refuses',
  },
  reference_server_options: { exit: EXIT_CODES.usage, means: '`reference-server`: wrong options' },
  reference_server_faults: {
    exit: EXIT_CODES.usage,
    means: '`reference-server`: faults that cannot be used',
  },
  reference_server_listen: {
    exit: EXIT_CODES.usage,
    means: '`reference-server`: an address that it cannot listen on',
  },
  stopped: { exit: EXIT_CODES.partial, means: 'A signal stopped the command before it had a result' },
  credentials_refused: { exit: EXIT_CODES.upstream, means: 'The API answered 401 or 403' },
  redirect_refused: { exit: EXIT_CODES.upstream, means: 'The API answered with a redirect' },
  unexpected_status: {
    exit: EXIT_CODES.upstream,
    means: 'The API answered with an unexpected status, such as 201',
  },
  request_rejected: { exit: EXIT_CODES.upstream, means: 'The API answered with another 4xx' },
  not_there: { exit: EXIT_CODES.upstream, means: 'The API answered 404' },
  server_trouble: { exit: EXIT_CODES.upstream, means: 'The API answered 408 or 5xx' },
  request_timeout: { exit: EXIT_CODES.upstream, means: 'No complete answer within `limits.request_timeout`' },
  connection_failed: { exit: EXIT_CODES.upstream, means: 'No connection, or a connection that broke' },
  invalid_body: {
    exit: EXIT_CODES.upstream,
    means: 'An answer 200 whose body is cut short, is not JSON, or has an unknown encoding',
  },
  body_too_large: { exit: EXIT_CODES.upstream, means: 'An answer larger than `limits.response_bytes_max`' },
  unusable_answer: {
    exit: EXIT_CODES.upstream,
    means: 'An answer 200 in which the rows or the next page cannot be found',
  },
  attempts_exhausted: { exit: EXIT_CODES.upstream, means: 'All `limits.attempts` of a request failed' },
  rate_refused: { exit: EXIT_CODES.upstream, means: 'The API answered 429 after every pause', endsRun: true },
  retry_after_too_long: {
    exit: EXIT_CODES.upstream,
    means: 'The API demands a pause longer than an hour',
    endsRun: true,
  },
  shared_cap_unreachable: {
    exit: EXIT_CODES.upstream,
    means: 'The Redis of a shared cap cannot be reached',
    endsRun: true,
  },
  proxy_refused: {
    exit: EXIT_CODES.upstream,
    means: 'The proxy refuses the request or its credentials',
    endsRun: true,
  },
  proxy_failed: { exit: EXIT_CODES.upstream, means: 'The proxy cannot be reached, or cannot reach the API' },
  reading_refused: {
    exit: EXIT_CODES.upstream,
    means:
      'The API refused one address of a survey. The run continues, and the other addresses of the survey are read',
  },
  survey_unread: {
    exit: EXIT_CODES.upstream,
    means: 'Every request for a survey failed. The survey stays queued',
  },
  sources_outdated: {
    exit: EXIT_CODES.upstream,
    means: "The list of a survey's sources changed while the survey was read. The list is read again",
  },
  unstable_list: {
    exit: EXIT_CODES.upstream,
    means: "The list of a survey's sources kept changing between its pages. The survey stays queued",
  },
  endless_list: {
    exit: EXIT_CODES.upstream,
    means: 'A list kept announcing more pages, and the run stopped reading it',
  },
  too_many_failures: {
    exit: EXIT_CODES.upstream,
    means:
      '`limits.consecutive_failures_max` surveys in a row failed, or an endpoint answered for none of at least five surveys',
    endsRun: true,
  },
  wrong_address: {
    exit: EXIT_CODES.upstream,
    means: 'The API answers the list of surveys, but 404 to the addresses of its surveys',
    endsRun: true,
  },
  surveys_forbidden: {
    exit: EXIT_CODES.upstream,
    means: 'The API answers the list of surveys, but refuses every survey in it',
    endsRun: true,
  },
  warehouse_is_held: { exit: EXIT_CODES.held, means: 'Another process holds the warehouse' },
  lease_lost: {
    exit: EXIT_CODES.held,
    means:
      'Another run took the bucket over. 7: the bucket could not be reached for so long that another run may take it over',
  },
  lost_publish: {
    exit: EXIT_CODES.held,
    means: "Another run took the bucket over, so this run's data is not published",
  },
  warehouse_unusable: {
    exit: EXIT_CODES.warehouse,
    means: 'The work database or a published file cannot be read or written',
  },
  warehouse_damaged: {
    exit: EXIT_CODES.warehouse,
    means: 'A part of the work database cannot be read. The next run rebuilds the database',
  },
  object_store: {
    exit: EXIT_CODES.warehouse,
    means:
      'The object store refused a request, could not be reached, or answered something unusable. The message says what to check',
  },
  warehouse_is_newer: {
    exit: EXIT_CODES.warehouse,
    means: 'A newer version of fieldwork-sync wrote the warehouse',
  },
  ledger_unwritable: {
    exit: EXIT_CODES.warehouse,
    means: 'The request ledger cannot be read or written, so the cap could not be kept',
  },
  delta_behind: {
    exit: EXIT_CODES.warehouse,
    means:
      'A version is published in the bucket, but its Delta tables show an older one. The next run brings them up to date',
  },
  bucket_damaged: {
    exit: EXIT_CODES.warehouse,
    means: 'An object of the bucket is missing or damaged, or a newer version of fieldwork-sync wrote it',
  },
  address_space_limited: {
    exit: EXIT_CODES.warehouse,
    means: 'The address space of the process is too small (`ulimit -v`)',
  },
  output_failed: { exit: EXIT_CODES.warehouse, means: 'The output cannot be written to stdout' },
  lock_refused: {
    exit: EXIT_CODES.warehouse,
    means:
      'A file cannot be locked, although nobody holds it: the file system gives no locks, or the disk fails',
  },
  unsynced: {
    exit: EXIT_CODES.warehouse,
    means:
      'A file has its new content and readers see it, but the disk failed afterwards: a power failure may undo it',
  },
  export_failed: { exit: EXIT_CODES.warehouse, means: '`export`: the files cannot be written' },
  report_failed: { exit: EXIT_CODES.warehouse, means: '`report`: the file cannot be written' },
} as const satisfies Readonly<Record<string, ErrorDeclaration>>

export type ErrorCode = keyof typeof ERRORS

/** Base of every error that is not a bug: no stack is printed. The exit code follows from `code`. */
export class ExpectedError extends Error {
  readonly code: ErrorCode
  readonly exitCode: ExitCode

  constructor(code: ErrorCode, message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = new.target.name
    this.code = code
    this.exitCode = ERRORS[code].exit
  }
}

/**
 * The API refused, or stayed unreachable or unusable. Exit 4 when it ends the run.
 *
 * Without `endsRun` the error affects only the survey that was being read: a 401 or 403 does so, like a 400 or 404. In a listing, any
 * of these errors ends the run. `src/sync/failure-watch.ts` ends it when too many surveys fail.
 */
export class UpstreamError extends ExpectedError {
  readonly endsRun: boolean

  constructor(code: ErrorCode, message: string, options?: ErrorOptions) {
    super(code, message, options)
    const declaration: ErrorDeclaration = ERRORS[code]
    this.endsRun = declaration.endsRun ?? false
  }
}

/** The warehouse, or what a command writes, cannot be read or written. Exit 7, or 6 if another process holds it. */
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
export const isSystemError = (error: unknown): error is Error & { readonly code: string } =>
  error instanceof Error && 'syscall' in error && 'code' in error && typeof error.code === 'string'

/** A thrown value of any kind as one line of text. */
export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))
