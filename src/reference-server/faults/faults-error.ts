/** Faults that cannot be used: a file that is none, or declarations that are wrong. Exit 2, or 400 over HTTP. */
import { ConfigError } from '../../base/errors.js'

export class FaultsError extends ConfigError {
  readonly code = 'reference_server_faults'

  /** A line for each problem: what, where, what to do. */
  constructor(lines: readonly string[]) {
    super(lines.join('\n'))
  }
}
