/** One survey as the API shows it: fixed facts, drawn from its own stream, and the state after its changes. */
import { type SurveyResource, TRANSITION_STYLES } from '../resources.js'
import { formatIsoTime } from '../time/iso-time.js'
import type { SurveyState } from './change-table.js'
import { surveyId } from './identities.js'
import { PURPOSES, Random } from './random.js'
import { creationOf, type WorldPlan } from './timeline.js'
import { drawTimeStyle, hashidOf, projectIdOf, titleOf } from './vocabulary.js'

/** API document, "Survey". `organizationId` is the account's. */
export const surveyResource = (
  plan: WorldPlan,
  index: number,
  state: SurveyState,
  organizationId: number,
): SurveyResource => {
  const random = new Random(plan, index, PURPOSES.facts)
  const { grain } = creationOf(plan, index)
  const questions = 3 + random.below(80)
  const hashid = hashidOf(random)
  const createdStyle = drawTimeStyle(random, grain)
  const updatedStyle = random.chance(0.8) ? createdStyle : drawTimeStyle(random, grain)
  const style = random.pick(TRANSITION_STYLES)
  const iterations = questions + random.below(120)
  return {
    id: surveyId(plan, index),
    title: titleOf(random, state.titleEdits),
    created_at: formatIsoTime(state.createdAt, createdStyle),
    updated_at: formatIsoTime(state.updatedAt, updatedStyle),
    hashid,
    project_id: projectIdAfter(plan, index, state.projectIdEdits),
    status: state.status,
    owner_organization_id: organizationId,
    transition_style: style,
    respondent_questions_count: questions,
    respondent_iterations_count: iterations,
  }
}

/** Each edit gives a value that differs from the one before. */
const projectIdAfter = (plan: WorldPlan, index: number, edits: number): string | null => {
  let projectId: string | null | undefined
  for (let edit = 0; edit <= edits; edit++) {
    projectId = projectIdOf(new Random(plan, index, PURPOSES.edits, edit), projectId)
  }
  return projectId ?? null
}
