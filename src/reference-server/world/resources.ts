/** The resources as the API shows them, field by field from the tables of the API document. */
import type { InterviewStatus, Provider, SurveyStatus, TransitionStyle } from './enumerations.js'

/** API document, "Survey". */
export interface SurveyResource {
  readonly id: number
  readonly title: string
  /** ISO 8601 with an offset, as are all moments below. */
  readonly created_at: string
  /** The last change of one of the survey's own fields; sources and interviews do not move it. */
  readonly updated_at: string
  readonly hashid: string
  readonly project_id: string | null
  readonly status: SurveyStatus
  readonly owner_organization_id: number
  readonly transition_style: TransitionStyle
  readonly respondent_questions_count: number
  readonly respondent_iterations_count: number
}

/** API document, "Sample source". */
export interface SampleSourceResource {
  readonly id: number
  readonly provider: Provider
  readonly sample_size: number
  /** ISO 3166-1 alpha-2. */
  readonly country_code: string
  readonly description: string
  readonly name: string
  readonly hashid: string
  readonly panelist_id_required: boolean
  readonly created_at: string
  readonly updated_at: string
}

/** One entry of `interview_count_by_status`. `percentage` runs from 0 to 100; 0 where no interview is counted. */
export interface StatusCount {
  readonly individuals: number
  readonly percentage: number
}

/** API document, "Fieldwork progress". A rate over zero has no value: null. */
export interface ProgressResource {
  readonly sample_size: number
  readonly interviews_count: number
  readonly interview_count_by_status: Readonly<Record<InterviewStatus, StatusCount>>
  readonly completion_rate: number | null
  readonly questionnaire_incidence_rate: number | null
  readonly target_incidence_rate: number | null
  readonly incidence_rate: number | null
  readonly drop_out_rate: number | null
  /** Whole seconds; null while no interview is complete. */
  readonly length_of_interview: number | null
}
