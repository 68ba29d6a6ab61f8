/** API document, "Fieldwork progress" and "Interview status": the fields, the eleven statuses, and the one that is omitted. */
import { INTERVIEW_STATUSES, PROGRESS_FIELDS, STATUS_ENTRY_FIELDS } from '../fields.js'
import { isObject } from '../json.js'
import type { Evidence } from '../read/evidence.js'
import { isIgnored } from '../read/reader.js'
import { type Failure, fail, holdEach, PASS, type Rule, unseen, type Verdict } from '../verdict.js'
import { conforms, fieldRules, mayBeGone, type SeenRecord } from './fields.js'
import { RATES } from './formulas.js'

const NOTHING = 'no progress was seen'

const records = ({ reader }: Evidence): readonly SeenRecord[] =>
  reader.seen.progresses.map(({ asked, surveyId, progress }) => ({
    asked,
    name: `survey ${surveyId}`,
    record: progress,
  }))

/** A rate over nothing, and the length of no interview, have no value; the document does not say how that is shown. */
const openFields = (evidence: Evidence) => {
  const readings = new Map(evidence.reader.seen.progresses.map((reading) => [reading.progress, reading]))
  return (name: string, record: SeenRecord['record']): boolean => {
    const reading = readings.get(record)
    if (reading === undefined) return false
    if (name === 'length_of_interview') return reading.counts.get('complete') === 0
    const rate = RATES[name === 'incidence_rate' ? 'target_incidence_rate' : name]
    return rate?.of(reading)?.whole === 0
  }
}

const progressFields: readonly Rule[] = Object.entries(PROGRESS_FIELDS).flatMap(([name, field]) => {
  const [rule] = fieldRules({
    prefix: 'progress',
    section: 'Fieldwork progress',
    fields: { [name]: field },
    records: (evidence) => {
      const isOpen = openFields(evidence)
      return records(evidence).filter(({ record }) => !isOpen(name, record))
    },
    nothing: 'no survey with such interviews has been seen',
  })
  if (rule === undefined) return []
  if (name !== 'incidence_rate') return [rule]
  const isGone = ({ reader: { seen } }: Evidence) =>
    seen.progresses.length > 0 && seen.progresses.every(({ progress }) => !(name in progress))
  return [mayBeGone(rule, isGone)]
})

const statusEntry = (status: string): Rule => ({
  id: `progress.status.${status}`,
  section: 'Interview status',
  text: `${status}: individuals (integer) and percentage (number)`,
  passive: true,
  check: ({ reader: { seen, show } }): Verdict =>
    holdEach(
      seen.progresses,
      ({ asked, progress, total }): Failure | null | 'skip' => {
        const byStatus = progress.interview_count_by_status
        if (!isObject(byStatus)) return 'skip'
        const entry = byStatus[status]
        const expected = `${status}: individuals (integer) and percentage (number)`
        if (!isObject(entry)) return { asked, expected, got: show(entry) }
        // Of no interviews there is no share; the document does not say how that is shown.
        const wrong = Object.entries(STATUS_ENTRY_FIELDS).filter(
          ([name, field]) => !(name === 'percentage' && total === 0) && !conforms(entry[name], field),
        )
        return wrong.length === 0 ? null : { asked, expected, got: show(entry) }
      },
      NOTHING,
    ),
})

const noIgnored: Rule = {
  id: 'progress.no-ignored',
  section: 'Interview status',
  text: 'interviews with the status Ignored are omitted',
  passive: true,
  check: ({ reader: { seen } }): Verdict => {
    if (seen.progresses.length === 0) return unseen(NOTHING)
    const found = seen.progresses.find(
      ({ progress: { interview_count_by_status: byStatus } }) =>
        isObject(byStatus) && Object.keys(byStatus).some(isIgnored),
    )
    return found === undefined ? PASS : fail(found.asked, 'no entry for Ignored', 'there is one')
  },
}

export const PROGRESS_RULES: readonly Rule[] = [
  ...progressFields,
  ...INTERVIEW_STATUSES.map(statusEntry),
  noIgnored,
]
