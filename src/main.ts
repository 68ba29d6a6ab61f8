#!/usr/bin/env node
/** The command. An old Node ends here: it could not parse the files that `start.ts` imports. */
import './node-floor.js'

// From Node 22.8 on, the next start finds the code of the other chunks compiled. The cache is beside the code, where only those
// who may change the code can write it. Where nobody can, there is no cache.
const nodeModule = process.getBuiltinModule('node:module')
if ('enableCompileCache' in nodeModule && typeof nodeModule.enableCompileCache === 'function')
  nodeModule.enableCompileCache(`${import.meta.dirname}/compile-cache`)

void import('./start.js').catch((error: unknown) =>
  // A package that every command needs is missing.
  import('./commands/report-error.js').then(({ reportError }) => {
    const { text, exitCode } = reportError(error)
    process.stderr.write(`${text}\n`)
    process.exitCode = exitCode
  }),
)
