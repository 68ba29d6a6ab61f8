/** What came in, held against what was sold, against the truth of the reference server over twelve nights: `survey_pace`, as `query as-sold` shows it. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { accountsOf, startWorld } from '../support/api/reference-api.js'
import { NO_ACCOUNT } from '../support/api/scripted-api.js'
import { openTrial } from '../support/command/trial.js'
import { openWorld, type SurveyRows, truthRows } from '../support/oracle/truth.js'
import type { Row } from '../support/warehouse/duckdb.js'

const NIGHTS = 12
const CPI = 2.5
/** Jobs at 02:00 read the fieldwork of the day before. */
const FIRST_NIGHT = '2026-03-02T02:00:00Z'
const STARTS_ON = '2026-03-01'
const DUE_ON = '2026-03-31'

const completesOf = ({ interviews_count }: Row = {}): number => Number(interviews_count)
const rounded = (value: number | null): number | null =>
  value === null ? null : Math.round(1e6 * value) / 1e6

/** Complete interviews in relation to those and screen-outs, API document "Fieldwork progress". */
const incidence = (now: Row, before: Row): number | null => {
  const gained = (status: string) =>
    Number(now[`${status}_individuals`]) - Number(before[`${status}_individuals`])
  const whole = gained('complete') + gained('screen_out')
  // A quality check may take back more than came in.
  return whole <= 0 || gained('complete') < 0 || gained('screen_out') < 0 ? null : gained('complete') / whole
}

/** By the nights up to now, in all of which the survey was in fieldwork. */
const expectedOf = (nights: readonly SurveyRows[]) => {
  const now = nights.at(-1)
  if (now === undefined) throw new Error('there are no nights')
  // Of each source what it had last: a source that the API removes is paid.
  const last = nights.flatMap(({ sources, sourceProgress }) =>
    sources.map(({ id }, place) => [id, completesOf(sourceProgress[place])] as const),
  )
  const completes = [...new Map(last).values()].reduce((sum, one) => sum + one, 0)
  const hasCost = now.sources.length > 0 || completes > 0
  const target = Number(now.progress.sample_size)
  const week = nights.at(-8)
  return {
    survey_id: now.survey.id,
    // The third day is read in the third night.
    launch_incidence_rate: nights[2]?.progress.target_incidence_rate ?? null,
    target_incidence_rate: now.progress.target_incidence_rate,
    // Before a week has passed, days before the first night are in it.
    recent_incidence_rate: week === undefined ? null : rounded(incidence(now.progress, week.progress)),
    length_of_interview: now.progress.length_of_interview,
    expected_by_today: target === 0 ? null : rounded((target * nights.length) / 31),
    cost: hasCost ? rounded(CPI * completes) : null,
    cost_at_target: target === 0 || completes === 0 ? null : rounded(CPI * target),
    currency: hasCost ? 'EUR' : null,
    ...{ sold_incidence: 0.4, sold_loi_minutes: 12 },
  }
}

const idOf = (key: string): string => key.split('/')[1] ?? ''

test.for([42, 1, 7])('what came in of what was sold equals the truth of world %i', async (seed, context) => {
  const trial = await openTrial(context)
  await using server = await startWorld({ seed, surveys: 60, pageSize: 50, startAt: FIRST_NIGHT })
  const world = openWorld(server)
  const first = await truthRows(server)
  const plan = join(await trial.temporary(), 'plan.csv')
  const sold = [...first.keys()].map((key) => `${idOf(key)},,${STARTS_ON},${DUE_ON},0.4,12,,`)
  await writeFile(
    plan,
    `survey_id,source,starts_on,due_on,incidence,loi_minutes,cpi,currency\n${sold.join('\n')}\n,*,,,,,${CPI},EUR\n`,
  )
  const args = await trial.settings({ ...accountsOf(server), plan })
  const nights: (typeof first)[] = []
  let inField = [...first.keys()]
  let compared = 0
  for (let night = 0; night < NIGHTS; night += 1) {
    if (night > 0) await world.advance('P1D')
    expect(await trial.sync(args, NO_ACCOUNT)).toMatchObject({ code: 0 })
    const now = await truthRows(server)
    nights.push(now)
    inField = inField.filter((key) => now.get(key)?.survey.status === 'fieldwork')
    compared += inField.length
    if (inField.length === 0) break
    const expected = inField.map((key) => expectedOf(nights.flatMap((one) => one.get(key) ?? [])))
    expect(
      await trial.rows(`SELECT survey_id, launch_incidence_rate, target_incidence_rate,
        CASE WHEN ${night} > 6 THEN round(recent_incidence_rate, 6) END AS recent_incidence_rate,
        length_of_interview, round(expected_by_today, 6) AS expected_by_today, round(cost, 6) AS cost, round(cost_at_target, 6) AS cost_at_target,
        currency, sold_incidence, sold_loi_minutes
        FROM survey_pace WHERE survey_id IN (${inField.map(idOf).join(', ')}) ORDER BY survey_id`),
      `night ${night + 1}`,
    ).toEqual(expected.toSorted((one, other) => Number(one.survey_id) - Number(other.survey_id)))
  }
  expect(compared).toBeGreaterThan(10)
})
