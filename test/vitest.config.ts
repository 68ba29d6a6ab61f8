import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** What mostly waits (rate windows) goes first, so that the other worker has something to do meanwhile. */
const WAITING = ['cap.test.ts', 'restart.test.ts', 'signals.test.ts', 'budget.test.ts']

class WaitingFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files)
    const waits = ({ moduleId }: TestSpecification) =>
      WAITING.some((name) => moduleId.endsWith(`/e2e/${name}`))
    return [...sorted.filter(waits), ...sorted.filter((file) => !waits(file))]
  }
}

export default defineConfig({
  test: {
    root: new URL('..', import.meta.url).pathname,
    include: ['test/**/*.test.ts'],
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // One more than the cores that are assumed: much of the suite waits for rate windows.
    maxWorkers: 3,
    // Files keep nothing behind: a worker that loads DuckDB and the rooms once serves them all.
    isolate: false,
    sequence: { sequencer: WaitingFirst },
    reporters: ['default'],
  },
})
