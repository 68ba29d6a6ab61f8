import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { readableStack } from '../../../src/base/stack.js'

/** A compiled module, and a text of one of its lines. */
const COMPILED = new URL('../../../dist/commands/report-error.js', import.meta.url)
const TEXT = 'please report it'

const lineWith = (file: URL): number =>
  readFileSync(file, 'utf8')
    .split('\n')
    .findIndex((line) => line.includes(TEXT)) + 1

test('a stack of compiled modules names the lines of src', () => {
  const stack = `UsageError: wrong\n    at run (${COMPILED.href}:${lineWith(COMPILED)}:10)\n    at node:internal/modules/run_main:117:5`
  const source = new URL('../../../src/commands/report-error.ts', import.meta.url)
  expect(readableStack(stack).replace(/:\d+\)/, ')')).toBe(
    `UsageError: wrong\n    at run (src/commands/report-error.ts:${lineWith(source)})\n    at node:internal/modules/run_main:117:5`,
  )
})

test('a stack stays as it is where there is no source map', () => {
  const absent = new URL('absent.js', COMPILED).href
  const stack = `Error: x\n    at a (${absent}:1:1)\n    at b (file:///nowhere/b.js:2:3)`
  expect(readableStack(stack)).toBe(stack)
})
