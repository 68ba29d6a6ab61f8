/** API document, "Survey" and "List surveys": the fields, the page that is meant where none is asked for, one organization. */
import { SURVEY_FIELDS } from '../fields.js'
import type { Evidence } from '../read/evidence.js'
import type { ListReading } from '../read/reader.js'
import { fail, PASS, type Rule, unseen, type Verdict } from '../verdict.js'
import { fieldRules, type SeenRecord } from './fields.js'
import { sameAsPageOne } from './pagination.js'

const SECTION = 'List surveys'

const recordsOf = ({ reader }: Evidence, endpoint: ListReading['endpoint'], name: string) =>
  reader.seen.lists
    .filter((reading) => reading.endpoint === endpoint)
    .flatMap(({ asked, rows }): readonly SeenRecord[] =>
      rows.map((record) => ({ asked, name: `${name} ${reader.show(record.id)}`, record })),
    )

/** Rows of all pages read, each time they were read. */
export const surveyRecords = (evidence: Evidence): readonly SeenRecord[] =>
  recordsOf(evidence, 'surveys', 'survey')
export const sourceRecords = (evidence: Evidence): readonly SeenRecord[] =>
  recordsOf(evidence, 'sample_sources', 'source')

const pageLeftOut: Rule = {
  id: 'surveys.page-left-out',
  section: SECTION,
  text: 'without page comes page 1',
  check: async ({ head, reader }) => {
    const { first, again } = await head()
    return await sameAsPageOne(first, again, () => reader.surveys())
  },
}

const oneOrganization: Rule = {
  id: 'surveys.one-organization',
  section: SECTION,
  text: 'all surveys belong to one organization',
  passive: true,
  check: (evidence): Verdict => {
    const records = surveyRecords(evidence)
    if (records.length < 2) return unseen('fewer than two surveys were seen')
    const owners = new Set(records.map(({ record }) => record.owner_organization_id))
    if (owners.size === 1) return PASS
    const shown = [...owners]
      .slice(0, 3)
      .map((owner) => evidence.reader.show(owner))
      .join(', ')
    return fail('GET …/surveys', 'one owner_organization_id', `${owners.size} of them: ${shown}`)
  },
}

export const SURVEY_RULES: readonly Rule[] = [
  ...fieldRules({
    prefix: 'survey',
    section: 'Survey',
    fields: SURVEY_FIELDS,
    records: surveyRecords,
    nothing: 'no survey was seen',
  }),
  pageLeftOut,
  oneOrganization,
]
