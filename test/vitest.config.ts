import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/**
 * Files that mostly wait for rate windows run early, so that the other workers have work meanwhile, and alternate with files that
 * take CPU. The one file that takes most of a minute of CPU also runs early: at the end it would leave the other core idle.
 */
const FIRST = [
  'e2e/cap',
  'simulation/simulation',
  'e2e/bucket',
  'e2e/report',
  'e2e/restart',
  'e2e/refusals',
  'e2e/verify-ends',
  'docs/json-outputs',
  'e2e/check-and-status',
  'publish/duckdb',
  'lifecycle/open',
  'rate-limit/shared/shared-cap',
  'bucket/publisher',
  'publish/parquet/versions',
  'e2e/budget',
  'e2e/signals',
  'publish/parquet/restore',
  'rate-limit/rate-limiter-cap',
  'commands/sync/run-accounts',
  'docs/tutorial',
  'e2e/exit-codes',
  'reference-server/rate-limit',
]

// Servers of tests listen on loopback, which the user's proxy cannot reach. Without this, curl, Python and our code would use it.
for (const name of ['HTTPS_PROXY', 'HTTP_PROXY', 'ALL_PROXY', 'NO_PROXY']) {
  delete process.env[name]
  delete process.env[name.toLowerCase()]
}

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files)
    const first = FIRST.flatMap((name) =>
      sorted.filter(({ moduleId }) => moduleId.endsWith(`/${name}.test.ts`)),
    )
    return [...first, ...sorted.filter((file) => !first.includes(file))]
  }
}

export default defineConfig({
  test: {
    root: new URL('..', import.meta.url).pathname,
    include: ['test/**/*.test.ts'],
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // One more than the assumed two cores, because some of the suite waits for rate windows.
    maxWorkers: 3,
    // Test files leave no state behind, so a worker loads DuckDB and our modules once for all of them.
    isolate: false,
    // Larger young generations: the whole suite took 175 and 177 s with them, and 188 s without.
    execArgv: ['--max-semi-space-size=64', '--min-semi-space-size=32'],
    sequence: { sequencer: LongestFirst },
    reporters: ['default'],
  },
})
