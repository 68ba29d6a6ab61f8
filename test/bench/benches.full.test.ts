/** The benchmarks run with little data, and only the form of their output is checked. */
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

const cwd = fileURLToPath(new URL('../..', import.meta.url))

test.each([
  ['growth', /^all read again, none changed .*\d$/m],
  ['export', /^export, CSV from Parquet .*\d$/m],
  ['nights', /^ +300 +300 changed .*\d$/m],
  ['report', /^60 +60 +[\d.]+ +[\d.]+ +\d+ +[\d.]+$/m, ['60']],
  ['years', /^verify --local, CPU s +[\d.]+ +[\d.]+ x$/m, ['1', '--surveys', '10']],
  ['views', /^record_changes +\d+ +[\d.]+ +[\d.]+$/m, ['20']],
  ['size', /^300 +6 +[\d.]+/m],
  ['blocks', /^500 read: surveys +[\d.]+ +[\d.]+ +\d+ +[\d.]+$/m],
  ['server', /^fieldwork_progress, first time +300 /m],
  ['floor', /^ {2}bare +[\d.]+ +\d+$/m],
  ['start', /^sync +\d+ +\d+ +[\d.]+ x +[\d.]+ x$/m, ['1']],
  [
    'budgets',
    /^a night with nothing to do, CPU +[\d.]+ s +0.5 s/m,
    ['--only', 'fan-out', '--divide', '50', '--repeat', '1'],
  ],
])('bench %s runs and prints its table', async (name, prints, args = ['300']) => {
  const { stdout } = await promisify(execFile)(process.execPath, ['test/bench/bench.mjs', name, ...args], {
    cwd,
  })
  expect(stdout).toMatch(prints)
})
