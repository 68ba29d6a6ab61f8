/** What the interviews of each source are worth, against the truth of the reference server: in `source_overview`, which `query source-quality` shows. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { accountsOf, startWorld } from '../support/api/reference-api.js'
import { NO_ACCOUNT } from '../support/api/scripted-api.js'
import { openTrial } from '../support/command/trial.js'
import { truthRows } from '../support/oracle/truth.js'
import { howMany, some } from '../support/suite/cases.js'
import type { Row } from '../support/warehouse/duckdb.js'

const CPI = 2.5

const share = (part: number, whole: number): number | null => (whole === 0 ? null : part / whole)

/** By the statuses of the API document. */
const qualityOf = (progress: Row) => {
  const sumOf = (...statuses: readonly string[]) =>
    statuses.reduce((sum, status) => sum + Number(progress[`${status}_individuals`]), 0)
  const complete = sumOf('complete')
  const rejected = sumOf('speeder', 'straightliner', 'failed_quality_check', 'inappropriate_language')
  const undecided = sumOf('manual_action', 'pending_analysis')
  const started =
    complete + rejected + undecided + sumOf('incomplete', 'quota_full', 'screen_out', 'above_target')
  const seconds = progress.length_of_interview
  const cost = share(CPI * (complete + rejected), complete)
  return {
    total_interviews: started,
    rejected,
    rejected_rate: share(rejected, complete + rejected),
    undecided,
    quota_full_rate: share(sumOf('quota_full'), started),
    loi_minutes: seconds === null ? null : Math.round(Number(seconds) / 6) / 10,
    cost_per_good: cost === null ? null : Math.round(1e6 * cost) / 1e6,
  }
}

test.for(some([42, 1, 7], 1))(
  'the quality of sources equals the truth of world %i',
  async (seed, context) => {
    const trial = await openTrial(context)
    await using server = await startWorld({ seed, surveys: howMany(25, 100), pageSize: 50 })
    const plan = join(await trial.temporary(), 'plan.csv')
    await writeFile(plan, `source,supplier,cpi,currency\n*,Panel East,${CPI},EUR\n`)
    const args = await trial.settings({ ...accountsOf(server), plan })
    expect(await trial.sync(args, NO_ACCOUNT)).toMatchObject({ code: 0 })

    const ofSources = [...(await truthRows(server)).values()]
      .flatMap(({ survey, sources, sourceProgress }) =>
        sources.map(({ id }, place) => ({
          survey_id: survey.id,
          id,
          ...qualityOf(sourceProgress[place] ?? {}),
        })),
      )
      .toSorted((one, other) => Number(one.id) - Number(other.id))
    expect(
      await trial.rows(`SELECT survey_id, sample_source_id AS id, total_interviews, rejected, rejected_rate, undecided, quota_full_rate,
        loi_minutes, cost_per_good FROM source_overview ORDER BY id`),
    ).toEqual(ofSources)
    for (const name of ['rejected', 'undecided', 'quota_full_rate'] as const)
      expect(
        ofSources.some((one) => Number(one[name]) > 0),
        name,
      ).toBe(true)
    const { stdout } = await trial.run(['query', 'source-quality', '--format', 'json', ...args])
    const suppliers = JSON.parse(stdout).map(({ supplier }: Row) => supplier)
    expect(new Set(suppliers)).toEqual(new Set(['Panel East']))
  },
)
