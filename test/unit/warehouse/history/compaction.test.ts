/** Compaction of old progress history: which rows stay, how it is recorded, and that each day looks the same afterwards. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { formatInstant, type Instant } from '../../../../src/model/instant.js'
import { compactBefore } from '../../../../src/rules/history.js'
import { accountWarehouse } from '../../../../src/warehouse/account-warehouse.js'
import { ALL_CASES, cases, howMany } from '../../../support/suite/cases.js'
import { hourOf as at, instantOf, minute } from '../../../support/time/instants.js'
import { bundle, list, progress, RUN, source, survey } from '../../../support/warehouse/rows.js'
import { sharedWarehouse, testWarehouse } from '../../../support/warehouse/warehouse.js'

const emptyWarehouse = sharedWarehouse()

const OBSERVED = `SELECT interviews_count, strftime(timezone('UTC', observed_at), '%d %H:%M') FROM survey_progress_history
  ORDER BY account, survey_id, observed_at`

test('keeps the last observation of each day before the limit and all later ones; a second time removes nothing', async () => {
  const { account, cells, expectRows } = await emptyWarehouse()
  // The readings belong to the days 1, 1, 2, 3, 3, 4 and 4 of March.
  const hours = [at(1, 18), at(1, 19), at(2, 23.9), at(3, 4), at(3, 5), at(4, 8), at(4, 9)]
  for (const [before, hour] of hours.entries())
    await account.commitBundles([bundle(1, hour, [source(10)], progress(before + 1))], RUN)
  const stamp = { runId: 'run-2', at: at(40, 0) }
  // Days 1 and 3 lose one observation each, for the survey and for its source.
  expect(await account.compactProgress(at(4, 0), stamp)).toBe(4)
  expect(await cells(OBSERVED)).toEqual([
    [2, '01 19:00'],
    [3, '02 23:54'],
    [5, '03 05:00'],
    [6, '04 08:00'],
    [7, '04 09:00'],
  ])
  expect(await account.compactProgress(at(4, 0), { runId: 'run-3', at: at(41, 0) })).toBe(0)
  await expectRows('SELECT * FROM _sync.compactions', [
    {
      account: 'acme',
      compacted_before: '2026-03-04T00:00:00Z',
      rows_removed: 4,
      last_run_id: 'run-2',
      last_compacted_at: '2026-04-09T00:00:00Z',
    },
  ])
  // The first observation of day 3 is gone. So the previous one is known to hold only until midnight, not until 04:00.
  expect(
    await cells(
      `SELECT interviews_count, strftime(timezone('UTC', confirmed_until), '%d %H:%M') FROM survey_progress_periods ORDER BY observed_at`,
    ),
  ).toEqual([
    [2, '02 00:00'],
    [3, '03 00:00'],
    [5, '04 08:00'],
    [6, '04 09:00'],
    [7, '04 09:00'],
  ])
})

test('compacts one account by itself, and keeps the current indicators in history', async () => {
  const { account, database, cells } = await emptyWarehouse()
  const other = accountWarehouse(database, 'bolt')
  for (const one of [account, other])
    for (const complete of [1, 2])
      await one.commitBundles([bundle(1, at(1, 17 + complete), [source(10)], progress(complete))], RUN)
  expect(await other.compactProgress(at(9, 0), { runId: RUN, at: at(9, 0) })).toBe(2)
  expect(await cells(OBSERVED)).toEqual([
    [1, '01 18:00'],
    [2, '01 19:00'],
    [2, '01 19:00'],
  ])
})

test('leaves history unchanged when it fails half way', async () => {
  const { account, cells, run } = await testWarehouse()
  for (const hour of [18, 19])
    await account.commitBundles([bundle(1, at(1, hour), [source(10)], progress(hour))], RUN)
  // The record cannot be written. At that moment both histories have been thinned out.
  await run('ALTER TABLE _sync.compactions ALTER COLUMN last_run_id TYPE INTEGER')
  await expect(account.compactProgress(at(9, 0), { runId: 'not a number', at: at(9, 0) })).rejects.toThrow()
  expect(await cells(OBSERVED)).toEqual([
    [18, '01 18:00'],
    [19, '01 19:00'],
  ])
})

/** An event of a survey at one moment: it is read with so many interviews, it is gone, or it is not read. */
type SurveyEvent = number | 'gone' | 'nothing'
interface Step {
  readonly afterMinutes: number
  readonly events: readonly SurveyEvent[]
}

const SURVEYS = 8

const step: fc.Arbitrary<Step> = fc.record({
  // Often within a day, sometimes days later, sometimes exactly at midnight.
  afterMinutes: fc.oneof(
    fc.integer({ min: 1, max: 700 }),
    fc.constantFrom(1440, 2880),
    fc.integer({ min: 1000, max: 5000 }),
  ),
  events: fc.array(
    fc.oneof(
      { weight: 5, arbitrary: fc.nat({ max: 2 }) },
      fc.constantFrom('gone' as const, 'nothing' as const),
    ),
    { minLength: SURVEYS, maxLength: SURVEYS },
  ),
})

test('progress_daily equals a plain calculation from the events, before and after any compaction', async () => {
  let removed = 0
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { minLength: 5, maxLength: howMany(5, 10) }),
      fc.nat({ max: 12 }),
      fc.integer({ min: 6, max: 12 }),
      // From which step on each survey is complete: also from the first one on, and never.
      fc.array(fc.nat({ max: 10 }), { minLength: SURVEYS, maxLength: SURVEYS }),
      async (steps, firstDay, secondDay, closing) => {
        const { account, rows, cells } = await emptyWarehouse()
        const daily = () => rows('SELECT * FROM progress_daily ORDER BY survey_id, "day"')
        await apply(account, steps, closing)
        const before = await daily()
        expect(
          await cells(`SELECT survey_id, "day"::VARCHAR, interviews_count FROM progress_daily ORDER BY ALL`),
        ).toEqual(expectedDays(steps, closing))
        for (const day of [firstDay, secondDay])
          removed += await account.compactProgress(at(day, 0), { runId: RUN, at: at(30, 0) })
        expect(await daily()).toEqual(before)
      },
    ),
    cases(1, 20),
  )
  // One random history may have nothing to remove.
  if (ALL_CASES) expect(removed).toBeGreaterThan(0)
})

/** The moments of the steps: the first one is a midnight. */
const moments = (steps: readonly Step[]): readonly Instant[] => {
  let minutes = 0
  return steps.map(({ afterMinutes }, index) => {
    minutes += index === 0 ? 0 : afterMinutes
    return minute(minutes)
  })
}

const apply = async (
  account: ReturnType<typeof accountWarehouse>,
  steps: readonly Step[],
  closing: readonly number[],
): Promise<void> => {
  const closedAt = closedTimes(steps, closing)
  for (const [index, now] of moments(steps).entries()) {
    const events = (steps[index]?.events ?? []).map((event, survey) => ({ id: survey + 1, event }))
    const read = events.flatMap(({ id, event }) =>
      typeof event === 'number' ? [{ id, complete: event }] : [],
    )
    await list(
      account,
      read.map(({ id }) => {
        const closed = closedAt[id - 1]
        return closed === undefined || closed > now
          ? survey(id)
          : survey(id, { status: 'complete', updated_at: closed })
      }),
      now,
    )
    await account.commitBundles(
      [
        ...read.map(({ id, complete }) => bundle(id, now, [source(id * 10)], progress(complete))),
        ...events.flatMap(({ id, event }) =>
          event === 'gone' ? [{ kind: event, surveyId: id, at: now }] : [],
        ),
      ],
      RUN,
    )
  }
}

/** When each survey was closed, if its step comes. */
const closedTimes = (
  steps: readonly Step[],
  closing: readonly number[],
): readonly (Instant | undefined)[] => {
  const times = moments(steps)
  return closing.map((step) => times[step])
}

/**
 * A reading belongs to the day of the middle between it and the event before, at most half a day before it. Each day shows its last
 * reading; days between two equal readings show both. The days of a closed survey end with the last one on which it changed or was modified.
 */
const expectedDays = (steps: readonly Step[], closing: readonly number[]): unknown[][] => {
  const times = moments(steps)
  const closedAt = closedTimes(steps, closing)
  return Array.from({ length: SURVEYS }, (_, index) => index).flatMap((index) => {
    const events = times.flatMap((time, at) => {
      const event = steps[at]?.events[index] ?? 'nothing'
      return event === 'nothing' ? [] : [{ time, event }]
    })
    const closed = closedAt[index]
    const isKnown = events.some(
      ({ time, event }) => typeof event === 'number' && time >= (closed ?? time + 1n),
    )
    return [...daysOf(events, isKnown && closed !== undefined ? closed / DAY : null)]
      .sort(([one], [other]) => Number(one - other))
      .map(([day, complete]) => [index + 1, formatInstant(day * DAY).slice(0, 10), complete])
  })
}

/** The days of one survey, numbered since 1970, with what each shows. `closedOn`: the day on which it was closed. */
const daysOf = (
  events: readonly { readonly time: Instant; readonly event: number | 'gone' }[],
  closedOn: bigint | null,
) => {
  const days = new Map<bigint, number>()
  const last: { held: { readonly day: bigint; readonly complete: number } | null; changedOn: bigint } = {
    held: null,
    changedOn: 0n,
  }
  for (const [position, { time, event }] of events.entries()) {
    const before = events[position - 1]?.time ?? time - DAY
    const day = (time - (time - before > DAY ? DAY : time - before) / 2n) / DAY
    if (event === 'gone') {
      last.held = null
      continue
    }
    if (last.held?.complete === event) {
      // A reading that shows no change says something about days of which half has passed.
      for (let next = last.held.day + 1n; next <= (time - DAY / 2n) / DAY; next += 1n) days.set(next, event)
      continue
    }
    days.set(day, event)
    last.held = { day, complete: event }
    last.changedOn = day
  }
  if (closedOn !== null)
    for (const day of days.keys()) if (day > last.changedOn && day > closedOn) days.delete(day)
  return days
}

const DAY = 86_400_000_000n

test.each([
  ['2026-03-10T17:00:00Z', '2026-03-10T17:00:00Z', 3, '2026-03-07T00:00:00Z'],
  ['2026-03-10T00:00:00Z', '2026-03-10T00:00:00Z', 3, '2026-03-07T00:00:00Z'],
  ['2036-03-10T17:00:00Z', '2026-03-10T17:00:00Z', 3, '2026-03-07T00:00:00Z'],
  ['2026-03-10T17:00:00Z', '2036-03-10T17:00:00Z', 0, '2026-03-10T00:00:00Z'],
  ['2026-03-10T17:00:00Z', '2026-03-10T17:00:00Z', null, null],
  ['2026-03-10T17:00:00Z', '2026-03-10T17:00:00Z', 36_500, null],
])(
  'with server time %s, our clock %s and all rows kept for %s days, compacts before %s',
  (server, ours, days, expected) => {
    const before = compactBefore(instantOf(server), Date.parse(ours), {
      progress_keep_all_for: days === null ? null : days * 86_400_000,
    })
    expect(before === null ? null : formatInstant(before)).toBe(expected)
  },
)
