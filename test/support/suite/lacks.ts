/**
 * What tests need and a machine may lack: other programs, and rights. Only tests of the full suite (`*.full.test.ts`) may need it. What is
 * missing is an error, unless `npm run test:full -- --allow-missing` runs: it skips these tests, and lists at its end what was missing.
 */
import { appendFileSync, existsSync } from 'node:fs'
import { join } from 'node:path'

const isOnPath = (program: string): boolean =>
  (process.env.PATH ?? '').split(':').some((directory) => existsSync(join(directory, program)))

/** For `skipIf`. `what` is a program on the PATH, or anything else with the answer whether it is there. */
export const lacks = (what: string, isThere = isOnPath(what)): boolean => {
  if (isThere) return false
  // `test/full.mjs` names the file where --allow-missing is given.
  const list = process.env.FIELDWORK_SYNC_TEST_MISSING
  if (list === undefined)
    throw new Error(
      `This machine lacks ${what}. npm run test:full -- --allow-missing leaves out what needs it`,
    )
  appendFileSync(list, `${what}\n`)
  return true
}
