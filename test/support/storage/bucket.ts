/** What tests of the bucket share: holders, leases that are always held, and time that passes second by second. */
import { createHash } from 'node:crypto'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { BucketManifest, LeaseHolder, NamedObject } from '../../../src/storage/bucket/documents.js'
import type { testClock } from '../time/test-clock.js'

export const holderNamed = (id: string): LeaseHolder => ({
  ...{ id, host: 'pod-1', pid: 7, command: 'sync', since: '2026-03-01T00:00:00.000Z' },
})

export const ALWAYS_HELD: { assertHeld(): void } = { assertHeld: () => undefined }

export const LOST_LEASE: typeof ALWAYS_HELD = {
  assertHeld: () => {
    throw new Error('lost')
  },
}

export const NEVER = new AbortController().signal

/** Lets time pass in seconds, and after each second everything that it woke. */
export const pass = async (clock: ReturnType<typeof testClock>, ms: number): Promise<void> => {
  for (let passedMs = 0; passedMs < ms; passedMs += 1_000) {
    await nextTurn()
    clock.advance(Math.min(1_000, ms - passedMs))
  }
  await nextTurn()
}

/** A manifest of a version that names these data files. */
export const manifestOf = (
  version: number,
  database: NamedObject,
  files: readonly NamedObject[] = [],
): BucketManifest => {
  const counts = { rows: files.length, bytes: 0 }
  const named = files.map(({ key, bytes, sha256 }) => ({
    ...{ path: key, account: null, created_month: null, rows: 1, bytes, sha256, digest: sha256 },
    written_by: version,
  }))
  return {
    ...{ format: 1, version, published_at: '2026-03-01T00:00:00.000Z', program: '0.1.0', schema_version: 1 },
    ...{ run_id: 'RUN', runs: version, ...counts },
    tables: [
      { schema: 'main', name: 'surveys', comment: '', columns: [], layout: '1', ...counts, files: named },
    ],
    database,
  }
}

export const namedObject = (key: string, text: string): NamedObject => ({
  key,
  bytes: Buffer.byteLength(text),
  sha256: createHash('sha256').update(text).digest('hex'),
})
