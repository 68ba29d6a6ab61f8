/** Several runs commit to one Delta log, with faults, deaths and missing manifests. The log stays whole and ends at the manifest. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { ObjectStoreError } from '../../../../src/object-store/object-store.js'
import { parseActions } from '../../../../src/publish/delta/actions.js'
import { commitDelta } from '../../../../src/publish/delta/commit.js'
import { stateAfter } from '../../../../src/publish/delta/log.js'
import { listLog, readState } from '../../../../src/publish/delta/read-log.js'
import type { Manifest } from '../../../../src/publish/parquet/manifest.js'
import { openDatabase } from '../../../../src/warehouse/connection/database.js'
import { temporaryDirectory } from '../../../support/files/temporary.js'
import { testLog } from '../../../support/log/test-log.js'
import { manifestKeyOf, manifestWith } from '../../../support/storage/manifests.js'
import { type ModelFault, ModelStore } from '../../../support/storage/model-store.js'
import { CASES_TIMEOUT_MS, cases } from '../../../support/suite/cases.js'
import { testClock } from '../../../support/time/test-clock.js'

/** Remembers every commit that was ever written, also those that were deleted later. */
class RememberingStore extends ModelStore {
  readonly commits = new Map<number, string>()

  override write(key: string, body: Buffer | string): string {
    if (key.endsWith('.json')) {
      const number = Number(key.slice(-'00000000000000000000.json'.length, -'.json'.length))
      expect(this.commits.has(number), `commit ${number} is written once`).toBe(false)
      this.commits.set(number, String(body))
    }
    return super.write(key, body)
  }
}

const FAULTS: readonly (ModelFault | null)[] = ['refused', 'unreachable', 'lost_answer', 'repeated']

/** A version: which partitions change, how many runs commit it, and what goes wrong. */
const version = fc.record({
  changed: fc.array(fc.integer({ min: 1, max: 4 }), { maxLength: 3 }),
  days: fc.integer({ min: 0, max: 20 }),
  runs: fc.array(
    fc.record({
      /** Runs that wake up late commit an earlier version. */
      behind: fc.constantFrom(0, 0, 0, 1, 3),
      /** The fault of each request, in order, and how long it takes; none after the last. */
      requests: fc.array(
        fc.record({
          fault: fc.constantFrom(null, null, null, null, ...FAULTS),
          ticks: fc.integer({ min: 0, max: 30 }),
        }),
        { maxLength: 12 },
      ),
    }),
    { maxLength: 3 },
  ),
  isManifestLost: fc.constantFrom(false, false, false, true),
})

test(
  'any order of runs and faults leaves a log that equals the last manifest',
  async () => {
    const scratch = await temporaryDirectory()
    await using database = await openDatabase(':memory:')
    const property = fc.asyncProperty(
      fc.array(version, { minLength: 1, maxLength: 25 }),
      async (versions) => {
        const clock = testClock()
        const model = new RememberingStore({ nowMs: clock.nowMs })
        const manifests: Manifest[] = []
        const stored = new Map<string, Manifest>()
        const signal = new AbortController().signal
        const commit = (manifest: Manifest, store = model.client()) =>
          commitDelta({
            store,
            database,
            scratch,
            manifest,
            manifestKey: manifestKeyOf(manifest),
            readManifest: (key) => Promise.resolve(stored.get(key) ?? null),
            clock,
            log: testLog(),
            signal,
          })

        const writtenBy = new Map([1, 2, 3, 4].map((month) => [month, 1]))
        for (const [index, { changed, days, runs, isManifestLost }] of versions.entries()) {
          clock.advance(days * 86_400_000)
          for (const month of changed) writtenBy.set(month, index + 1)
          const files = [...writtenBy].map(([month, by]) => [`acme|2026-0${month}|v${by}`, by])
          const manifest = manifestWith(index + 1, { files: Object.fromEntries(files) })
          manifests.push(manifest)
          stored.set(manifestKeyOf(manifest), manifest)
          const results = await Promise.allSettled(
            runs.map(({ behind, requests }) => {
              const left = [...requests]
              const store = model.client({
                fault: async () => {
                  const request = left.shift()
                  for (let tick = 0; tick < (request?.ticks ?? 0); tick += 1) await Promise.resolve()
                  return request?.fault ?? null
                },
              })
              return commit(manifests[Math.max(0, index - behind)] ?? manifest, store)
            }),
          )
          for (const result of results)
            if (result.status === 'rejected') expect(result.reason).toBeInstanceOf(ObjectStoreError)
          if (isManifestLost) stored.delete(manifestKeyOf(manifest))
        }

        const last = manifests.at(-1)
        if (last === undefined) return
        await commit(last)
        const commits = [...model.commits].toSorted(([a], [b]) => a - b)
        expect(commits.map(([number]) => number)).toEqual(commits.map((_, index) => index))
        const actions = commits.map(([, text]) => parseActions(text))
        const versionsOf = actions.map((all) => all.find(({ txn }) => txn)?.txn?.version ?? 0)
        expect(versionsOf).toEqual([...new Set(versionsOf)].toSorted((a, b) => a - b))

        const wanted = last.tables[0]?.files.map(({ path }) => path.slice('data/surveys/'.length)).toSorted()
        expect([...stateAfter(actions.flat()).files.keys()].toSorted()).toEqual(wanted)
        const reading = { store: model.client(), database, scratch, signal }
        const listed = await listLog(reading, 'data/surveys')
        const state = await readState(reading, 'data/surveys', listed, commits.length - 1)
        expect([...state.files.keys()].toSorted()).toEqual(wanted)
      },
    )
    await fc.assert(property, cases(60, 2_000))
  },
  CASES_TIMEOUT_MS,
)
