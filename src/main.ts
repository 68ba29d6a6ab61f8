#!/usr/bin/env node
/** The command. An old Node ends here: it could not parse the files that `start.ts` imports. */
import './node-floor.js'

void import('./start.js').catch((error: unknown) =>
  // A package that every command needs is missing.
  import('./commands/report-error.js').then(({ reportError }) => {
    const { text, exitCode } = reportError(error)
    process.stderr.write(`${text}\n`)
    process.exitCode = exitCode
  }),
)
