/**
 * Errors that look like bugs, but come from the environment of the process: packages that the installation left out, flags of Node, a
 * working directory that was removed, too few addresses, a refusal of the system.
 */
import { addressSpaceAdvice } from './address-space.js'
import { type ErrorCode, ExpectedError, hasCode, isSystemError, messageOf, WarehouseError } from './errors.js'

/** `error`, or the error that says what to do about it. */
export const explained = (error: unknown): unknown => {
  if (error instanceof ExpectedError) return error
  const because = (code: ErrorCode, message: string) => new ExpectedError(code, message, { cause: error })
  const reason = messageOf(error).split('\n', 1)[0]?.replace(/[.!]$/, '') ?? ''
  const advice =
    error instanceof RangeError || hasCode(error, 'ERR_DLOPEN_FAILED') ? addressSpaceAdvice() : null
  if (advice !== null)
    return new WarehouseError('address_space_limited', `${reason}. ${advice}`, { cause: error })
  if (hasCode(error, 'MODULE_NOT_FOUND', 'ERR_MODULE_NOT_FOUND', 'ERR_DLOPEN_FAILED'))
    return because(
      'installation_incomplete',
      `a package of this installation is missing or is for another machine: ${reason}. Install it again, with optional packages: npm ci --include=optional`,
    )
  if (isForbidden(error))
    return because(
      'node_restricted',
      `a flag of Node forbids what the command needs: ${reason}. Leave that flag out: look behind "node" and in NODE_OPTIONS`,
    )
  if (!isSystemError(error) || OWN_MISTAKES.has(error.code)) return error
  if (error.syscall === 'uv_cwd')
    return because(
      'no_working_directory',
      `the working directory is gone (${error.code}). Change to another directory, and run the command again`,
    )
  return new WarehouseError(
    'system_refused',
    `the system refused: ${reason}. Check the path, its permissions, the free space and the limits of the process`,
    { cause: error },
  )
}

/** Flags of Node can forbid native packages, the WebAssembly of the HTTP client, and the code that the reference server generates. */
const isForbidden = (error: unknown): boolean =>
  hasCode(error, 'ERR_DLOPEN_DISABLED', 'ERR_ACCESS_DENIED') ||
  error instanceof EvalError ||
  (error instanceof ReferenceError && !('WebAssembly' in globalThis))

/** The system's codes for a call that is wrong by itself: a bug of ours. */
const OWN_MISTAKES: ReadonlySet<string> = new Set(['EBADF', 'EFAULT', 'EINVAL', 'ENOTSOCK'])
