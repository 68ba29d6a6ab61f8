/** API document, "Fieldwork progress" and "Interview status": the fields, the eleven statuses, and the omitted one. */
import { INTERVIEW_STATUSES, PROGRESS_FIELDS, STATUS_ENTRY_FIELDS } from '../fields.js'
import { isObject } from '../json.js'
import { isIgnored, type ProgressReading } from '../read/reader.js'
import { fail, PASS, type Rule } from '../verdict.js'
import { eachProgress } from './each.js'
import { conforms, fieldRules } from './fields.js'
import { mayBeGone, RATES } from './formulas.js'

/** A rate over zero and the median length of no interview have no value. The document does not say how that is shown. */
const isOpen = (reading: ProgressReading, name: string): boolean => {
  if (name === 'length_of_interview') return reading.counts.get('complete') === 0
  const rate = RATES[name === 'incidence_rate' ? 'target_incidence_rate' : name]
  return rate?.whole(reading) === 0
}

const statusEntry = (status: string): Rule => {
  const text = `${status}: individuals (integer) and percentage (number)`
  return eachProgress({
    id: `progress.status.${status}`,
    section: 'Interview status',
    text,
    judge: ({ asked, progress: { interview_count_by_status: byStatus }, total }, { show }) => {
      if (!isObject(byStatus)) return null
      const entry = byStatus[status]
      const isRight =
        isObject(entry) &&
        Object.entries(STATUS_ENTRY_FIELDS).every(
          // The document does not say how a percentage of no interviews is shown.
          ([name, field]) => (name === 'percentage' && total === 0) || conforms(entry[name], field),
        )
      return isRight ? PASS : fail(asked, text, show(entry))
    },
  })
}

export const PROGRESS_RULES: readonly Rule[] = [
  ...fieldRules({
    prefix: 'progress',
    section: 'Fieldwork progress',
    fields: PROGRESS_FIELDS,
    records: ({ seen }) =>
      seen.progresses.map((reading) => ({
        asked: reading.asked,
        name: `survey ${reading.surveyId}`,
        record: reading.progress,
        isOpen: (name) => isOpen(reading, name),
      })),
    nothing: 'no survey seen has the interviews that the rule needs',
  }).map((rule) => (rule.id === 'progress.incidence_rate' ? mayBeGone(rule) : rule)),
  ...INTERVIEW_STATUSES.map(statusEntry),
  eachProgress({
    id: 'progress.no-ignored',
    section: 'Interview status',
    text: 'interviews with the status Ignored are omitted',
    judge: ({ asked, progress: { interview_count_by_status: byStatus } }) =>
      isObject(byStatus) && Object.keys(byStatus).some(isIgnored)
        ? fail(asked, 'no entry for Ignored', 'an entry for Ignored')
        : PASS,
  }),
]
