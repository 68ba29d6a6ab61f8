import { defineConfig } from 'vitest/config'

// Servers of tests listen on loopback, which the user's proxy cannot reach. Without this, curl, Python and our code would use it.
for (const name of ['HTTPS_PROXY', 'HTTP_PROXY', 'ALL_PROXY', 'NO_PROXY']) {
  delete process.env[name]
  delete process.env[name.toLowerCase()]
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
    reporters: ['default'],
  },
})
