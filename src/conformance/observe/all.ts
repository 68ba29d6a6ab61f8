/** All observations, in the order of the report. */
import type { Observation } from '../verdict.js'
import { DATA_OBSERVATIONS } from './data.js'
import { QUESTION_OBSERVATIONS } from './questions.js'
import { TRANSPORT_OBSERVATIONS } from './transport.js'

export const OBSERVATIONS: readonly Observation[] = [
  ...DATA_OBSERVATIONS,
  ...QUESTION_OBSERVATIONS,
  ...TRANSPORT_OBSERVATIONS,
]
