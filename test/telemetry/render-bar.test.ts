/** The bar as a table: state and width in, one line out. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { BarState } from '../../src/telemetry/bar-state.js'
import { etaMs, renderBar } from '../../src/telemetry/render-bar.js'

const state = (changes: Partial<BarState>): BarState => ({
  phase: 'refreshing',
  page: 3,
  pages: 12,
  surveysListed: 150,
  done: 43,
  left: 169,
  requestsLeft: 507,
  format: null,
  slotsInUse: 37,
  rate: { requests: 60, perMs: 60_000 },
  frozenForMs: null,
  ...changes,
})

test.each<[string, Partial<BarState>, number, string]>([
  ['nothing yet', { phase: 'starting', rate: null }, 80, 'starting'],
  ['a listing', { phase: 'listing' }, 80, 'listing page 3 of 12, 150 surveys | 37/60 requests/min'],
  [
    'a listing of unknown length',
    { phase: 'listing', pages: 0 },
    80,
    'listing page 3, 150 surveys | 37/60 requests/min',
  ],
  [
    'a listing that grew',
    { phase: 'listing', page: 13 },
    80,
    'listing page 13 of 13, 150 surveys | 37/60 requests/min',
  ],
  [
    'a refresh',
    {},
    120,
    'refreshing 43/212 (20%) | about 8 min 04 s left | 37/60 requests/min | [####--------------------]',
  ],
  [
    'a refresh, narrower: no bar',
    {},
    80,
    'refreshing 43/212 (20%) | about 8 min 04 s left | 37/60 requests/min',
  ],
  ['a refresh, narrower still: no requests', {}, 60, 'refreshing 43/212 (20%) | about 8 min 04 s left'],
  ['a refresh, narrow', {}, 30, 'refreshing 43/212 (20%)'],
  ['a refresh, too narrow', {}, 12, 'refreshing …'],
  ['no width', {}, 0, ''],
  [
    'a freeze',
    { frozenForMs: 41_200 },
    70,
    'refreshing 43/212 (20%) | waiting 42 s: the API asked to slow down',
  ],
  ['a freeze, too narrow', { frozenForMs: 41_200 }, 40, 'refreshing 43/212 (20%) | waiting 42 s:…'],
  [
    'all but one',
    { done: 999, left: 1, requestsLeft: 4, slotsInUse: 0 },
    120,
    'refreshing 999/1,000 (99%) | about 0 ms left | 0/60 requests/min | [#######################-]',
  ],
  ['the end of a refresh', { left: 0, requestsLeft: 0 }, 60, 'refreshing 43/43 (100%) | 37/60 requests/min'],
  ['nothing to refresh', { done: 0, left: 0 }, 30, 'refreshing 0/0 (100%)'],
  ['a publish', { phase: 'publishing', format: 'duckdb' }, 80, 'publishing duckdb'],
  [
    'another window',
    { phase: 'listing', rate: { requests: 9, perMs: 10_000 } },
    80,
    'listing page 3 of 12, 150 surveys | 37/9 requests/10 s',
  ],
])('%s', (_, changes, columns, line) => {
  expect(renderBar(state(changes), columns)).toBe(line)
})

describe('the time left at the cap', () => {
  test.each<[Partial<BarState>, number]>([
    [{ requestsLeft: 23, slotsInUse: 37 }, 0],
    [{ requestsLeft: 24, slotsInUse: 37 }, 1_000],
    [{ requestsLeft: 120, slotsInUse: 60 }, 120_000],
    [{ requestsLeft: 120, slotsInUse: 60, frozenForMs: 5_000 }, 125_000],
    [{ requestsLeft: 120, rate: null }, 0],
  ])('%j is %d ms', (changes, expected) => {
    expect(etaMs(state(changes))).toBe(expected)
  })
})

test('no state is drawn wider than the terminal, or on two lines', () => {
  const count = fc.nat({ max: 10_000_000 })
  fc.assert(
    fc.property(
      fc.constantFrom<BarState['phase']>('starting', 'listing', 'refreshing', 'publishing'),
      count,
      count,
      fc.option(count),
      fc.integer({ min: 0, max: 200 }),
      (phase, done, left, frozenForMs, columns) => {
        const line = renderBar(state({ phase, done, left, requestsLeft: left, frozenForMs }), columns)
        expect(line.length).toBeLessThanOrEqual(columns)
        expect(line).not.toMatch(/[\r\n]|NaN|Infinity/)
      },
    ),
  )
})
