import { defineConfig } from 'vitest/config'

/** Tests that install packages from the registry. They take minutes and are not part of `npm test`. */
export default defineConfig({
  test: {
    root: new URL('..', import.meta.url).pathname,
    include: ['test/**/*.slow.ts'],
    testTimeout: 600_000,
    hookTimeout: 600_000,
    maxWorkers: 1,
    reporters: ['default'],
  },
})
