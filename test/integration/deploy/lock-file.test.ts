/** The lock file: `npm ci` refuses a changed package only where the entry has a hash. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { projectDirectory } from './dockerfile.js'

const lockFile = z.object({
  packages: z.record(
    z.string(),
    z.object({ integrity: z.string().optional(), resolved: z.string().optional() }),
  ),
})

test('every package of the lock file has a hash, also those for other platforms, and names no host', async () => {
  const { packages } = lockFile.parse(
    JSON.parse(await readFile(join(projectDirectory, 'package-lock.json'), 'utf8')),
  )
  const { '': project, ...installed } = packages
  expect(project).toBeDefined()
  const wrong = Object.entries(installed).flatMap(([path, { integrity = '', resolved }]) =>
    /^sha512-[A-Za-z0-9+/]{86}==$/.test(integrity) && resolved === undefined ? [] : [path],
  )
  expect(wrong).toEqual([])
})
