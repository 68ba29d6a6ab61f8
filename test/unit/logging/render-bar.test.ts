/** Tables for the progress bar: each state and width gives one line. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { AccountState, BarState } from '../../../src/logging/render-bar.js'
import { etaMs, renderBar } from '../../../src/logging/render-bar.js'

const account = (changes: Partial<AccountState> = {}): AccountState => ({
  account: 'acme',
  phase: 'refreshing',
  page: 3,
  pages: 12,
  surveysListed: 150,
  done: 43,
  left: 169,
  requestsLeft: 507,
  slotsInUse: 37,
  rate: { requests: 60, perMs: 60_000 },
  wait: null,
  quietMs: 500,
  ...changes,
})

const QUIET = { format: null, waiting: null } as const

const one = (changes: Partial<AccountState>): BarState => ({ ...QUIET, accounts: [account(changes)] })
const several = (...accounts: readonly Partial<AccountState>[]): BarState => ({
  ...QUIET,
  accounts: accounts.map(account),
})

const LEFT = 'about 8 min 04 s left'
const REQUESTS = '37/60 requests/min'
const BAR = '[####--------------------]'
const WAITING = 'waiting 42 s: the API asked to slow down'

test.each<[string, Partial<AccountState>, number, string]>([
  ['the start', { phase: 'starting', rate: null }, 80, 'starting'],
  ['a listing', { phase: 'listing' }, 80, `listing page 3 of 12, 150 surveys | ${REQUESTS}`],
  [
    'a listing of unknown length',
    { phase: 'listing', pages: 0 },
    80,
    `listing page 3, 150 surveys | ${REQUESTS}`,
  ],
  [
    'a listing that grew',
    { phase: 'listing', page: 13 },
    80,
    `listing page 13 of 13, 150 surveys | ${REQUESTS}`,
  ],
  ['a refresh', {}, 120, `refreshing 43/212 (20%) | ${LEFT} | ${REQUESTS} | ${BAR}`],
  ['a refresh at 80 columns, without the bar', {}, 80, `refreshing 43/212 (20%) | ${LEFT} | ${REQUESTS}`],
  ['a refresh at 60 columns, without the requests', {}, 60, `refreshing 43/212 (20%) | ${LEFT}`],
  ['a refresh at 30 columns, without the time', {}, 30, 'refreshing 43/212 (20%)'],
  ['a refresh at 12 columns, cut off', {}, 12, 'refreshing …'],
  ['a terminal without width', {}, 0, ''],
  ['a pause', { wait: { why: 'refused', forMs: 41_200 } }, 70, `refreshing 43/212 (20%) | ${WAITING}`],
  [
    'a pause at 40 columns, cut off',
    { wait: { why: 'refused', forMs: 41_200 } },
    40,
    'refreshing 43/212 (20%) | waiting 42 s:…',
  ],
  [
    'an outage',
    { wait: { why: 'outage', sinceMs: 130_000, forMs: 769_100 } },
    90,
    'refreshing 43/212 (20%) | no answer for 2 min 10 s, waiting 12 min 50 s more',
  ],
  [
    'a refresh at the cap',
    { wait: { why: 'cap', forMs: 41_200 }, slotsInUse: 60 },
    79,
    'refreshing 43/212 (20%) | about 8 min 27 s left | waits 42 s for the cap',
  ],
  [
    'a listing whose page failed',
    { phase: 'listing', wait: { why: 'retry', forMs: 4_820 } },
    79,
    `listing page 3 of 12, 150 surveys | waits 5 s to try again | ${REQUESTS}`,
  ],
  [
    'a short wait for the cap',
    { phase: 'listing', wait: { why: 'cap', forMs: 900 } },
    79,
    `listing page 3 of 12, 150 surveys | ${REQUESTS}`,
  ],
  [
    'a refresh with one survey left',
    { done: 999, left: 1, requestsLeft: 4, slotsInUse: 0 },
    120,
    'refreshing 999/1,000 (99%) | 0/60 requests/min | [#######################-]',
  ],
  [
    'a refresh whose last answer does not come',
    { done: 999, left: 1, requestsLeft: 4, slotsInUse: 0, quietMs: 11_500 },
    100,
    'refreshing 999/1,000 (99%) | no answer for 12 s | 0/60 requests/min | [#######################-]',
  ],
  [
    'a listing that hangs',
    { phase: 'listing', quietMs: 30_000 },
    80,
    `listing page 3 of 12, 150 surveys | no answer for 30 s | ${REQUESTS}`,
  ],
  ['the end of a refresh', { left: 0, requestsLeft: 0 }, 60, 'refreshing 43/43 (100%) | 37/60 requests/min'],
  ['nothing to refresh', { done: 0, left: 0 }, 30, 'refreshing 0/0 (100%)'],
  [
    'another window',
    { phase: 'listing', rate: { requests: 9, perMs: 10_000 } },
    80,
    'listing page 3 of 12, 150 surveys | 37/9 requests/10 s',
  ],
])('one account: %s', (_, changes, columns, line) => {
  expect(renderBar(one(changes), columns)).toBe(line)
})

describe('the time left at the cap', () => {
  test.each<[Partial<AccountState>, number]>([
    [{ requestsLeft: 23, slotsInUse: 37 }, 0],
    [{ requestsLeft: 24, slotsInUse: 37 }, 1_000],
    [{ requestsLeft: 120, slotsInUse: 60 }, 120_000],
    [{ requestsLeft: 120, slotsInUse: 60, wait: { why: 'refused', forMs: 5_000 } }, 125_000],
    [{ requestsLeft: 120, rate: null }, 0],
  ])('for %j is %d ms', (changes, expected) => {
    expect(etaMs(account(changes))).toBe(expected)
  })
})

const LISTING = { phase: 'listing', done: 0, left: 0, requestsLeft: 0 } as const
const STARTING = { ...LISTING, phase: 'starting', rate: null } as const

test.each<[string, BarState, number, string]>([
  ['a publish', { ...QUIET, format: 'duckdb', accounts: [account()] }, 80, 'publishing duckdb'],
  [
    'a bucket that the last run has not released',
    { ...QUIET, waiting: { what: 'the bucket', forMs: 41_200 }, accounts: [account()] },
    80,
    'waiting 42 s for the bucket',
  ],
  ['no account', { ...QUIET, accounts: [] }, 80, 'starting'],
  ['the start', several(STARTING, STARTING), 80, 'starting | 0/2 accounts done'],
  [
    'listings',
    several(LISTING, { ...LISTING, phase: 'starting', surveysListed: 0 }),
    80,
    'listing, 150 surveys | 0/2 accounts done | 74/120 requests/min',
  ],
  [
    'refreshes, with the time that the longest of them takes',
    several({ requestsLeft: 23 }, { requestsLeft: 143 }, LISTING),
    120,
    `refreshing 86/424 (20%) | about 2 min 00 s left | 0/3 accounts done | 111/180 requests/min | ${BAR}`,
  ],
  [
    'refreshes in 80 columns',
    several({}, {}, {}),
    79,
    `refreshing 129/636 (20%) | ${LEFT} | 0/3 accounts done`,
  ],
  ['refreshes in 40 columns', several({}, {}, {}), 39, 'refreshing 129/636 (20%)'],
  [
    'one in a pause and one failed, in 80 columns',
    several(
      { wait: { why: 'refused', forMs: 41_200 } },
      { account: 'globex', phase: 'failed' },
      { account: 'initech' },
    ),
    79,
    'refreshing 129/636 (20%) | globex failed | acme waits 42 s (429)',
  ],
  [
    'one without an answer',
    several({ wait: { why: 'outage', sinceMs: 20_000, forMs: 41_200 } }, { account: 'initech' }),
    79,
    `refreshing 86/424 (20%) | acme waits 42 s (no answer) | ${LEFT}`,
  ],
  [
    'all at the cap, with the time until the next request',
    several(
      { requestsLeft: 23, wait: { why: 'cap', forMs: 9_000 } },
      { requestsLeft: 23, wait: { why: 'retry', forMs: 4_000 } },
      { phase: 'ended', done: 0, left: 0 },
    ),
    79,
    'refreshing 86/424 (20%) | waits 4 s to try again | 1/3 accounts done',
  ],
  [
    'several failed',
    several({ phase: 'failed' }, { phase: 'failed' }, { phase: 'failed' }, { phase: 'ended' }),
    120,
    'refreshing 172/848 (20%) | 3 accounts failed | 4/4 accounts done | 148/240 requests/min | [####--------------------]',
  ],
  [
    'caps over different windows, which are not added up',
    several({}, { rate: { requests: 9, perMs: 10_000 }, requestsLeft: 0 }),
    120,
    'refreshing 86/424 (20%) | about 8 min 04 s left | 0/2 accounts done | [####--------------------]',
  ],
  [
    'one done and one listing',
    several({ phase: 'ended', done: 0, left: 0 }, LISTING),
    80,
    'listing, 300 surveys | 1/2 accounts done | 74/120 requests/min',
  ],
])('several accounts: %s', (_, state, columns, line) => {
  expect(renderBar(state, columns)).toBe(line)
})

test('every state fits on one line of the terminal', () => {
  const count = fc.nat({ max: 10_000_000 })
  const anyAccount = fc
    .record({
      account: fc.constantFrom('acme', 'a-name-of-an-account-that-goes-on-and-on-to-the-64th-character-x'),
      phase: fc.constantFrom<AccountState['phase']>('starting', 'listing', 'refreshing', 'ended', 'failed'),
      done: count,
      left: count,
      requestsLeft: count,
      wait: fc.option(fc.record({ why: fc.constantFrom('refused', 'cap', 'retry'), forMs: count })),
    })
    .map((changes) => account(changes))
  fc.assert(
    fc.property(
      fc.array(anyAccount, { maxLength: 5 }),
      fc.integer({ min: 0, max: 200 }),
      (accounts, columns) => {
        const line = renderBar({ ...QUIET, accounts }, columns)
        expect(line.length).toBeLessThanOrEqual(columns)
        expect(line).not.toMatch(/[\r\n]|NaN|Infinity/)
      },
    ),
  )
})
