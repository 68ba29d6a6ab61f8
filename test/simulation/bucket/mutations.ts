/** Mutations that the simulation of the bucket must catch. `npm run simulate:mutations -- --only bucket` */
import type { Mutation } from '../mutations.js'

export const BUCKET_MUTATIONS: readonly Mutation[] = [
  {
    // The condition counts when the request arrives, so the store of the simulation ignores it.
    name: 'bucket: the pointer is written without If-Match',
    file: '../test/support/storage/model-store.js',
    from: '(found) => found?.etag === etag',
    to: `(found) => found?.etag === etag || key === 'current.json'`,
  },
  {
    name: 'bucket: a run does not fence the pointer',
    file: 'storage/bucket/pointer.js',
    from: 'const outcome = await putDocument(store, POINTER_KEY, document, found?.etag ?? null, signal);',
    to: `const outcome = found !== null ? { kind: 'written', etag: found.etag } : await putDocument(store, POINTER_KEY, document, null, signal);`,
  },
  {
    name: 'bucket: the pointer is replaced before the manifest is written',
    file: 'storage/bucket/publisher.js',
    from: 'await createObject(options, key, body, body.length);',
    to: 'void createObject(options, key, body, body.length).catch(() => undefined);',
  },
  {
    name: 'bucket: a lost answer counts as lost',
    file: 'object-store/owned-document.js',
    from: 'if (found !== null && Buffer.compare(put.body, found.body) === 0)',
    to: 'if (false)',
  },
  {
    name: 'bucket: a lost answer counts as written',
    file: 'object-store/owned-document.js',
    from: 'const found = await readBack(failure);',
    to: `if (failure !== null && body instanceof Uint8Array) return { kind: 'written', etag: (await store.get(key, signal))?.etag ?? '' };
        const found = await readBack(failure);`,
  },
  {
    name: 'bucket: the lease is taken by the wall clock',
    file: 'storage/bucket/lease.js',
    from: 'leaseAction(found, watched, clock.monotonicMs());',
    to: `leaseAction(found, found === null ? watched : { etag: found.etag, sinceMs: clock.monotonicMs() - clock.nowMs() + Date.parse(found.document.holder.since) }, clock.monotonicMs());`,
  },
  {
    name: 'bucket: the lease is taken before its life has ended',
    file: 'storage/bucket/lease.js',
    from: 'watched.sinceMs + LEASE_MS - monotonicMs',
    to: 'watched.sinceMs + 15_000 - monotonicMs',
  },
  {
    name: 'bucket: a run sends requests without the lease',
    file: 'storage/bucket/lease.js',
    from: 'assertHeld() {',
    to: 'assertHeld() { return;',
  },
  {
    name: 'bucket: a suspended machine trusts its monotonic clock',
    file: 'storage/bucket/lease.js',
    from: 'Math.max(at.monotonicMs - from.monotonicMs, at.wallMs - from.wallMs)',
    to: 'at.monotonicMs - from.monotonicMs',
  },
  {
    name: 'bucket: the ledger is not handed over',
    file: 'storage/bucket/ledgers.js',
    from: `return hasLedgers(previous) ? 'bucket' : 'unknown';`,
    to: `return 'none';`,
  },
  {
    name: 'bucket: a run that was killed is assumed to have sent nothing',
    file: 'storage/bucket/ledgers.js',
    from: 'wasReleased && ledgersUploaded',
    to: 'true',
  },
  {
    name: 'bucket: a ledger that was not uploaded counts as uploaded',
    file: 'storage/bucket/ledgers.js',
    from: 'wasReleased && ledgersUploaded',
    to: 'wasReleased',
  },
  {
    name: 'bucket: a missing ledger counts as empty',
    file: 'storage/bucket/ledgers.js',
    from: 'if (found === null || document === null)',
    to: 'if (found === null) return null; if (document === null)',
  },
  {
    name: 'bucket: without a lease, no run was ever here',
    file: 'storage/bucket/lease.js',
    from: '!(await hasTraces(store, signal))',
    to: 'true',
  },
  {
    name: 'bucket: a lease that was deleted is taken at once',
    file: 'storage/bucket/lease.js',
    from: "if (found?.document.state === 'free')",
    to: "if (found === null || found.document.state === 'free')",
  },
  {
    name: 'bucket: the proof is skipped after a failed run',
    file: 'storage/bucket/preconditions.js',
    from: 'await requireConditionalWrites(store, signal);',
    to: `if (found === null) await store.putIfAbsent(PROOF_KEY, documentBody({ format: 1, store: tried }), signal);
    await requireConditionalWrites(store, signal);`,
  },
  {
    name: 'bucket: clean-up by age alone',
    file: 'storage/bucket/clean-up.js',
    from: '!named.has(key) && ',
    to: '',
  },
  {
    name: 'bucket: clean-up without age',
    file: 'storage/bucket/clean-up.js',
    from: 'ageMs !== null && ageMs >= sweepAfterMs',
    to: 'true',
  },
  {
    name: 'bucket: clean-up keeps only the current version',
    file: 'storage/bucket/clean-up.js',
    from: '...older, ...young]',
    to: ']',
  },
  {
    name: 'bucket: clean-up leaves orphans',
    file: 'storage/bucket/documents.js',
    from: '[VERSIONS, DATA, DATABASES, SNAPSHOTS]',
    to: '[VERSIONS, DATABASES]',
  },
  {
    name: 'bucket: a work database of an older state is kept',
    file: 'storage/bucket/restore.js',
    from: 'if (note?.state === state)',
    to: 'if (note !== null)',
  },
  {
    name: 'bucket: a kill during the restore leaves a directory that is refused',
    file: 'storage/bucket/restore.js',
    from: 'await writeNote(directory, noteOf(store, note, REPLACING));',
    to: '',
  },
  {
    name: 'bucket: a copy is restored without its checksum',
    file: 'storage/bucket/restore.js',
    from: 'size === bytes && (await checksum(file)) === sha256',
    to: 'true',
  },
  {
    name: 'bucket: a file that was deleted is named for ever',
    file: 'storage/bucket/upload.js',
    from: 'present.get(file.path) === file.bytes',
    to: 'true',
  },
]
