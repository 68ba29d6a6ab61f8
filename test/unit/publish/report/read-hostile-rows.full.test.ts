/** A row that the tables accept never costs the report, however little of it the page can show. */

import fc from 'fast-check'
import { expect, test } from 'vitest'
import { z } from 'zod'
import type { Progress, SampleSource, Survey } from '../../../../src/model/fields.js'
import { INTERVIEW_STATUSES, SURVEY_STATUSES } from '../../../../src/model/fields.js'
import type { Instant } from '../../../../src/model/instant.js'
import { type ReportRows, readReport } from '../../../../src/publish/report/read.js'
import { renderReport } from '../../../../src/publish/report/render.js'
import { checkTables } from '../../../../src/verify/local/check-tables.js'
import { accountWarehouse } from '../../../../src/warehouse/account-warehouse.js'
import { readAccountStates } from '../../../../src/warehouse/history/account-states.js'
import { readStatus } from '../../../../src/warehouse/status.js'
import { ALL_VIEWS } from '../../../../src/warehouse/views/all.js'
import { anyText } from '../../../support/hostile/any-text.js'
import { DEFAULTS } from '../../../support/settings/settings-from-yaml.js'
import { minute } from '../../../support/time/instants.js'
import { bundle, list, progress, RUN, source, survey } from '../../../support/warehouse/rows.js'
import { sharedWarehouse, type TestWarehouse } from '../../../support/warehouse/warehouse.js'

const emptyWarehouse = sharedWarehouse()

const MOST = Number.MAX_SAFE_INTEGER
const YEAR_0 = BigInt(Date.UTC(2000, 0, 1)) * 1000n - 63_113_904_000_000_000n
const YEAR_9999 = BigInt(Date.UTC(9999, 11, 31, 23, 59, 59, 999)) * 1000n

const anyInteger = fc.oneof(
  fc.constantFrom(0, 1, -1, MOST, -MOST, MOST - 1, 2 ** 31, 2 ** 32, -(2 ** 31)),
  fc.integer({ min: 0, max: 500 }),
  fc.maxSafeInteger(),
)
const anyDouble = fc.oneof(
  fc.constantFrom(0, 1e308, -1e308, 5e-324, 1e300, -1, 1.5),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.double({ min: 0, max: 1, noNaN: true }),
)
const anyInstant: fc.Arbitrary<Instant> = fc.oneof(
  fc.constantFrom(YEAR_0, YEAR_9999, 0n, -1n),
  fc.bigInt({ min: YEAR_0, max: YEAR_9999 }),
)
const text = fc.oneof(anyText(), fc.constantFrom('', '\u0000', '</script>', '\ufffd', '\ufeff'))
const orNull = <Value>(of: fc.Arbitrary<Value>) => fc.option(of, { nil: null, freq: 6 })

const anyProgress: fc.Arbitrary<Progress> = fc
  .record({
    sample_size: orNull(anyInteger),
    interviews_count: orNull(anyInteger),
    completion_rate: orNull(anyDouble),
    questionnaire_incidence_rate: orNull(anyDouble),
    target_incidence_rate: orNull(anyDouble),
    incidence_rate: orNull(anyDouble),
    drop_out_rate: orNull(anyDouble),
    length_of_interview: orNull(anyInteger),
    statuses: fc.tuple(...INTERVIEW_STATUSES.map(() => fc.tuple(orNull(anyInteger), orNull(anyDouble)))),
    _extra: fc.constantFrom(
      null,
      '{"interview_count_by_status":{"new":{"individuals":9007199254740991,"percentage":1e308}}}',
      '{"interview_count_by_status":{"new":{"individuals":9223372036854775807},"b":{"individuals":9223372036854775807}}}',
      '{"interview_count_by_status":{"new":{"individuals":1e999},"b":{"individuals":"x"},"c":[1]}}',
    ),
  })
  .map(({ statuses, ...rest }) => ({
    ...progress(0),
    ...rest,
    ...Object.fromEntries(
      INTERVIEW_STATUSES.flatMap((status, place) => [
        [`${status}_individuals`, statuses[place]?.[0] ?? null],
        [`${status}_percentage`, statuses[place]?.[1] ?? null],
      ]),
    ),
  }))

const anySurvey: fc.Arbitrary<Partial<Survey>> = fc.record({
  title: text,
  created_at: anyInstant,
  updated_at: anyInstant,
  hashid: text,
  project_id: orNull(text),
  status: fc.oneof({ weight: 4, arbitrary: fc.constantFrom('fieldwork', ...SURVEY_STATUSES) }, text),
  owner_organization_id: anyInteger,
})
const anySource: fc.Arbitrary<Partial<SampleSource>> = fc.record({
  sample_size: anyInteger,
  country_code: text,
  name: text,
  provider: text,
  created_at: anyInstant,
})

interface Nights {
  readonly surveys: readonly Partial<Survey>[]
  readonly sources: readonly Partial<SampleSource>[]
  readonly whole: readonly Progress[]
  readonly ofSources: readonly Progress[]
  /** Days of the readings, in the order of the nights. */
  readonly days: readonly number[]
}

const exactly = (length: number) => ({ minLength: length, maxLength: length })

const anyNights: fc.Arbitrary<Nights> = fc.integer({ min: 2, max: 10 }).chain((nights) =>
  fc.record({
    surveys: fc.array(anySurvey, exactly(2)),
    sources: fc.array(anySource, exactly(2)),
    whole: fc.array(anyProgress, exactly(nights)),
    ofSources: fc.array(anyProgress, exactly(nights)),
    // Days of many years take ten seconds.
    days: fc.uniqueArray(fc.oneof({ weight: 40, arbitrary: fc.nat(30) }, fc.nat(2_900_000)), exactly(nights)),
  }),
)

const fill = async ({ database }: TestWarehouse, account: string, given: Nights): Promise<void> => {
  const warehouse = accountWarehouse(database, account)
  const days = given.days.toSorted((one, other) => one - other)
  for (const [night, day] of days.entries()) {
    const at = minute(day * 1440)
    const ids = given.surveys.map((_, place) => place + 1)
    const surveys = ids.map((id) =>
      survey(id, night === 0 ? given.surveys[id - 1] : { ...given.surveys[id % 2], updated_at: at }),
    )
    if (night < 2) await list(warehouse, surveys, at, night === 0 ? 'full' : 'incremental')
    await warehouse.commitBundles(
      ids.map((id) => {
        const own = given.ofSources[(night + id) % given.ofSources.length]
        const whole = given.whole[(night + id - 1) % given.whole.length] ?? null
        const sources = given.sources.map((one, place) => source(10 * id + place, one))
        const sourceProgress = sources.flatMap(({ id: sampleSourceId }) =>
          own === undefined ? [] : [{ sampleSourceId, progress: own, at }],
        )
        return { ...bundle(id, at, sources, whole), sourceProgress }
      }),
      RUN,
    )
  }
}

const pageOf = async ({ database }: TestWarehouse, shown: Partial<ReportRows> = {}) => {
  const rows = await database.transaction(readReport)
  return { rows, html: renderReport({ ...rows, ...shown }, { ...DEFAULTS.report, locale: 'en' }).html }
}

/** Every cell of every view is computed, and every rule of `verify` is checked. */
const readAll = async ({ database }: TestWarehouse): Promise<void> => {
  for (const { name } of ALL_VIEWS)
    await database.exclusively((sql) =>
      sql.rows(z.unknown(), `SELECT max(hash(every_column)) FROM main.${name} AS every_column`),
    )
  await checkTables({ state: 'test', database, signal: new AbortController().signal })
  await database.exclusively(readStatus)
  await database.exclusively((sql) => readAccountStates(sql, ['acme']))
}

test('any rows that the tables accept make a report, views and a status', async () => {
  await fc.assert(
    fc.asyncProperty(anyNights, async (given) => {
      const warehouse = await emptyWarehouse()
      await fill(warehouse, 'acme', given)
      const { html } = await pageOf(warehouse)
      expect(/.{0,60}(?:\bNaN\b|Infinity|undefined|Invalid Date).{0,60}/.exec(html)?.[0] ?? null).toBeNull()
      await readAll(warehouse)
    }),
    { numRuns: 20, endOnFailure: true },
  )
})
