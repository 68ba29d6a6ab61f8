/** The selection in SQL agrees with the rules: for any stored times, it selects the surveys that are due, and no others. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Instant } from '../../../../src/model/instant.js'
import { cursors, pendingSurveys } from '../../../../src/model/sync-tables.js'
import { freshness, sampleSources, surveyProgress, surveys } from '../../../../src/model/tables.js'
import { isActive, refreshReason } from '../../../../src/rules/refresh.js'
import { CASES_TIMEOUT_MS, cases } from '../../../support/suite/cases.js'
import { minute } from '../../../support/time/instants.js'
import { source, survey } from '../../../support/warehouse/rows.js'
import { REFRESH_RULES, selectedSurveys } from '../../../support/warehouse/run-dependencies.js'
import { testWarehouse } from '../../../support/warehouse/warehouse.js'

const DAY = 1_440
const NOW = 100 * DAY

/** Days before now, or soon after it: a clock was wrong. They are often at the bounds of the rules. */
const time = fc.oneof(
  fc.integer({ min: -1, max: 100 * DAY }),
  fc.integer({ min: 0, max: 400 }).map((quarters) => (quarters * DAY) / 4),
)
const maybe = (of: fc.Arbitrary<number>) => fc.option(of, { nil: null })
const stored = fc.record({
  status: fc.constantFrom('draft', 'user_demo', 'complete', 'fieldwork', 'pending', 'unheard_of'),
  changed: time,
  refreshed: maybe(time),
  firstRead: time,
  moved: time,
  missing: fc.boolean(),
  pending: maybe(time),
  listed: maybe(time),
  sourceChanged: maybe(time),
  queued: fc.boolean(),
})
const days = (min: number) => fc.integer({ min, max: 60 }).map((count) => count * DAY * 60_000)

test('a survey is selected if it is queued, due, or changed lately, and otherwise not, unless its row was edited since', {
  timeout: CASES_TIMEOUT_MS,
}, async () => {
  const { account, database, run } = await testWarehouse()
  const cursor = {
    account: 'acme',
    updated_since: minute(NOW),
    full_listed_at: minute(0),
    moved_at: minute(0),
  }
  await database.transaction((sql) => sql.insert(cursors, [cursor]))
  await fc.assert(
    fc.asyncProperty(
      fc.array(stored, { minLength: 1, maxLength: 40 }),
      fc.record({ settle_for: days(0), max_age: days(0) }),
      maybe(time),
      async (drawn, durations, since) => {
        for (const table of ['surveys', 'freshness', 'survey_progress', 'sample_sources'])
          await run(`DELETE FROM main.${table}`)
        for (const table of ['_sync.pending_surveys', '_sync.tasks']) await run(`DELETE FROM ${table}`)
        const before = (minutes: number): Instant => minute(NOW - minutes)
        const timeOf = (minutes: number | null) => (minutes === null ? null : before(minutes))
        const rows = drawn.map((one, at) => ({
          ...one,
          row: {
            account: 'acme',
            ...survey(at, {
              status: one.status,
              created_at: before(101 * DAY),
              updated_at: before(one.changed),
            }),
            _first_seen_at: minute(0),
            _synced_at: minute(0),
            _missing_since: one.missing ? minute(1) : null,
          },
        }))
        await database.transaction(async (sql) => {
          await sql.insert(
            surveys,
            rows.map(({ row }) => row),
          )
          await sql.insert(
            pendingSurveys,
            rows.flatMap(({ row, pending }) =>
              pending === null ? [] : [{ ...row, status: 'complete', updated_at: before(pending) }],
            ),
          )
          await sql.insert(
            freshness,
            rows.map(({ row, refreshed, listed }) => ({
              account: 'acme',
              survey_id: row.id,
              refreshed_at: refreshed === null ? null : before(refreshed),
              sources_read_at: listed === null ? null : before(listed),
            })),
          )
          await sql.insert(
            sampleSources,
            rows.flatMap(({ row, sourceChanged }) =>
              sourceChanged === null
                ? []
                : {
                    ...source(1, { updated_at: before(sourceChanged) }),
                    ...{ account: 'acme', survey_id: row.id, _missing_since: null },
                    ...{ _first_seen_at: minute(0), _synced_at: minute(0) },
                  },
            ),
          )
          await sql.insert(
            surveyProgress,
            rows.map(({ row, firstRead, moved }) => ({
              account: 'acme',
              survey_id: row.id,
              _first_seen_at: before(firstRead),
              _observed_at: before(moved),
            })),
          )
        })
        const queuedIds = rows.flatMap(({ row, queued }) => (queued ? [row.id] : []))
        await account.enqueue(
          queuedIds.map((surveyId) => ({ surveyId, reason: 'changed' as const })),
          { runId: 'run', at: minute(0) },
        )
        const rules = { ...REFRESH_RULES, ...durations }
        // SQL counts in microseconds and the rules in milliseconds, so it selects a survey that settles at this very moment.
        const atBounds = { ...rules, settle_for: rules.settle_for + 1 }
        const changeAlone = drawn.some(
          ({ status, missing, changed, pending, sourceChanged }) =>
            !missing &&
            !isActive(pending === null ? status : 'complete') &&
            sourceChanged !== null &&
            sourceChanged >= 0 &&
            (pending ?? changed) - sourceChanged > 1,
        )
        const expected = rows.flatMap(
          ({
            row,
            status,
            refreshed,
            listed,
            sourceChanged,
            firstRead,
            moved,
            missing,
            pending,
            queued,
            changed,
          }) => {
            const updated = pending ?? changed
            const facts = {
              id: row.id,
              status: pending === null ? status : 'complete',
              updatedAt: before(updated),
              statusSince: before(updated),
              refreshedAt: timeOf(refreshed),
              sourcesChangedAt: timeOf(sourceChanged),
              changeAlone,
              sourcesReadAt: timeOf(listed),
              progressChangedAt: moved < firstRead ? before(moved) : null,
              missing,
              leftOut: false,
            }
            const isRecent = since !== null && !missing && updated <= since
            return queued || isRecent || refreshReason(facts, minute(NOW), atBounds) !== null ? [row.id] : []
          },
        )
        const changedSince = since === null ? null : before(since)
        const selected = await selectedSurveys(account, { rules, at: minute(NOW), changedSince })
        expect(selected.map(({ id }) => id).toSorted((a, b) => a - b)).toEqual(expected)
        expect((await account.surveyTotals()).present).toBe(rows.filter(({ missing }) => !missing).length)
        const onlyQueued = await selectedSurveys(account, { rules, at: null, changedSince: null })
        expect(onlyQueued.map(({ id }) => id).toSorted((a, b) => a - b)).toEqual(queuedIds)
      },
    ),
    cases(8, 500),
  )
})
