/**
 * What the simulation is worth: faults that break one promise each are put into copies of the compiled code, and the
 * simulation has to catch every one. `npm run simulate:mutations [-- --only NAME --seeds 200]`
 */
import { spawnSync } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'

interface Mutation {
  readonly name: string
  /** A compiled file, below `src`. */
  readonly file: string
  /** Stands in it exactly once. */
  readonly from: string
  readonly to: string
}

const MUTATIONS: readonly Mutation[] = [
  {
    name: 'the cursor is the largest updated_at seen',
    file: 'warehouse/queue/listing.js',
    from: '[account, instant(listing.ceiling),',
    to: `[account, instant((await sql.rows(z.object({ most: timestamptzCell.nullable() }),
      'SELECT greatest((SELECT max(updated_at) FROM main.surveys), (SELECT max(updated_at) FROM _sync.pending_surveys)) AS most'))[0]?.most ?? listing.ceiling),`,
  },
  {
    name: 'the cursor is the time of the last page',
    file: 'warehouse/queue/listing.js',
    from: 'instant(listing.ceiling)',
    to: 'instant(page.at)',
  },
  {
    name: 'pages that drifted are not listed again',
    file: 'sync/discover.js',
    from: 'if (total_count < previousTotal)',
    to: 'if (true) return false; if (total_count < 0)',
  },
  {
    name: 'publishing writes over the file that readers open',
    file: 'publish/duckdb.js',
    from: 'const temporary = temporaryBeside(target)',
    to: 'const temporary = target',
  },
  {
    name: 'a changed row is merged before its sources and progress are read',
    file: 'warehouse/merge/listing-page.js',
    from: 'waits: one.replaces && refreshed.has(one.survey.id)',
    to: 'waits: false',
  },
  {
    name: 'a slot is free as soon as the answer is there',
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
    name: 'a retry goes around the limiter',
    file: 'http/client.js',
    from: 'const outcome = await this.#limiter.run((slot) => this.#send(slot, errand), waitSignal);',
    to: 'const outcome = attempts === 0 ? await this.#limiter.run((slot) => this.#send(slot, errand), waitSignal) : await this.#send({ sending() {}, answered() {}, neverSent() {} }, errand);',
  },
  {
    name: 'a task is ended although its refresh failed',
    file: 'warehouse/merge/bundles.js',
    from: 'const ended = idsOf(outcomes.filter(isDone));',
    to: "const ended = idsOf(outcomes.filter(({ kind }) => kind !== 'oversized'));",
  },
  {
    name: 'a partial run exits 0',
    file: 'sync/outcome.js',
    from: 'const codes = ends.map(({ exitCode }) => exitCode);',
    to: 'const codes = ends.map(({ exitCode }) => exitCode).filter((code) => code !== 3);',
  },
  {
    name: 'rejected rows are nothing to speak of',
    file: 'sync/outcome.js',
    from: 'rejectedRows > rules.limits.rejectedRowsMax',
    to: 'rejectedRows > 1e9',
  },
  {
    name: 'a publish that failed is not recorded',
    file: 'sync/publish.js',
    from: 'return await recordUnpublished(options, published, error);',
    to: 'return { ...worstOf(reports), accounts: reports, published, publishError: error.message };',
  },
  {
    name: 'what a commit throws is passed over',
    file: 'warehouse/connection/database.js',
    from: `await sql.run('COMMIT');`,
    to: `await sql.run('COMMIT').catch(() => undefined);`,
  },
  {
    name: 'the cursor is saved before the rows of the last page',
    file: 'warehouse/merge/listing-page.js',
    from: `    const merged = await mergeListedSurveys(sql, account, page);
    await rememberListed(sql, account, page);
    const notListed = page.nextPage === null ? await completeListing(sql, account, page) : 0;`,
    to: `    await rememberListed(sql, account, page);
    const notListed = page.nextPage === null ? await completeListing(sql, account, page) : 0;
    await sql.run('COMMIT');
    await sql.run('BEGIN TRANSACTION');
    const merged = await mergeListedSurveys(sql, account, page);`,
  },
  {
    name: 'a task is ended before its rows are committed',
    file: 'warehouse/merge/bundles.js',
    from: '    const counts = {\n        surveys: await mergePending(sql, account, outcomes),',
    to: `    await endTasks(sql, account, outcomes);
    await sql.run('COMMIT');
    await sql.run('BEGIN TRANSACTION');
    const counts = {
        surveys: await mergePending(sql, account, outcomes),`,
  },
  {
    name: 'a survey that has gone is not marked',
    file: 'warehouse/queue/listing.js',
    from: `const notListed = listing.kind === 'full' ?`,
    to: `const notListed = listing.kind === 'none' ?`,
  },
  {
    name: 'a stored time that lies ahead is believed',
    file: 'model/believed.js',
    from: 'at === null || at > now ? null : at',
    to: 'at',
  },
  {
    name: 'a 404 of its own address is the end of a survey',
    file: 'sync/bundle/bundle.js',
    from: `task.reason === 'missing' && attempt.refusals.areAllNotFound()`,
    to: `attempt.refusals.all().every(({ kind }) => kind === 'not_found')`,
  },
  {
    name: 'what is locked is taken for damaged, and an older state for it',
    file: 'warehouse/lifecycle/rebuild.js',
    from: '!isDamage(error)',
    to: 'false',
  },
  {
    name: 'a 403 of one survey ends the run of its account',
    file: 'sync/refresh.js',
    from: '!error.endsRun && !signal.aborted',
    to: `!error.endsRun && !/ 403/.test(error.message) && !signal.aborted`,
  },
  {
    name: 'versions in history are dated with our own clock',
    file: 'survey-api/answer.js',
    from: 'readAt: serverDate ?? instantFromMs(clock.nowMs())',
    to: 'readAt: instantFromMs(clock.nowMs() - 86_400_000)',
  },
]

const { values } = parseArgs({
  options: {
    only: { type: 'string' },
    seeds: { type: 'string', default: '200' },
    /** Only look whether every mutation finds its place in the code. */
    dry: { type: 'boolean', default: false },
    /** Every `shards`-th mutation, from `shard` on: for several of these at once. */
    shard: { type: 'string', default: '0' },
    shards: { type: 'string', default: '1' },
  },
})

const built = join(dirname(fileURLToPath(import.meta.url)), '..', '..')

/** The file as it would be; throws where the text to replace does not stand there once. */
const mutated = (root: string, { name, file, from, to }: Mutation): string => {
  const pieces = readFileSync(join(root, 'src', file), 'utf8').split(from)
  if (pieces.length !== 2)
    throw new Error(`"${name}": ${pieces.length - 1} places in ${file} read ${JSON.stringify(from)}, not 1`)
  return pieces.join(to)
}

/** The first seed that fails; null when none does. */
const caughtAt = (mutation: Mutation): { readonly seed: string; readonly how: string } | null => {
  const project = mkdtempSync(join(tmpdir(), 'fieldwork-mutant-'))
  try {
    const root = join(project, '.simulation')
    cpSync(built, root, { recursive: true })
    cpSync(join(built, '..', 'package.json'), join(project, 'package.json'))
    symlinkSync(join(built, '..', 'node_modules'), join(project, 'node_modules'))
    writeFileSync(join(root, 'src', mutation.file), mutated(root, mutation))
    const main = join(root, 'test', 'simulation', 'main.js')
    const given = ['--seeds', values.seeds, '--jobs', '1', '--quick']
    const { stdout } = spawnSync(process.execPath, [main, ...given], { encoding: 'utf8' })
    const [, seed] = /--seed (\d+)/.exec(stdout) ?? []
    return seed === undefined ? null : { seed, how: stdout.split('\n')[1]?.trim() ?? '' }
  } finally {
    rmSync(project, { recursive: true, force: true })
  }
}

let missed = 0
const wanted = MUTATIONS.filter(
  ({ name }, place) =>
    name.includes(values.only ?? '') && place % Number(values.shards) === Number(values.shard),
)
for (const mutation of wanted) mutated(built, mutation)
for (const mutation of values.dry ? [] : wanted) {
  const caught = caughtAt(mutation)
  if (caught === null) missed += 1
  const verdict =
    caught === null ? 'NOT CAUGHT' : `caught at seed ${caught.seed}: ${caught.how.slice(0, 140)}`
  process.stdout.write(`${mutation.name}: ${verdict}\n`)
}
process.exitCode = missed === 0 ? 0 : 1
