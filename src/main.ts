#!/usr/bin/env node
/** The command. An old Node ends here: it could not parse the files that `start.ts` imports. */
import './node-floor.js'
import * as nodeModule from 'node:module'
import { fileURLToPath } from 'node:url'

// From Node 22.8 on, the next start finds the code of the other chunks compiled. The cache is beside the code, where only those
// who may change the code can write it. Where nobody can, there is no cache.
if ('enableCompileCache' in nodeModule && typeof nodeModule.enableCompileCache === 'function')
  nodeModule.enableCompileCache(fileURLToPath(new URL('compile-cache', import.meta.url)))

void import('./start.js')
