/**
 * API document, "Fieldwork progress", field by field from its table. The document leaves open how it shows a rate over
 * zero interviews, or the length of an interview where none is complete. So these six fields may be null or left out;
 * the option `emptyRates` decides.
 */
import { z } from 'zod'
import { type Shown, wholeNumber, wholeNumberOrNull } from './fields.js'

/** One entry of `interview_count_by_status`. `percentage` runs from 0 to 100; 0 where no interview is counted. */
export const statusCount = z
  .strictObject({
    individuals: wholeNumber('The number of interviews'),
    percentage: z
      .number()
      .min(0)
      .max(100)
      .meta({ description: 'Their part of all interviews that are counted, from 0 to 100' }),
  })
  .meta({ description: 'How many interviews have one interview status' })

export type StatusCount = Shown<z.output<typeof statusCount>>

export const interviewCountByStatus = z
  .strictObject({
    complete: statusCount,
    incomplete: statusCount,
    quota_full: statusCount,
    screen_out: statusCount,
    above_target: statusCount,
    manual_action: statusCount,
    pending_analysis: statusCount,
    speeder: statusCount,
    straightliner: statusCount,
    failed_quality_check: statusCount,
    inappropriate_language: statusCount,
  })
  .meta({
    description:
      'Number of interviews per interview status. Interviews with the Ignored status are omitted from the whole response',
  })

/** API document, "Interview status": the keys of `interview_count_by_status`. Ignored is not among them. */
export const INTERVIEW_STATUSES = interviewCountByStatus.keyof().options

export type InterviewStatus = (typeof INTERVIEW_STATUSES)[number]

/** A rate that has no value where its divisor is zero. */
const rate = (description: string) => z.number().min(0).nullable().optional().meta({ description })

export const fieldworkProgress = z
  .strictObject({
    sample_size: wholeNumber('Number of expected complete interviews'),
    interviews_count: wholeNumber('Number of complete interviews collected'),
    interview_count_by_status: interviewCountByStatus,
    completion_rate: rate('complete interviews / total sample size'),
    questionnaire_incidence_rate: rate('complete / (complete + screen_out + quota_full + incomplete)'),
    target_incidence_rate: rate('complete / (complete + screen_out)'),
    incidence_rate: rate(
      'complete / (complete + screen_out); same formula as `target_incidence_rate`; replaced by it',
    ).meta({ deprecated: true }),
    drop_out_rate: rate('incomplete interviews / total number of interviews'),
    length_of_interview: wholeNumberOrNull('Median length of a complete interview, in seconds').optional(),
  })
  .meta({ description: 'The fieldwork progress indicators of a survey, or of one of its sample sources' })

export type ProgressResource = Shown<z.output<typeof fieldworkProgress>>
