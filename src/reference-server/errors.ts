/** Errors of starting the reference server. The caller has to change something: exit 2. */
import { ExpectedError, messageOf } from '../base/errors.js'

/** Faults that cannot be used: an unreadable file, or wrong declarations. 400 over HTTP. */
export class FaultsError extends ExpectedError {
  /** A line for each problem: what, where, what to do. */
  constructor(lines: readonly string[]) {
    super('reference_server_faults', lines.join('\n'))
  }
}

/** The address cannot be listened on: in use, not allowed, or not of this machine. */
export const cannotListen = (host: string, port: number, cause: unknown): ExpectedError =>
  new ExpectedError('reference_server_listen', `--host ${host} --port ${port}: ${reasonOf(cause)}`, { cause })

const REASONS: Readonly<Record<string, string>> = {
  EADDRINUSE: 'the port is in use; stop what uses it, or give another --port (0 takes any free one).',
  EACCES: 'listening there is not permitted; give a --port above 1023.',
  EADDRNOTAVAIL: 'this machine has no such address; give another --host.',
  ENOTFOUND: 'no such host is known; give another --host.',
}

const reasonOf = (cause: unknown): string => {
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : ''
  return REASONS[code] ?? `cannot listen (${messageOf(cause)}); give another --host or --port.`
}
