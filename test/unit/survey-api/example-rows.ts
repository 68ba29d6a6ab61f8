/** Rows as the API sends them. Tests of decoding change single fields. */

export const survey = {
  id: 12,
  title: 'Coffee habits 2026',
  created_at: '2026-02-01T09:00:00+01:00',
  updated_at: '2026-03-01T10:30:00.123456+01:00',
  hashid: 'aB3dE',
  project_id: 'P-77',
  status: 'fieldwork',
  owner_organization_id: 3,
  transition_style: 'single_page',
  respondent_questions_count: 14,
  respondent_iterations_count: 20,
}

export const sampleSource = {
  id: 501,
  provider: 'panel',
  sample_size: 400,
  country_code: 'FR',
  description: 'French adults, 18 to 64',
  name: 'FR adults',
  hashid: 'xY9',
  panelist_id_required: true,
  created_at: '2026-02-01T09:00:00Z',
  updated_at: '2026-02-02T09:00:00Z',
}

export const progress = {
  sample_size: 400,
  interviews_count: 100,
  interview_count_by_status: {
    complete: { individuals: 100, percentage: 62.5 },
    incomplete: { individuals: 20, percentage: 12.5 },
    quota_full: { individuals: 10, percentage: 6.25 },
    screen_out: { individuals: 30, percentage: 18.75 },
    above_target: { individuals: 0, percentage: 0 },
    manual_action: { individuals: 0, percentage: 0 },
    pending_analysis: { individuals: 0, percentage: 0 },
    speeder: { individuals: 0, percentage: 0 },
    straightliner: { individuals: 0, percentage: 0 },
    failed_quality_check: { individuals: 0, percentage: 0 },
    inappropriate_language: { individuals: 0, percentage: 0 },
  },
  completion_rate: 0.25,
  questionnaire_incidence_rate: 0.625,
  target_incidence_rate: 0.7692307692307693,
  incidence_rate: 0.7692307692307693,
  drop_out_rate: 0.125,
  length_of_interview: 412,
}

/** A copy without one field. */
export const without = (row: object, name: string): object =>
  Object.fromEntries(Object.entries(row).filter(([key]) => key !== name))
