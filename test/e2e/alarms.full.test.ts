/**
 * The reasons of `needs_action` that come from counts of interviews, and the end game, against the truth of the reference server over
 * twelve nights: each one that must be there with its numbers, and no other. The test keeps what the world showed in each night. Of the
 * warehouse it reads only the views that it judges.
 */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { INTERVIEW_STATUSES, type InterviewStatus } from '../../src/model/fields.js'
import { accountsOf, startWorld } from '../support/api/reference-api.js'
import { NO_ACCOUNT } from '../support/api/scripted-api.js'
import { openTrial } from '../support/command/trial.js'
import { openWorld, type SurveyRows, truthRows, type WorldRows } from '../support/oracle/truth.js'
import type { Row } from '../support/warehouse/duckdb.js'

const NIGHTS = 12
const FIRST_NIGHT = '2026-03-02T02:00:00Z'
/** Percent, so low that surveys of these worlds reach them. */
const LEVELS = { drop_out: 10, incidence: 70, quota_full: 10, rejected: 8 }
/** What was sold for every other survey. 80 % of the incidence are 72 %, and 120 % of the minutes 14.4. */
const SOLD = { incidence: 90, incidenceMin: 72, minutes: 12, minutesMax: 14.4 }
const isSold = (surveyId: unknown): boolean => Number(surveyId) % 2 === 0

/** No world takes back complete interviews of a survey in fieldwork. Every fourth night, the test rejects this part of all those so far. */
const [CHECK_NIGHTS, REJECTED_PART] = [4, 0.06]

/** What the API shows of a survey with one source, and of that source, after the checks up to a night. */
const checkedProgress = (night: number, { progress }: SurveyRows) => {
  const complete = Number(progress.complete_individuals)
  const rejected = Math.floor(complete * REJECTED_PART * Math.floor(night / CHECK_NIGHTS))
  return {
    interviews_count: complete - rejected,
    complete_individuals: complete - rejected,
    failed_quality_check_individuals: Number(progress.failed_quality_check_individuals) + rejected,
  }
}
const checked = (night: number, rows: SurveyRows): SurveyRows => {
  if (rows.sources.length !== 1) return rows
  const progress = { ...rows.progress, ...checkedProgress(night, rows) }
  return { ...rows, progress, sourceProgress: [progress] }
}
const patchesOf = (night: number, truth: WorldRows): Readonly<Record<string, object>> =>
  Object.fromEntries(
    [...truth.values()]
      .filter(({ sources }) => sources.length === 1)
      .map((rows) => {
        const shown = checkedProgress(night, rows)
        const interview_count_by_status = {
          complete: { individuals: shown.complete_individuals },
          failed_quality_check: { individuals: shown.failed_quality_check_individuals },
        }
        const fieldwork_progress = { interviews_count: shown.interviews_count, interview_count_by_status }
        return [`/surveys/${rows.survey.id}/fieldwork_progress`, { fieldwork_progress }]
      }),
  )

const sumOf = (numbers: readonly number[]): number => numbers.reduce((sum, one) => sum + one, 0)

/** The interviews of a progress, or of what a progress gained, by what they mean. */
const countsOf = (progress: Row) => {
  const of = (...statuses: readonly InterviewStatus[]) =>
    sumOf(statuses.map((status) => Number(progress[`${status}_individuals`])))
  const rejects = ['speeder', 'straightliner', 'failed_quality_check', 'inappropriate_language'] as const
  return {
    complete: of('complete'),
    dropped: of('incomplete'),
    quotaFull: of('quota_full'),
    rejected: of(...rejects),
    judged: of('complete', ...rejects),
    undecided: of('manual_action', 'pending_analysis'),
    screened: of('complete', 'screen_out'),
    interviews: of(...INTERVIEW_STATUSES),
  }
}
type Counts = ReturnType<typeof countsOf>

/** Null if a count fell, because interviews changed their status. */
const share = (part: number, whole: number): number | null =>
  whole > 0 && part >= 0 && part <= whole ? part / whole : null
const percent = (rate: number | null): number | null => (rate === null ? null : Math.round(100 * rate))
const reaches = (part: number, whole: number, level: number): boolean =>
  share(part, whole) !== null && 100 * part >= level * whole

interface Day {
  readonly before: SurveyRows
  readonly now: SurveyRows
}

const gainsOf = (days: readonly Day[]): Row =>
  Object.fromEntries(
    INTERVIEW_STATUSES.map((status) => `${status}_individuals` as const).map((name) => [
      name,
      sumOf(days.map(({ before, now }) => Number(now.progress[name]) - Number(before.progress[name]))),
    ]),
  )

/** By the nights of a survey up to now. */
const factsOf = (nights: readonly SurveyRows[]) => {
  const now = nights.at(-1)
  if (now === undefined) throw new Error('there are no nights')
  const days = nights.slice(1).map((night, place) => ({ before: nights[place] ?? night, now: night }))
  // The last week of those on which it was in fieldwork from beginning to end.
  const pace = days
    .filter((day) => [day.before, day.now].every(({ survey }) => survey.status === 'fieldwork'))
    .slice(-7)
  const falls = days
    .slice(-7)
    .map(
      ({ before, now }) => Number(before.progress.interviews_count) - Number(now.progress.interviews_count),
    )
  const { survey, progress } = now
  const target = Number(progress.sample_size)
  const completes = Number(progress.interviews_count)
  const isInFieldwork = survey.status === 'fieldwork'
  const isCollecting = isInFieldwork && (target === 0 || completes < target)
  return {
    now,
    paceDays: pace.length,
    recent: countsOf(gainsOf(pace)),
    earlier: countsOf((pace[0]?.before ?? now).progress),
    total: countsOf(progress),
    ...{ target, completes, missing: target - completes },
    takenBack: sumOf(falls.filter((fall) => fall > 0)),
    isInFieldwork,
    isInField: isInFieldwork || survey.status === 'deviating_from_specs',
    isCollecting,
    isSoftLaunch: survey.status === 'pending' || (isCollecting && 10 * completes <= target),
    tenthsOfMinutes:
      progress.length_of_interview === null ? null : Math.round(Number(progress.length_of_interview) / 6),
  }
}
type Facts = ReturnType<typeof factsOf>

interface Check {
  readonly holds: boolean
  readonly numbers: Row
}
interface Reason extends Check {
  readonly kind: string
  readonly sample_source_id?: unknown
  readonly text?: string
}

/** The rates with a level, each with its percent and whether it is beyond the level. */
const ratesOf = ({ complete, dropped, quotaFull, screened, interviews }: Counts, incidenceMin: number) => ({
  drop_out: {
    percent: percent(share(dropped, interviews)),
    isBeyond: interviews >= 50 && reaches(dropped, interviews, LEVELS.drop_out),
  },
  incidence: {
    percent: percent(share(complete, screened)),
    isBeyond: screened >= 50 && complete >= 0 && 100 * complete < incidenceMin * screened,
  },
  quota_full: {
    percent: percent(share(quotaFull, interviews)),
    isBeyond: interviews >= 50 && reaches(quotaFull, interviews, LEVELS.quota_full),
  },
})

const rejectsOf = ({ total: { complete, rejected, judged } }: Facts): Check => ({
  holds: judged >= 20 && reaches(rejected, judged, LEVELS.rejected),
  numbers: { rejected_percent: percent(share(rejected, judged)), rejected, complete },
})

const lengthOf = ({ now, total, tenthsOfMinutes: tenths }: Facts): Check => {
  const sold = isSold(now.survey.id)
  return {
    holds: sold && total.complete >= 20 && tenths !== null && tenths > 10 * SOLD.minutesMax,
    numbers: { minutes: tenths === null ? null : tenths / 10, sold_minutes: sold ? SOLD.minutes : null },
  }
}

/** The source with the largest part of rejects, of those with enough interviews here and elsewhere, and twice the part of the others. */
const sourceRejectsOf = ({ now: { sources, sourceProgress }, isInField }: Facts): Reason => {
  const counted = sources.map(({ id, name }, place) => ({
    id,
    name,
    ...countsOf(sourceProgress[place] ?? {}),
  }))
  const [worst] = counted
    .map((source) => {
      const others = counted.filter((other) => other !== source)
      const judgedElsewhere = sumOf(others.map(({ judged }) => judged))
      const here = share(source.rejected, source.judged) ?? 0
      const elsewhere = share(sumOf(others.map(({ rejected }) => rejected)), judgedElsewhere) ?? 0
      return { ...source, judgedElsewhere, here, elsewhere }
    })
    .filter(
      ({ rejected, judged, judgedElsewhere, here, elsewhere }) =>
        Math.min(judged, judgedElsewhere) >= 20 &&
        reaches(rejected, judged, LEVELS.rejected) &&
        here >= 2 * elsewhere,
    )
    .toSorted((one, other) => other.here - one.here || Number(one.id) - Number(other.id))
  const [here, elsewhere] = [percent(worst?.here ?? null), percent(worst?.elsewhere ?? null)]
  return {
    kind: 'source_rejects',
    holds: isInField && worst !== undefined,
    numbers: { rejected_percent: here, elsewhere_percent: elsewhere },
    sample_source_id: worst?.id,
    text: `${here}% rejected at "${worst?.name}", ${elsewhere}% elsewhere`,
  }
}

const endGameOf = (facts: Facts): Reason => {
  const { recent, total, target, completes, missing, takenBack } = facts
  const hasStarts = facts.paceDays > 0 && recent.interviews >= 20
  const hasRate = hasStarts && recent.complete > 0 && recent.complete <= recent.interviews
  return {
    kind: 'end_game',
    holds:
      facts.isInFieldwork &&
      missing > 0 &&
      10 * completes >= 9 * target &&
      4 * Math.max(total.undecided, takenBack) >= missing,
    numbers: {
      missing,
      undecided: total.undecided,
      taken_back: takenBack,
      starts_needed: hasRate ? Math.ceil((missing * recent.interviews) / recent.complete) : null,
      quota_full_percent: hasStarts ? percent(share(recent.quotaFull, recent.interviews)) : null,
    },
  }
}

const reasonsOf = (facts: Facts): readonly Reason[] => {
  const { id } = facts.now.survey
  const isOpenToAll = !facts.isSoftLaunch
  const incidenceMin = isSold(id) ? SOLD.incidenceMin : LEVELS.incidence
  const sold = { sold_incidence_percent: isSold(id) ? SOLD.incidence : null }
  const recent = ratesOf(facts.recent, incidenceMin)
  const earlier = ratesOf(facts.earlier, incidenceMin)
  const total = ratesOf(facts.total, incidenceMin)
  const [rejects, length] = [rejectsOf(facts), lengthOf(facts)]
  const levelOf = (kind: keyof typeof recent, more: Row = {}): Reason => ({
    kind,
    holds: isOpenToAll && facts.isCollecting && facts.paceDays > 0 && recent[kind].isBeyond,
    numbers: {
      [`${kind}_percent`]: recent[kind].percent,
      [`${kind}_before_percent`]: earlier[kind].percent,
      ...more,
    },
  })
  return [
    levelOf('drop_out'),
    levelOf('incidence', sold),
    levelOf('quota_full'),
    { kind: 'quality_rejects', ...rejects, holds: isOpenToAll && facts.isInField && rejects.holds },
    sourceRejectsOf(facts),
    { kind: 'length', ...length, holds: isOpenToAll && facts.isCollecting && length.holds },
    endGameOf(facts),
    {
      kind: 'soft_launch',
      holds:
        facts.isSoftLaunch &&
        (Object.values(total).some(({ isBeyond }) => isBeyond) || rejects.holds || length.holds),
      numbers: {
        ...sold,
        drop_out_percent: total.drop_out.percent,
        incidence_percent: total.incidence.percent,
        quota_full_percent: total.quota_full.percent,
        ...{ ...rejects.numbers, ...length.numbers },
      },
    },
  ]
}

const rounded = (value: number | null): number | null =>
  value === null ? null : Math.round(1e6 * value) / 1e6

/** Of `survey_pace`. */
const paceOf = ({ now, paceDays, recent, takenBack }: Facts) => ({
  survey_id: now.survey.id,
  pace_days: paceDays === 0 ? null : paceDays,
  taken_back: takenBack,
  recent_interviews: paceDays === 0 ? null : recent.interviews,
  recent_complete_rate: rounded(share(recent.complete, recent.interviews)),
  recent_quota_full_rate: rounded(share(recent.quotaFull, recent.interviews)),
})

const KINDS = [
  'drop_out',
  'incidence',
  'quota_full',
  'quality_rejects',
  'source_rejects',
  'length',
  'soft_launch',
  'end_game',
]

const byKey = (rows: readonly Row[]): readonly Row[] =>
  rows.toSorted(
    (one, other) =>
      Number(one.survey_id) - Number(other.survey_id) || String(one.kind).localeCompare(String(other.kind)),
  )

test.for([42, 1, 7])(
  'the levels and the end game of each survey equal the truth of world %i',
  async (seed, context) => {
    const trial = await openTrial(context)
    const options = { seed, surveys: 300, pageSize: 50, badSources: 20, startAt: FIRST_NIGHT }
    await using server = await startWorld(options)
    const world = openWorld(server)
    const plan = join(await trial.temporary(), 'plan.csv')
    const alarms = Object.fromEntries(Object.entries(LEVELS).map(([name, level]) => [name, level / 100]))
    const args = await trial.settings({ ...accountsOf(server), plan, alarms, publish: ['duckdb'] })
    const nights: WorldRows[] = []
    const found: Row[] = []
    for (let night = 0; night < NIGHTS; night += 1) {
      if (night > 0) await world.advance('P1D')
      const truth = await truthRows(server)
      await world.patch(patchesOf(night, truth))
      nights.push(new Map([...truth].map(([key, rows]) => [key, checked(night, rows)])))
      const sold = [...truth.values()].map(({ survey }) => survey.id).filter(isSold)
      const lines = sold.map((id) => `${id},${SOLD.incidence / 100},${SOLD.minutes}`)
      await writeFile(plan, `survey_id,incidence,loi_minutes\n${lines.join('\n')}\n`)
      expect(await trial.sync(args, NO_ACCOUNT)).toMatchObject({ code: 0 })

      const facts = [...truth.keys()].map((key) => factsOf(nights.flatMap((one) => one.get(key) ?? [])))
      const expected = facts.flatMap((one) =>
        reasonsOf(one).flatMap(({ holds, ...reason }) =>
          holds ? [{ survey_id: one.now.survey.id, ...reason }] : [],
        ),
      )
      const rows = await trial.rows(`SELECT survey_id, kind, numbers, sample_source_id, text FROM needs_action
        WHERE kind IN (${KINDS.map((kind) => `'${kind}'`).join(', ')})`)
      const actual = rows.map(({ survey_id, kind, numbers, sample_source_id, text }) => ({
        survey_id,
        kind: String(kind),
        numbers: JSON.parse(String(numbers)),
        ...(kind === 'source_rejects' && { sample_source_id, text }),
      }))
      expect(byKey(actual), `night ${night + 1}`).toEqual(byKey(expected))
      const paces = facts.filter(({ isInFieldwork }) => isInFieldwork).map(paceOf)
      expect(
        await trial.rows(`SELECT survey_id, pace_days, taken_back, recent_interviews,
          round(recent_complete_rate, 6) AS recent_complete_rate, round(recent_quota_full_rate, 6) AS recent_quota_full_rate
          FROM survey_pace WHERE status = 'fieldwork' ORDER BY survey_id`),
        `night ${night + 1}`,
      ).toEqual(byKey(paces))
      found.push(...expected, ...paces)
    }
    for (const name of KINDS)
      expect(
        found.some(({ kind }) => kind === name),
        name,
      ).toBe(true)
    expect(found.some(({ taken_back }) => Number(taken_back) > 0)).toBe(true)
  },
)
