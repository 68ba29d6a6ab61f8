/**
 * Tests the simulation itself. Each mutation puts a fault that breaks one promise into a copy of the compiled code, and the
 * simulation has to catch it. `npm run simulate:mutations [-- --only NAME --seeds 200]`
 */
import { spawnSync } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { BUCKET_MUTATIONS } from './bucket/mutations.js'

export interface Mutation {
  readonly name: string
  /** A compiled file, below `src`. */
  readonly file: string
  /** Text that the file contains exactly once. */
  readonly from: string
  readonly to: string
}

const MUTATIONS: readonly Mutation[] = [
  {
    name: 'the cursor is the largest updated_at seen',
    file: 'warehouse/queue/listing.js',
    from: 'instant(listing.ceiling),',
    to: `instant((await sql.rows(z.object({ most: timestamptzCell.nullable() }),
      'SELECT greatest((SELECT max(updated_at) FROM main.surveys), (SELECT max(updated_at) FROM _sync.pending_surveys)) AS most'))[0]?.most ?? listing.ceiling),`,
  },
  {
    name: 'the cursor is the time of the last page',
    file: 'warehouse/queue/listing.js',
    from: 'instant(listing.ceiling)',
    to: 'instant(page.at)',
  },
  {
    name: 'a listing that drifted is not repeated',
    file: 'sync/discover.js',
    from: 'if (total_count < this.#previousTotal)',
    to: 'if (true) return null; if (total_count < 0)',
  },
  {
    name: 'a refused kind is partial',
    file: 'sync/failure-watch.js',
    from: 'const SURVEYS_MIN = 5;',
    to: 'const SURVEYS_MIN = 500;',
  },
  {
    name: 'an endpoint that has never answered for any survey is not told from refused surveys',
    file: 'sync/failure-watch.js',
    from: 'answered.size === 0 || ',
    to: '',
  },
  {
    name: 'the future run is the last',
    file: 'warehouse/history/runs.js',
    from: 'max_by(run_id, run_number)',
    to: 'max_by(run_id, started_at)',
  },
  {
    name: 'a Delta log that is switched off stays without its files',
    file: 'storage/bucket/clean-up.js',
    from: '[...logs, swept.filter(isManifest)',
    to: '[swept.filter(isManifest)',
  },
  {
    name: 'publishing overwrites the file that readers have open',
    file: 'publish/duckdb.js',
    from: 'const temporary = temporaryBeside(target)',
    to: 'const temporary = target',
  },
  {
    name: 'a changed row is merged before its sources and progress are read',
    file: 'warehouse/merge/listing-pages.js',
    from: 'waits: one.replaces && refreshed.has(one.survey.id)',
    to: 'waits: false',
  },
  {
    name: 'a slot is free as soon as the answer has arrived',
    file: 'http/rate-limit/slot-timing.js',
    from: '({ perMs }) => perMs + HOLD_MARGIN_MS',
    to: '() => 0',
  },
  {
    name: 'the ledger is not read at the start',
    file: 'http/rate-limit/ledger.js',
    from: 'this.#records.set(record.id, record);',
    to: ';',
  },
  {
    name: 'the ledger belongs to the name of the account',
    file: 'http/rate-limit/rate-limiter.js',
    from: 'openLedger({ directory, owner, timing, clock })',
    to: "openLedger({ directory, owner: { ...owner, baseUrl: 'http://' + options.account + '/' }, timing, clock })",
  },
  {
    name: 'a retry bypasses the limiter',
    file: 'http/client.js',
    from: 'const outcome = await this.#limiter.run((slot) => this.#send(slot, pending), waitSignals);',
    to: 'const outcome = attempts === 0 ? await this.#limiter.run((slot) => this.#send(slot, pending), waitSignals) : await this.#send({ sending() {}, answered() {}, neverSent() {} }, pending);',
  },
  {
    name: 'a task is ended although its refresh failed',
    file: 'warehouse/merge/bundles.js',
    from: 'idsOf(outcomes.filter(isDone))',
    to: "idsOf(outcomes.filter(({ kind }) => kind !== 'oversized'))",
  },
  {
    name: 'a partial run exits 0',
    file: 'sync/outcome.js',
    from: 'const codes = ends.map(({ exitCode }) => exitCode);',
    to: 'const codes = ends.map(({ exitCode }) => exitCode).filter((code) => code !== 3);',
  },
  {
    name: 'rejected rows do not change the exit code',
    file: 'sync/outcome.js',
    from: 'rejectedRows > rules.limits.rejected_rows_max',
    to: 'rejectedRows > 1e9',
  },
  {
    name: 'a failed publish is not recorded',
    file: 'sync/publish.js',
    from: 'return await recordUnpublished(options, published, error);',
    to: 'return { ...worstOf(reports), accounts: reports, published, publishError: error.message };',
  },
  {
    name: 'the error of a commit is ignored',
    file: 'warehouse/connection/database.js',
    from: `await sql.run('COMMIT');`,
    to: `await sql.run('COMMIT').catch(() => undefined);`,
  },
  {
    name: 'the cursor is saved before the rows of the last page',
    file: 'warehouse/merge/listing-pages.js',
    from: `    const merged = await mergeReadSurveys(sql, surveys, lastOf(pages).runId);
    await rememberListed(sql, pages);
    const notListed = await completeListing(sql, pages);`,
    to: `    await rememberListed(sql, pages);
    const notListed = await completeListing(sql, pages);
    await sql.run('COMMIT');
    await sql.run('BEGIN TRANSACTION');
    const merged = await mergeReadSurveys(sql, surveys, lastOf(pages).runId);`,
  },
  {
    name: 'a task is ended before its rows are committed',
    file: 'warehouse/merge/bundles.js',
    from: '    const pending = await mergePending(sql, outcomes);',
    to: `    await endTasks(sql, outcomes);
    await sql.run('COMMIT');
    await sql.run('BEGIN TRANSACTION');
    const pending = await mergePending(sql, outcomes);`,
  },
  {
    name: 'a survey that has gone is not marked',
    file: 'warehouse/queue/listing.js',
    from: `const notListed = isFull ?`,
    to: `const notListed = listing.kind === 'none' ?`,
  },
  {
    name: 'a stored time ahead of now is believed',
    file: 'rules/believed.js',
    from: 'at === null || at > now ? null : at',
    to: 'at',
  },
  {
    name: 'a 404 of its own address alone makes a survey gone',
    file: 'sync/bundle.js',
    from: `task.reason === 'missing' && readings.areAllNotFound()`,
    to: `readings.refusals().every(({ kind }) => kind === 'not_found')`,
  },
  {
    name: 'a locked file counts as damaged, and an older state replaces it',
    file: 'warehouse/lifecycle/rebuild.js',
    from: '!isDamage(error)',
    to: 'false',
  },
  {
    name: 'a 403 of one survey ends the run of its account',
    file: 'sync/worker.js',
    from: '!error.endsRun && !signal.aborted',
    to: `!error.endsRun && !/ 403/.test(error.message) && !signal.aborted`,
  },
  {
    name: 'versions in history are dated with our own clock',
    file: 'survey-api/answer.js',
    from: 'readAt: serverDate ?? instantFromMs(clock.nowMs())',
    to: 'readAt: instantFromMs(clock.nowMs() - 86_400_000)',
  },
  // The next ones are in the order of a run with a bucket, which the simulation of the bucket does not run.
  {
    name: 'the command with a bucket takes no request ledgers over',
    file: 'storage/bucket/bucket-storage.js',
    from: 'await takeLedgersOver(this.#ledgers, ledgersOf, this.signal)',
    to: 'undefined',
  },
  {
    name: 'the command with a bucket: the proof is skipped after a failed run',
    file: 'storage/bucket/bucket-storage.js',
    from: 'await proveConditionalWrites(',
    to: 'if (lease.previous === null) await proveConditionalWrites(',
  },
  {
    name: 'the command with a bucket: a missing ledger counts as empty',
    file: 'storage/bucket/ledgers.js',
    from: 'if (found === null || document === null)',
    to: 'if (found === null) return null; if (document === null)',
  },
  {
    name: 'the command with a bucket does not upload its request ledgers',
    file: 'storage/bucket/bucket-storage.js',
    from: 'await handLedgersOn(this.#ledgers, signal);',
    to: '',
  },
  {
    name: 'the command with a bucket uses the local work database, of whatever state it is',
    file: 'storage/bucket/bucket-storage.js',
    from: 'const { state, ledgersOf } = await prepareLocal(local);',
    to: `const { state, ledgersOf } = (await requireWritable(directory), { state: contents.snapshot?.key ?? contents.manifest ?? 'nothing', ledgersOf: null });`,
  },
  {
    name: 'the command with a bucket waits for the store after a signal',
    file: 'storage/bucket/bucket-storage.js',
    from: '() => ending(RELEASE_AFTER_SIGNAL_MS_MAX)',
    to: '() => undefined',
  },
]

const { values } = parseArgs({
  options: {
    only: { type: 'string' },
    seeds: { type: 'string', default: '200' },
    /** Only checks that every mutation finds its place in the code. */
    dry: { type: 'boolean', default: false },
    /** Runs every `shards`-th mutation from `shard` on, so that several processes can divide them. */
    shard: { type: 'string', default: '0' },
    shards: { type: 'string', default: '1' },
  },
})

const ALL = [
  ...MUTATIONS.map((mutation) => ({ ...mutation, main: 'main.js', seeds: Number(values.seeds) })),
  ...BUCKET_MUTATIONS.map((mutation) => ({
    ...mutation,
    main: join('bucket', 'main.js'),
    // A seed takes a fraction of the time.
    seeds: 5 * Number(values.seeds),
  })),
]

const built = join(dirname(fileURLToPath(import.meta.url)), '..', '..')

/** The text of the mutated file; throws unless the text to replace occurs exactly once. */
const mutated = (root: string, { name, file, from, to }: Mutation): string => {
  const pieces = readFileSync(join(root, 'src', file), 'utf8').split(from)
  if (pieces.length !== 2)
    throw new Error(
      `mutation "${name}": ${file} contains ${JSON.stringify(from)} ${pieces.length - 1} times, not once. Follow the change of the code in test/simulation/mutations.ts`,
    )
  return pieces.join(to)
}

/** The first seed that fails, with its first violation; null when none fails. */
const caughtAt = (mutation: (typeof ALL)[number]): { readonly seed: string; readonly how: string } | null => {
  const project = mkdtempSync(join(tmpdir(), 'fieldwork-mutant-'))
  try {
    const root = join(project, '.simulation')
    cpSync(built, root, { recursive: true })
    cpSync(join(built, '..', 'package.json'), join(project, 'package.json'))
    for (const linked of ['node_modules', 'docs'])
      symlinkSync(join(built, '..', linked), join(project, linked))
    writeFileSync(join(root, 'src', mutation.file), mutated(root, mutation))
    const main = join(root, 'test', 'simulation', mutation.main)
    const given = ['--seeds', String(mutation.seeds), '--jobs', '1', '--quick']
    const { stdout, stderr } = spawnSync(process.execPath, [main, ...given], { encoding: 'utf8' })
    if (!stdout.includes(' seeds in '))
      throw new Error(`mutation "${mutation.name}" plays no seed: ${stderr}`)
    const [, seed] = /--seed (\d+)/.exec(stdout) ?? []
    return seed === undefined ? null : { seed, how: stdout.split('\n')[1]?.trim() ?? '' }
  } finally {
    rmSync(project, { recursive: true, force: true })
  }
}

let missed = 0
const selected = ALL.filter(
  ({ name }, place) =>
    name.includes(values.only ?? '') && place % Number(values.shards) === Number(values.shard),
)
for (const mutation of selected) mutated(built, mutation)
for (const mutation of values.dry ? [] : selected) {
  const caught = caughtAt(mutation)
  if (caught === null) missed += 1
  const verdict =
    caught === null ? 'NOT CAUGHT' : `caught at seed ${caught.seed}: ${caught.how.slice(0, 140)}`
  process.stdout.write(`${mutation.name}: ${verdict}\n`)
}
process.exitCode = missed === 0 ? 0 : 1
