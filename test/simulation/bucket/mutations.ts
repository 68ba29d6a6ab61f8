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
    file: 'publish/bucket/pointer.js',
    from: 'const outcome = await putDocument({ store, key: POINTER_KEY, document, replaces, signal });',
    to: `const outcome = found !== null ? { kind: 'written', etag: found.etag } : await putDocument({ store, key: POINTER_KEY, document, replaces, signal });`,
  },
  {
    name: 'bucket: the pointer is replaced before the manifest is written',
    file: 'publish/bucket/publisher.js',
    from: 'await createObject(options, key, body, body.length);',
    to: 'void createObject(options, key, body, body.length).catch(() => undefined);',
  },
  {
    name: 'bucket: a lost answer counts as lost',
    file: 'publish/bucket/conditional.js',
    from: 'if (found !== null && tokenOf(found) === document.token)',
    to: 'if (false)',
  },
  {
    name: 'bucket: a lost answer counts as written',
    file: 'publish/bucket/conditional.js',
    from: 'failure = outcome;',
    to: `return { kind: 'written', etag: (await store.get(key, signal))?.etag ?? '' };`,
  },
  {
    name: 'bucket: the lease is taken by the wall clock',
    file: 'publish/bucket/lease.js',
    from: 'leaseAction(found, watched, clock.monotonicMs());',
    to: `leaseAction(found, found === null ? watched : { etag: found.etag, sinceMs: clock.monotonicMs() - clock.nowMs() + Date.parse(found.document.holder.since) }, clock.monotonicMs());`,
  },
  {
    name: 'bucket: the lease is taken before its life has ended',
    file: 'publish/bucket/lease.js',
    from: 'watched.sinceMs + LEASE_MS - monotonicMs',
    to: 'watched.sinceMs + 15_000 - monotonicMs',
  },
  {
    name: 'bucket: a run sends requests without the lease',
    file: 'publish/bucket/held-lease.js',
    from: 'assertHeld() {',
    to: 'assertHeld() { return;',
  },
  {
    name: 'bucket: a suspended machine trusts its monotonic clock',
    file: 'publish/bucket/held-lease.js',
    from: 'Math.max(at.monotonicMs - renewedAt.monotonicMs, at.wallMs - renewedAt.wallMs)',
    to: 'at.monotonicMs - renewedAt.monotonicMs',
  },
  {
    name: 'bucket: the ledger is not handed over',
    file: 'publish/bucket/ledger.js',
    from: `return hasLedgers(previous) ? 'bucket' : 'unknown';`,
    to: `return 'none';`,
  },
  {
    name: 'bucket: a run that was killed is assumed to have sent nothing',
    file: 'publish/bucket/ledger.js',
    from: 'wasReleased && ledgersUploaded',
    to: 'true',
  },
  {
    name: 'bucket: a ledger that was not uploaded counts as uploaded',
    file: 'publish/bucket/ledger.js',
    from: 'wasReleased && ledgersUploaded',
    to: 'wasReleased',
  },
  {
    name: 'bucket: a missing ledger counts as empty',
    file: 'commands/wiring/ledger-hand-over.js',
    from: "if (found.kind !== 'copy')",
    to: "if (found.kind === 'missing') return null; if (found.kind !== 'copy')",
  },
  {
    name: 'bucket: without a lease, no run was ever here',
    file: 'publish/bucket/lease.js',
    from: '!(await hasTraces(store, signal))',
    to: 'true',
  },
  {
    name: 'bucket: a lease that was deleted is taken at once',
    file: 'publish/bucket/lease.js',
    from: "if (found?.document.state === 'free')",
    to: "if (found === null || found.document.state === 'free')",
  },
  {
    name: 'bucket: the proof is skipped after a failed run',
    file: 'publish/bucket/conditional.js',
    from: 'await requireConditionalWrites(store, signal);',
    to: `if (found === null) await store.putIfAbsent(PROOF_KEY, documentBody({ format: 1, store: tried }), signal);
    await requireConditionalWrites(store, signal);`,
  },
  {
    name: 'bucket: clean-up by age alone',
    file: 'publish/bucket/clean-up.js',
    from: '!named.has(key) && ',
    to: '',
  },
  {
    name: 'bucket: clean-up without age',
    file: 'publish/bucket/clean-up.js',
    from: 'ageMs !== null && ageMs >= sweepAfterMs',
    to: 'true',
  },
  {
    name: 'bucket: clean-up keeps only the current version',
    file: 'publish/bucket/clean-up.js',
    from: '...older, ...young]',
    to: ']',
  },
  {
    name: 'bucket: clean-up leaves orphans',
    file: 'publish/bucket/keys.js',
    from: '[VERSIONS, DATA, DATABASES, SNAPSHOTS]',
    to: '[VERSIONS, DATABASES]',
  },
  {
    name: 'bucket: a work database of an older state is kept',
    file: 'publish/bucket/local-state.js',
    from: 'if (note?.state === state)',
    to: 'if (note !== null)',
  },
  {
    name: 'bucket: a kill during the restore leaves a directory that is refused',
    file: 'publish/bucket/local-state.js',
    from: 'await writeNote(directory, noteOf(store, note, REPLACING));',
    to: '',
  },
  {
    name: 'bucket: a copy is restored without its checksum',
    file: 'publish/bucket/restore.js',
    from: 'size === bytes && (await checksum(file)) === sha256',
    to: 'true',
  },
  {
    name: 'bucket: a file that was deleted is named for ever',
    file: 'publish/bucket/version-files.js',
    from: 'present.get(file.path) === file.bytes',
    to: 'true',
  },
]
