/** Gains of days against the truth of the reference server: what sources gained adds up to what their survey gained. */
import { expect, test } from 'vitest'
import { accountsOf, startWorld } from '../support/api/reference-api.js'
import { NO_ACCOUNT } from '../support/api/scripted-api.js'
import { openTrial } from '../support/command/trial.js'
import { openWorld, truthRows } from '../support/oracle/truth.js'

const NIGHTS = 12

/** Complete interviews of the world. */
const completes = (rows: Awaited<ReturnType<typeof truthRows>>): number =>
  [...rows.values()].reduce((sum, { progress }) => sum + Number(progress.interviews_count), 0)

test.for([42, 1, 7])('in world %i, on each day, and in all', async (seed, context) => {
  const trial = await openTrial(context)
  await using server = await startWorld({ seed, surveys: 60, pageSize: 50 })
  const world = openWorld(server)
  const args = await trial.settings(accountsOf(server))
  expect(await trial.sync(args, NO_ACCOUNT)).toMatchObject({ code: 0 })
  const first = completes(await truthRows(server))
  for (let night = 1; night < NIGHTS; night += 1) {
    await world.advance('P1D')
    expect(await trial.sync(args, NO_ACCOUNT)).toMatchObject({ code: 0 })
  }
  // A source that the API removes takes its interviews along.
  expect(
    await trial.rows(`WITH of_sources AS (
        SELECT account, survey_id, "day", sum(gained) AS gained, count(*) = count(gained) AS is_known
        FROM source_progress_daily GROUP BY ALL),
      removed AS (
        SELECT p.account, p.survey_id, CAST(timezone('UTC', a._missing_since) AS DATE) AS "day", sum(p.interviews_count) AS lost
        FROM sample_source_progress p JOIN sample_sources a ON a.account = p.account AND a.survey_id = p.survey_id AND a.id = p.sample_source_id
        WHERE a._missing_since IS NOT NULL GROUP BY ALL)
      SELECT d.survey_id, d."day", d.gained, s.gained AS of_sources
      FROM progress_daily d JOIN of_sources s USING (account, survey_id, "day") LEFT JOIN removed r USING (account, survey_id, "day")
      WHERE d.gained IS NOT NULL AND (NOT is_known OR s.gained - coalesce(r.lost, 0) <> d.gained)`),
  ).toEqual([])
  const [sum] = await trial.rows('SELECT sum(gained)::INT AS gained FROM progress_daily')
  const gained = completes(await truthRows(server)) - first
  expect(gained).toBeGreaterThan(100)
  expect(sum).toEqual({ gained })
})
