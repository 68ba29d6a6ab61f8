/**
 * What holds on object stores that are not ours. `integration/readers/install.mjs NAME` installs one. The table of
 * docs/how-to/object-storage.md says the same.
 */
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { startWorld } from '../../support/api/reference-api.js'
import { openTrial } from '../../support/command/trial.js'
import { atEndOfFile } from '../../support/files/temporary.js'
import { envOf } from '../../support/oracle/rate.js'
import { NEVER } from '../../support/storage/bucket.js'
import { objectStoreContract, textOf } from '../../support/storage/contract.js'
import { startHoldingFront } from '../../support/storage/holding-front.js'
import {
  isInstalled,
  knownOf,
  type RunningStore,
  STORES,
  startStore,
} from '../../support/storage/real-stores.js'
import { lacks } from '../../support/suite/lacks.js'

describe.each(STORES.map((name) => ({ name, ...knownOf(name) })))(
  '$name',
  ({ name, lacks: fails, refusal }) => {
    const it = (title: string) => (refusal !== null ? test.skip : fails.includes(title) ? test.fails : test)
    describe.skipIf(lacks(`the store ${name}`, isInstalled(name)))('is a store', () => {
      let server: RunningStore
      beforeAll(async () => {
        server = await startStore(atEndOfFile, name)
      })

      if (refusal === null)
        objectStoreContract({
          open: async (onFinished) => await (await server.createBucket()).open(onFinished),
          writersAtOnce: 200,
          lacks: fails,
        })

      const wrongSecret = 'a wrong secret and a missing bucket are named'
      it(wrongSecret)(wrongSecret, async ({ onTestFinished }) => {
        const bucket = await server.createBucket()
        const wrong = await bucket.open(onTestFinished, 'another-secret-than-that-of-the-server')
        await expect(wrong.get('a', NEVER)).rejects.toThrow(/the credentials were refused|refused \(403/)
        const missing = await bucket.openMissing(onTestFinished)
        await expect(missing.get('a', NEVER)).rejects.toThrow(/there is no such (bucket|container)/)
      })

      const lasting = 'what was written outlives a SIGKILL of the server'
      it(lasting)(lasting, async ({ onTestFinished }) => {
        const bucket = await server.createBucket()
        const store = await bucket.open(onTestFinished)
        await store.putIfAbsent('a', Buffer.from('x'), NEVER)
        await server.kill()
        await expect(store.get('a', NEVER)).rejects.toThrow(/cannot be reached \(connect ECONNREFUSED /)
        await server.start()
        expect(await textOf(store, 'a')).toBe('x')
        expect(await store.putIfAbsent('a', Buffer.from('y'), NEVER)).toEqual({ kind: 'lost' })
      })

      test('check, and a night whose pod is killed and taken over', async (context) => {
        const trial = await openTrial(context)
        await using world = await startWorld({ surveys: 6 })
        const { url, env } = await server.createBucket()
        const pod = async (endpoint?: string) => ({
          ...env(endpoint),
          ...envOf(world),
          FIELDWORK_SYNC_RATE_LIMIT: '1000/1s',
          FIELDWORK_SYNC_STORAGE_URL: url,
          FIELDWORK_SYNC_WAREHOUSE: join(await trial.temporary(), 'pod'),
        })
        const check = await trial.run(['check'], await pod())
        console.log(`${name}: check: ${/(?:ok|FAILED) +storage .*/.exec(check.stdout)?.[0]}`)
        expect(check.stdout).toContain(refusal ?? 'conditional writes hold')
        if (refusal !== null) {
          expect(await trial.run(['sync'], await pod())).toMatchObject({ code: 7 })
          return
        }
        const sync = ['sync', '--publish', 'duckdb,parquet,delta']
        expect(await trial.run(sync, await pod())).toMatchObject({ code: 0 })

        const isManifest = (line: string) => /^PUT .*\/versions\//.test(line)
        const front = await startHoldingFront(context.onTestFinished, server.endpoint, isManifest)
        const killed = trial.start(sync, await pod(front.endpoint))
        await Promise.race([front.held.opened, killed.ended])
        killed.child.kill('SIGKILL')
        expect(await killed.ended).toMatchObject({ signal: 'SIGKILL' })

        const last = await pod()
        const next = await trial.run(sync, last)
        expect(next).toMatchObject({ code: 0 })
        expect(next.stderr).toContain('the last run has not released the bucket')
        const counted = await trial.run(
          ['query', 'SELECT count(*)::INT AS n FROM survey_progress', '--format', 'csv'],
          last,
        )
        expect(counted).toMatchObject({ code: 0, stdout: expect.stringMatching(/^n\s+6\s*$/) })
        const verified = await trial.run(['verify', '--sample', '1'], last)
        expect(verified).toMatchObject({ code: 0, stdout: expect.stringContaining('nothing wrong') })
      })
    })
  },
)
