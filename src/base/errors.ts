/**
 * The errors that a user can meet, grouped by what to do next. Each class has a stable `code` and its exit code. The
 * message says what happened, where, and what to do now. No code compares the text of a message.
 *
 * Each folder of `src` adds its own small classes, which extend one of the groups below.
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
 * `--help` and docs/reference/exit-codes.md print the meanings. If accounts end differently, the command exits with the code of
 * highest rank.
 */
export const EXITS: Readonly<Record<ExitCode, { readonly rank: number; readonly meaning: string }>> = {
  [EXIT_CODES.complete]: {
    rank: 0,
    meaning: 'complete: everything due was read, committed and published',
  },
  [EXIT_CODES.bug]: { rank: 7, meaning: 'a bug: please report' },
  [EXIT_CODES.usage]: { rank: 2, meaning: 'wrong usage or settings; nothing was requested' },
  [EXIT_CODES.partial]: {
    rank: 1,
    meaning:
      'partial: budget, signal or failed surveys; what was read is committed, and the next run reads the rest',
  },
  [EXIT_CODES.upstream]: {
    rank: 4,
    meaning: 'the API refused or stayed unreachable; what was committed stays',
  },
  [EXIT_CODES.data]: {
    rank: 3,
    meaning:
      'data problems: rejected rows or, with contract: freeze, drift; conformance, verify: something is wrong',
  },
  [EXIT_CODES.held]: { rank: 5, meaning: 'another process holds this warehouse' },
  [EXIT_CODES.warehouse]: {
    rank: 6,
    meaning:
      'warehouse or output cannot be written or read, or a newer version wrote it; what was published stays',
  },
}

/** Base of every error that is not a bug. `code` is stable, for programs. */
export abstract class ExpectedError extends Error {
  abstract readonly code: string
  abstract readonly exitCode: ExitCode

  constructor(message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = new.target.name
  }
}

/** Wrong usage or settings: the user has to change something. Exit 2. */
export abstract class ConfigError extends ExpectedError {
  readonly exitCode = EXIT_CODES.usage
}

/**
 * The API refused, or stayed unreachable or unusable. Exit 4 when it ends the run.
 *
 * `endsRun` is true if the account's other requests would fail as well, as after a 429 that outlasts its pauses. Otherwise
 * the error affects only the survey that was being read: a 401 or 403 does so, like a 400 or 404. In a listing, any of these
 * errors ends the run. `src/sync/failure-watch.ts` ends it when too many surveys fail.
 */
export abstract class UpstreamError extends ExpectedError {
  readonly exitCode = EXIT_CODES.upstream
  abstract readonly endsRun: boolean
}

/** The warehouse, or what a command writes, cannot be read or written. Exit 7. */
export abstract class WarehouseError extends ExpectedError {
  readonly exitCode: ExitCode = EXIT_CODES.warehouse
}

/** A file has its new content, but a power failure may undo that, because the disk failed after the rename. Exit 7. */
export class UnsyncedError extends WarehouseError {
  readonly code = 'unsynced'
}

/** A signal or a used-up budget stops the run. Not a failure; exit 3. */
export class StoppedError extends ExpectedError {
  readonly code = 'stopped'
  readonly exitCode = EXIT_CODES.partial
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
