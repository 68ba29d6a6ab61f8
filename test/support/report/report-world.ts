/** A warehouse of some nights with a report: one survey goes on, one stands still, one is paused, one has a source behind, one is completed,
 * one is slow. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'vitest'
import { type ScriptedSurvey, scriptedProgress, scriptedSurvey } from '../api/scripted-api.js'
import { openTrial, type Trial } from '../command/trial.js'

/** Text that would act if it were not escaped. */
export const HOSTILE = `</script></style><script>document.title='hit'</script><img src="https://example.org/x" onerror="document.title='hit'">`
/** It stands in HTML and in CSS. */
export const TITLE = `Acme "R&D"</style><script>document.title='hit'</script>`
export const SETTINGS = { report: { title: TITLE }, time_zone: 'Europe/Paris' }
export const RIGHT_TO_LEFT = 'סקר שביעות רצון \u202e(v2)'
const NIGHTS = 6
const LAST_NIGHT = 'duckdb,parquet,report'
/** Late, at risk because it is paused, passed without an end in sight and quiet, reached or closed; one with prices alone. */
const PLAN = `survey_id;source;due_on;starts_on;incidence;loi_minutes;cpi;currency;supplier;note;quiet_until
1;;2026-03-07;2026-02-28;80%;6;2;EUR;;"<b>;";
3;;2026-12-31;2026-02-21;;5;;;;;
4;;;;;;4,50;EUR;;;
4;S401;;;;;3,80;EUR;Panel <b>North;;
5;;2026-03-07;;70%;;;;;;
7;;2026-03-01;;;;;;;;2026-03-10
2;;2027-03-01;;;;;;;;`

export const openReportWorld = async (context: Parameters<typeof openTrial>[0]): Promise<Trial> => {
  const trial = await openTrial(context, [
    scriptedSurvey(1, { title: HOSTILE, project_id: '<b>&amp;' }, 1),
    scriptedSurvey(2, { title: RIGHT_TO_LEFT }, 1),
    scriptedSurvey(3),
    scriptedSurvey(4, { title: '', project_id: RIGHT_TO_LEFT }),
    scriptedSurvey(5),
    scriptedSurvey(6, { status: 'draft' }),
    scriptedSurvey(7),
  ])
  const plan = join(await trial.temporary(), 'due.csv')
  await writeFile(plan, PLAN)
  // Rates of reconstructed days are unknown.
  const config = await trial.settings({ ...SETTINGS, plan, refresh: { reconstruct: false } })
  for (let night = 0; night < NIGHTS; night += 1) {
    trial.api.now = new Date(Date.UTC(2026, 2, 1 + night, 2))
    for (const one of trial.api.surveys) change(one, night, trial.api.now)
    const formats = ['--publish', night === NIGHTS - 1 ? LAST_NIGHT : 'duckdb']
    const ended = await trial.runWarm(['sync', ...config, '--log-level', 'warn', ...formats])
    expect(ended).toMatchObject({ code: 0, stderr: '' })
  }
  return trial
}

const change = (one: ScriptedSurvey, night: number, now: Date): void => {
  const { id } = one.survey
  const complete = id === 2 ? 40 : id === 7 ? night : 10 + 12 * night + id
  const counts = {
    screen_out: { individuals: 3 * night, percentage: 5 },
    incomplete: { individuals: night, percentage: 1 },
  }
  const { interview_count_by_status: all, ...progress } = scriptedProgress(complete)
  one.progress = {
    ...progress,
    target_incidence_rate: complete / (complete + 3 * night),
    interview_count_by_status: { ...Object(all), ...counts },
  }
  if (id === 4)
    one.sourceProgress = {
      401: scriptedProgress(2, { sample_size: 100 }),
      402: scriptedProgress(complete - 2, { sample_size: 100 }),
    }
  const status = statusOn(night, id)
  const change = night === 5 && id === 4 ? { project_id: '' } : status === null ? null : { status }
  if (change !== null)
    one.survey = { ...one.survey, ...change, updated_at: new Date(now.getTime() - 3_600_000).toISOString() }
}

/** The new status of a survey; null if it keeps its status. */
const statusOn = (night: number, id: number): string | null => {
  if (night === 3 && id === 3) return 'deviating_from_specs'
  return night === 5 && id === 5 ? 'complete' : null
}
