/** API document, "Survey" and "List surveys": the fields, the default page, one organization. */
import { SURVEY_FIELDS } from '../fields.js'
import { Unseen } from '../unseen.js'
import { fail, PASS, type Rule } from '../verdict.js'
import { fieldRules, surveyRecords } from './fields.js'
import { sameAsPageOne } from './pagination.js'

export const SURVEY_RULES: readonly Rule[] = [
  ...fieldRules({
    prefix: 'survey',
    section: 'Survey',
    fields: SURVEY_FIELDS,
    records: surveyRecords,
    nothing: 'no survey was seen',
  }),
  {
    id: 'surveys.page-left-out',
    section: 'List surveys',
    text: 'without the parameter page the answer is page 1',
    check: async ({ head, reader }) => {
      const { first, again } = await head()
      return await sameAsPageOne(first, again, () => reader.surveys())
    },
  },
  {
    id: 'surveys.one-organization',
    section: 'List surveys',
    text: 'all surveys belong to one organization',
    passive: true,
    check: ({ reader }) => {
      const records = surveyRecords(reader)
      if (records.length < 2) throw new Unseen('fewer than two surveys were seen')
      const owners = new Set(records.map(({ record }) => record.owner_organization_id))
      if (owners.size === 1) return PASS
      const shown = [...owners]
        .slice(0, 3)
        .map((owner) => reader.show(owner))
        .join(', ')
      return fail('GET …/surveys', 'one owner_organization_id', `${owners.size} of them: ${shown}`)
    },
  },
]
