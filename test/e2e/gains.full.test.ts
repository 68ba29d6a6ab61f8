/**
 * Gains of days against the truth of the reference server: what sources gained adds up to what their survey gained, and each gain is on the
 * day of its fieldwork, in each time zone and for a job at each hour.
 */
import { expect, test } from 'vitest'
import { FIELD_GAINS } from '../../src/warehouse/history/gains.js'
import { accountsOf, startWorld } from '../support/api/reference-api.js'
import { NO_ACCOUNT } from '../support/api/scripted-api.js'
import { openTrial } from '../support/command/trial.js'
import { openWorld, truthRows } from '../support/oracle/truth.js'

const NIGHTS = 12

/** Complete interviews of the world. */
const completes = (rows: Awaited<ReturnType<typeof truthRows>>): number =>
  [...rows.values()].reduce((sum, { progress }) => sum + Number(progress.interviews_count), 0)

/**
 * What surveys but drafts and demos gained from the first to the last of these nights. A new one began with 0, and what quality checks take
 * back after the end is no loss.
 */
const gainIn = (nights: readonly Awaited<ReturnType<typeof truthRows>>[]): number =>
  [...(nights.at(-1) ?? [])].reduce((sum, [key, { survey }]) => {
    if (['draft', 'user_demo'].includes(String(survey.status))) return sum
    const counts = nights.map((night) => Number(night.get(key)?.progress.interviews_count ?? 0))
    const isClosed = ['data_processing', 'complete'].includes(String(survey.status))
    return sum + (isClosed ? Math.max(...counts) : (counts.at(-1) ?? 0)) - (counts[0] ?? 0)
  }, 0)

const CASES = [
  { seed: 42, timeZone: 'UTC', hour: '02' },
  { seed: 1, timeZone: 'America/New_York', hour: '14' },
  // The clocks of Paris and New York go forward in these nights.
  { seed: 7, timeZone: 'Europe/Paris', hour: '02' },
  { seed: 42, timeZone: 'Asia/Tokyo', hour: '14' },
]

test.for(CASES)(
  'in world $seed and $timeZone, with a job at $hour:00',
  async ({ seed, timeZone, hour }, context) => {
    const trial = await openTrial(context)
    await using server = await startWorld({
      seed,
      surveys: 60,
      pageSize: 50,
      startAt: `2026-03-22T${hour}:00:00Z`,
    })
    const world = openWorld(server)
    const args = await trial.settings({ ...accountsOf(server), time_zone: timeZone })
    expect(await trial.sync(args, NO_ACCOUNT)).toMatchObject({ code: 0 })
    const nights = [await truthRows(server)]
    const first = completes(await truthRows(server))
    for (let night = 1; night < NIGHTS; night += 1) {
      await world.advance('P1D')
      expect(await trial.sync(args, NO_ACCOUNT)).toMatchObject({ code: 0 })
      nights.push(await truthRows(server))
    }
    // The totals of the report and the digest, on the same days for every survey.
    const [totals] = await trial.rows(FIELD_GAINS)
    expect(Object.entries(totals ?? {}).map(([name, value]) => [name, Number(value)])).toEqual([
      ['newest_gain', gainIn(nights.slice(-2))],
      ['newest_gain_days', 1],
      ['week_gain', gainIn(nights.slice(-8))],
      ['week_gain_days', 7],
    ])
    // A source that the API removes takes its interviews along.
    expect(
      await trial.rows(`WITH of_sources AS (
        SELECT account, survey_id, "day", sum(gained) AS gained, count(*) = count(gained) AS is_known
        FROM source_progress_daily GROUP BY ALL),
      removed AS (
        SELECT p.account, p.survey_id, CAST(timezone('${timeZone}', a._missing_since - INTERVAL 12 HOURS) AS DATE) AS "day", sum(p.interviews_count) AS lost
        FROM sample_source_progress p JOIN sample_sources a ON a.account = p.account AND a.survey_id = p.survey_id AND a.id = p.sample_source_id
        WHERE a._missing_since IS NOT NULL GROUP BY ALL)
      SELECT d.survey_id, d."day", d.gained, s.gained AS of_sources
      FROM progress_daily d JOIN of_sources s USING (account, survey_id, "day") LEFT JOIN removed r USING (account, survey_id, "day")
      WHERE d.gained IS NOT NULL AND (NOT is_known OR s.gained - coalesce(r.lost, 0) <> d.gained)`),
    ).toEqual([])
    // A run a day: each reading shows most of the 24 hours before it.
    expect(
      await trial.rows(`SELECT survey_id, observed_at, "day" FROM progress_daily
      WHERE gained <> 0 AND "day" <> CAST(timezone('${timeZone}', observed_at - INTERVAL 12 HOURS) AS DATE)`),
    ).toEqual([])
    expect(await trial.rows('SELECT DISTINCT gained_days FROM progress_daily WHERE gained <> 0')).toEqual([
      { gained_days: 1 },
    ])
    const [sum] = await trial.rows('SELECT sum(gained)::INT AS gained FROM progress_daily')
    const gained = completes(await truthRows(server)) - first
    expect(gained).toBeGreaterThan(100)
    expect(sum).toEqual({ gained })
  },
)
