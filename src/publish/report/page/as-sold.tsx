/** What came in beside what was sold, in the section of a survey. */
import type { Formats } from '../formats.js'
import type { SurveyRow } from '../queries/survey.js'
import { type Figure, Figures, plural } from './words.js'

export const AsSold = ({ survey, formats }: { readonly survey: SurveyRow; readonly formats: Formats }) =>
  soldFigures(survey, formats).length === 0 ? null : (
    <>
      <h3>As sold</h3>
      <SoldFigures of={survey} formats={formats} />
    </>
  )

/** Nothing if the plan says nothing. */
export const SoldFigures = ({ of, formats }: { readonly of: SurveyRow; readonly formats: Formats }) => {
  const figures = soldFigures(of, formats)
  return figures.length === 0 ? null : <Figures figures={figures} query="surveys" />
}

const soldFigures = (survey: SurveyRow, formats: Formats): readonly Figure[] => [
  ...incidenceOf(survey, formats),
  ...lengthOf(survey, formats),
  ...costOf(survey, formats),
  ...expectedOf(survey, formats),
]

const incidenceOf = (survey: SurveyRow, { rate }: Formats): readonly Figure[] => {
  const { sold_incidence: sold, recent_incidence_rate: recent, launch_incidence_rate: launch } = survey
  if (sold === null) return []
  const days = survey.pace_days ?? 0
  const details = [
    `sold ${rate(sold)}`,
    ...(recent === null ? [] : [`last ${days} ${plural(days, 'day')} ${rate(recent)}`]),
    ...(launch === null ? [] : [`at launch ${rate(launch)}`]),
  ]
  return [['Incidence', rate(survey.target_incidence_rate), details.join(', ')]]
}

const lengthOf = (survey: SurveyRow, { rough }: Formats): readonly Figure[] => {
  const { sold_loi_minutes: sold, length_of_interview: seconds } = survey
  if (sold === null) return []
  const minutes = seconds === null ? null : seconds / 60
  const detail = rough(minutes) === rough(sold) ? 'as sold' : `sold ${rough(sold)}`
  return [['Length', minutes === null ? rough(null) : `${rough(minutes)} min`, detail]]
}

const costOf = ({ cost, cost_at_target, currency }: SurveyRow, { money }: Formats): readonly Figure[] => {
  if (cost === null) return []
  const detail = cost_at_target === null ? '' : `${money(cost_at_target, currency)} at the target`
  return [['Cost so far', money(cost, currency), detail]]
}

const expectedOf = (survey: SurveyRow, { count }: Formats): readonly Figure[] => {
  const { expected_by_today: expected, interviews_count } = survey
  if (expected === null) return []
  // Without the noise of a division.
  const whole = Math.ceil(Number(expected.toFixed(6)))
  return [['Expected by today', count(whole), `has ${count(interviews_count)}`]]
}
