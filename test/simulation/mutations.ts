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

interface Mutation {
  readonly name: string
  /** A compiled file, below `src`. */
  readonly file: string
  /** Text that the file contains exactly once. */
  readonly from: string
  readonly to: string
}

/** A hunk a mutation, as in a patch: file, name, the text to replace, and what replaces it. */
const MUTATIONS = `
@@ warehouse/queue/listing.js @@ the cursor is the largest updated_at seen
- listing.ceiling, page.committedAt,
+ ((await sql.rows(z.object({ most: timestamptzCell.nullable() }),
+       'SELECT greatest((SELECT max(updated_at) FROM main.surveys), (SELECT max(updated_at) FROM _sync.pending_surveys)) AS most'))[0]?.most ?? listing.ceiling), page.committedAt,
@@ warehouse/queue/listing.js @@ the cursor is the time of the last page
- listing.ceiling, page.committedAt,
+ page.at, page.committedAt,
@@ sync/listing.js @@ a listing that drifted is not repeated
- const drift = isShrunk
+ const drift = true ? null : isShrunk
@@ warehouse/merge/bundles.js @@ a short list marks
- !waiting.has(outcome.surveyId)
+ true
@@ sync/unlisted-sources.js @@ a short list of sources marks
- const areMany = areManyAtOnce(unconfirmed.length, stored.knownSourceIds.length);
+ const areMany = false;
@@ sync/outcome.js @@ sources that lists leave out are passed over
- ofSources.sourcesLeftOut === 0
+ true
@@ sync/discover.js @@ a listing's age counts from its start
- const resumed = changes === 'clock_behind' ? null : full;
+ const resumed = changes === 'clock_behind' || (full !== null && instantFromMs(clock.nowMs()) - full.startedAt > 86400000000n) ? null : full;
@@ sync/failure-watch.js @@ a refused kind is partial
- const SURVEYS_MIN = 5;
+ const SURVEYS_MIN = 500;
@@ sync/failure-watch.js @@ an endpoint that has never answered for any survey is not told from refused surveys
- answered.size === 0 ||
@@ warehouse/history/runs.js @@ the future run is the last
- max_by(run_id, run_number)
+ max_by(run_id, started_at)
@@ storage/bucket/clean-up.js @@ a Delta log that is switched off stays without its files
- [...logs, swept.filter(isManifest)
+ [swept.filter(isManifest)
@@ publish/duckdb.js @@ publishing overwrites the file that readers have open
- const temporary = temporaryBeside(target)
+ const temporary = target
@@ warehouse/merge/listing-pages.js @@ a changed row is merged before its sources and progress are read
- waits: row.replaces && refreshed.has(row.survey.id)
+ waits: false
@@ http/rate-limit/slot-timing.js @@ a slot is free as soon as the answer has arrived
- ({ perMs }) => perMs + HOLD_MARGIN_MS
+ () => 0
@@ http/rate-limit/ledger.js @@ the ledger is not read at the start
- this.#records = readLedger(text, nowMs);
+ this.#records = new Map();
@@ http/rate-limit/rate-limiter.js @@ the ledger belongs to the name of the account
- new Ledger({ directory, owner, timing, clock })
+ new Ledger({ directory, owner: { ...owner, baseUrl: 'http://' + options.account + '/' }, timing, clock })
@@ http/client.js @@ a retry bypasses the limiter
- (this.#outage.isSuspected() ? { kind: 'held' } : this.#send(slot, pending)), waitSignals);
+ (this.#outage.isSuspected() ? { kind: 'held' } : this.#send(pending.sends === 0 ? slot : { sending() {}, answered() {}, neverSent() {} }, pending)), waitSignals);
@@ http/outage.js @@ an outage is not waited for
- return patience > 0 && this.#failuresInARow >= attempts;
+ return false;
@@ sync/sources.js @@ a survey whose progress has changed counts as unchanged
- !isSameRow(stored.progress, progress)
+ false
@@ sync/sources.js @@ sources whose progress was read in part count as unchanged
- listed.read !== 'all' || stored.sourceProgressReadAt === null
+ listed.read !== 'all'
@@ warehouse/merge/bundles.js @@ a reconstructed day is stored as an observed one
- await sql.insert(surveyProgressReconstructed, rows);
+ await sql.insert(mergedSurveyProgress.history, rows.map((row) => ({ ...row, observed_at: row.as_of })));
@@ rules/windows.js @@ reconstructed days are read again
- at < (reconstructedFrom ?? firstReadAt)
+ at < firstReadAt
@@ rules/refresh.js @@ an inactive survey waits longer than max_age
- Math.min(maxAgeMs, Math.max(DAY_MS, unchangedMs))
+ 2 * maxAgeMs
@@ rules/refresh.js @@ the sources of an active survey are not read again
- isNightly && ageMs >=
+ isNightly && Infinity <=
@@ warehouse/queue/ended-tasks.js @@ a task is ended although its refresh failed
- outcome.kind !== 'oversized' && failureOf(outcome) === null
+ outcome.kind !== 'oversized'
@@ sync/worker.js @@ the oversized survey comes first
- this.#large.push(task);
+ { this.#large.push(task); await this.#readInParts(); this.#large.length = 0; }
@@ sync/worker.js @@ the oversized survey is read whatever the budget has left
- budget.admitParts();
+ budget.admitParts(); if (allowance !== null) allowance.take = () => undefined;
@@ commands/status/verdict.js @@ the verdict is that of the last published run
- last === null || isShown(last, all) ? null : last
+ null
@@ sync/outcome.js @@ a partial run exits 0
- ends.map((end) => end.exitCode).reduce
+ ends.map((end) => end.exitCode).filter((code) => code !== 3).reduce
@@ sync/outcome.js @@ rejected rows do not change the exit code
- rejectedRows > rules.limits.rejected_rows_max
+ rejectedRows > 1e9
@@ sync/publish.js @@ a failed publish is not recorded
- return await recordFailed(options, published, error);
+ return { ...worstOf(reports), accounts: reports, published, publishError: error.message };
@@ warehouse/connection/database.js @@ the error of a commit is ignored
- await sql.run('COMMIT');
+ await sql.run('COMMIT').catch(() => undefined);
@@ warehouse/merge/listing-pages.js @@ the cursor is saved before the rows of the last page
-     const rows = await mergeReadSurveys(sql, surveys, lastOf(pages).runId);
-     await rememberListed(sql, pages);
-     await completeListing(sql, pages);
+     await rememberListed(sql, pages);
+     await completeListing(sql, pages);
+     await sql.run('COMMIT');
+     await sql.run('BEGIN TRANSACTION');
+     const rows = await mergeReadSurveys(sql, surveys, lastOf(pages).runId);
@@ warehouse/merge/bundles.js @@ a task is ended before its rows are committed
-     const pending = await mergePending(sql, outcomes);
+     await endTasks(sql, outcomes);
+     await sql.run('COMMIT');
+     await sql.run('BEGIN TRANSACTION');
+     const pending = await mergePending(sql, outcomes);
@@ warehouse/lifecycle/open.js @@ what somebody planted in the work database stays
- await database.exclusively((sql) => keepPlainData(sql, database.file, log)).catch(notOurs(database));
@@ warehouse/queue/listing.js @@ a survey that has gone is not marked
- if (listing.kind === 'full')
+ if (listing.kind === 'none')
@@ rules/believed.js @@ a stored time ahead of now is believed
- at === null || at > now ? null : at
+ at
@@ sync/bundle.js @@ a 404 of its own address alone makes a survey gone
- task.reason === 'missing' && readings.areAllNotFound()
+ readings.refusals().every(({ kind }) => kind === 'not_found')
@@ warehouse/lifecycle/rebuild.js @@ a locked file counts as damaged, and an older state replaces it
- !isDamage(error)
+ false
@@ sync/readings.js @@ a 403 of one survey ends the run of its account
- || error.endsRun ||
+ || error.endsRun || / 403/.test(error.message) ||
@@ survey-api/envelope.js @@ versions in history are dated with our own clock
- readAt: serverDate ?? instantFromMs(clock.nowMs())
+ readAt: instantFromMs(clock.nowMs() - 86_400_000)
# The next ones are in the order of a run with a bucket, which the simulation of the bucket does not run.
@@ storage/bucket/bucket-storage.js @@ the command with a bucket takes no request ledgers over
- await restoreLedgers(this.#held, ledgersOf, this.signal)
+ undefined
@@ storage/bucket/bucket-storage.js @@ the command with a bucket: the proof is skipped after a failed run
- await proveConditionalWrites(
+ if (lease.previous === null) await proveConditionalWrites(
@@ storage/bucket/ledgers.js @@ the command with a bucket: a missing ledger counts as empty
- if (stored === null || document === null)
+ if (stored === null) return null; if (document === null)
@@ storage/bucket/bucket-storage.js @@ the command with a bucket does not upload its request ledgers
- await uploadLedgers(this.#held, signal);
@@ storage/bucket/bucket-storage.js @@ the command with a bucket uses the local work database, of whatever state it is
- const { state, ledgersOf } = await prepareLocal(local);
+ const { state, ledgersOf } = (await requireWritable(directory), { state: contents.snapshot?.key ?? contents.manifest ?? 'nothing', ledgersOf: null });
@@ storage/bucket/bucket-storage.js @@ the command with a bucket waits for the store after a signal
- () => ending(RELEASE_AFTER_SIGNAL_MS_MAX)
+ () => undefined
`

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

const mutationsOf = (hunks: string): Mutation[] =>
  hunks
    .split(/^@@ /m)
    .slice(1)
    .map((hunk) => {
      const [heading = '', ...lines] = hunk.trimEnd().split('\n')
      const [file = '', name = ''] = heading.split(' @@ ')
      const marked = (mark: string) =>
        lines
          .filter((line) => line.startsWith(mark))
          .map((line) => line.slice(mark.length))
          .join('\n')
      return { name, file, from: marked('- '), to: marked('+ ') }
    })

const seeds = Number(values.seeds)
const ALL = [
  ...mutationsOf(MUTATIONS).map((mutation) => ({ ...mutation, main: 'main.js', seeds })),
  // A seed takes a fraction of the time, and one of these mutations shows only at seed 1,378.
  ...mutationsOf(BUCKET_MUTATIONS).map((mutation) => ({
    ...mutation,
    main: 'bucket/main.js',
    seeds: 10 * seeds,
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
