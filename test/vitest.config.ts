import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'

// Servers of tests listen on loopback, which the user's proxy cannot reach. Without this, curl, Python and our code would use it.
for (const name of ['HTTPS_PROXY', 'HTTP_PROXY', 'ALL_PROXY', 'NO_PROXY']) {
  delete process.env[name]
  delete process.env[name.toLowerCase()]
}

/** What a mode leaves out: `npm test`, `.ci/run` and `npm run test:full`. */
const LEFT_OUT = new Map([
  ['test', ['test/**/*.{ci,full}.test.ts']],
  ['ci', ['test/**/*.full.test.ts']],
])

export default defineConfig(({ mode }) => {
  const isFull = mode === 'full'
  /** Far more than any test takes, so that none fails because the machine is busy. Only what hangs reaches it. */
  const limitMs = isFull ? 3_600_000 : 600_000
  return {
    test: {
      root: fileURLToPath(new URL('..', import.meta.url)),
      include: ['test/**/*.test.ts'],
      exclude: LEFT_OUT.get(mode) ?? [],
      setupFiles: ['test/support/suite/end-of-file.ts'],
      env: isFull ? { CASES: 'all' } : {},
      testTimeout: limitMs,
      hookTimeout: limitMs,
      expect: { poll: { timeout: limitMs } },
      // One more than the assumed two cores, because tests wait for rate windows and for processes that they start. Each worker loads the
      // modules and the command once more: a fourth took 4 s of CPU.
      maxWorkers: 3,
      // Test files leave no state behind, so a worker loads DuckDB and our modules once for all of them.
      isolate: false,
      // A heap that is seldom collected, and no threads of V8 beside the busy cores: these took 4 of 109 s.
      execArgv: [
        '--single-threaded',
        '--min-semi-space-size=64',
        '--max-semi-space-size=64',
        '--initial-old-space-size=1000',
      ],
      // The next run reads compiled modules from `node_modules` unless their text has changed: 5 of 16 s that all files take to load.
      experimental: { fsModuleCache: true },
      reporters: ['default'],
    },
  }
})
