/** Everything that a world shows at a moment, and the changes between two moments: the schemas, and how both are derived. */
import { z } from 'zod'
import {
  type DeepReadonly,
  fieldworkProgress,
  moment,
  object,
  type ProgressResource,
  sampleSource,
  survey,
  surveyStatus,
  text,
  wholeNumber,
} from '../resources.js'
import { formatUtc, type Micros } from '../time.js'
import type { ProgressFilter } from '../world/indicators.js'
import type { Organization } from '../world/organization.js'
import { SOURCES_SETTLE_WITHIN } from '../world/sample-sources.js'
import { statusOf, TITLE_EDIT } from '../world/timeline.js'

const worldChange = object('WorldChange', 'A change of the world', {
  account: text('Name of the account'),
  survey_id: wholeNumber('ID of the survey'),
  at: moment('When it changes'),
  what: z
    .enum(['created', 'status', 'title', 'project_id', 'source_added', 'source_changed', 'source_removed'])
    .meta({ description: 'What changes' }),
  status: surveyStatus.optional().meta({ description: 'The new status, for `created` and `status`' }),
  sample_source_id: wholeNumber('ID of the source, where a source changes').optional(),
})

export type WorldChange = DeepReadonly<z.output<typeof worldChange>>

export const changeList = object('ChangeList', 'What changes in the world between two moments', {
  changes: z.array(worldChange).meta({ description: 'In the order of time' }),
})

const surveyTruth = survey
  .extend({
    sample_sources: z.array(sampleSource).optional().meta({ description: 'In the order of their list' }),
    fieldwork_progress: fieldworkProgress.optional(),
    sample_source_progress: z
      .record(z.string(), fieldworkProgress)
      .optional()
      .meta({ description: "Progress restricted to each source, by the source's id" }),
  })
  .meta({
    id: 'SurveyTruth',
    description: 'A survey with everything that the API shows of it; with `only=surveys`, the survey alone',
  })

const accountTruth = object('AccountTruth', 'An account with everything that the API shows it', {
  name: text('Name of the account'),
  id: wholeNumber('Its Authorization-ID'),
  surveys: z.array(surveyTruth).meta({ description: 'In the order of the survey list' }),
})

export const truth = object('Truth', 'Everything that the API shows at this moment', {
  now: moment("The world's time"),
  accounts: z.array(accountTruth).meta({ description: 'One entry for each account' }),
})

/** Yields the pieces of one JSON document, because a large world is a large text. `light` leaves out sources and progress. */
export function* truthText(
  organizations: readonly Organization[],
  at: Micros,
  light: boolean,
): Generator<string, void, undefined> {
  yield `{"now":${JSON.stringify(formatUtc(at))},"accounts":[`
  for (const [accountIndex, organization] of organizations.entries()) {
    const { name, id } = organization.identity
    yield `${accountIndex === 0 ? '' : ','}{"name":${JSON.stringify(name)},"id":${id},"surveys":[`
    for (const [order, index] of organization.surveyIndexes(at).entries()) {
      const survey = light ? organization.survey(at, index) : truthOf(organization, at, index)
      yield `${order === 0 ? '' : ','}${JSON.stringify(survey)}`
    }
    yield ']}'
  }
  yield ']}'
}

const truthOf = (organization: Organization, at: Micros, index: number) => {
  const sources = organization.listSampleSources(at, index)
  const progress = (filter: ProgressFilter): ProgressResource => {
    const resource = organization.progress(at, index, filter)
    if (resource === null)
      throw new Error(`sample source ${filter.sample_source_id} is listed but has no progress`)
    return resource
  }
  return {
    ...organization.survey(at, index),
    sample_sources: sources,
    fieldwork_progress: progress({}),
    sample_source_progress: Object.fromEntries(
      sources.map(({ id }) => [String(id), progress({ sample_source_id: id })]),
    ),
  }
}

/**
 * The changes after `from` up to and including `to`, past or future, in the order of time: exactly those that are visible at `to` and not
 * at `from`. Interviews do not count as changes.
 */
export const changesBetween = (
  organizations: readonly Organization[],
  from: Micros,
  to: Micros,
): WorldChange[] =>
  organizations
    .flatMap((organization) =>
      organization
        .surveyIndexes(to)
        .reverse()
        .flatMap((index) => changesOfSurvey(organization, index, from))
        .filter(({ at }) => at > from && at <= to),
    )
    .sort((a, b) => a.at - b.at)
    .map(({ change }) => change)

const changesOfSurvey = (organization: Organization, index: number, from: Micros) => {
  const account = organization.identity.name
  const survey_id = organization.surveyId(index)
  const entry = (at: Micros, rest: Pick<WorldChange, 'what' | 'status' | 'sample_source_id'>) => ({
    at,
    change: { account, survey_id, at: formatUtc(at), ...rest },
  })
  const changes = organization.changesOf(index)
  const own = changes.map(({ at, code }, index) => {
    const status = statusOf(code)
    if (status !== null) return entry(at, { what: index === 0 ? 'created' : 'status', status })
    return entry(at, { what: code === TITLE_EDIT ? 'title' : 'project_id' })
  })
  // Most surveys of a large world stopped changing long ago. Deriving their sources would take seconds for nothing.
  const last = changes.at(-1)
  if (last === undefined || last.at + SOURCES_SETTLE_WITHIN <= from) return own
  const sources = organization
    .field(index)
    .flatMap(({ id, versions, removedAt }) => [
      ...versions.map(({ at }, index) =>
        entry(at, { what: index === 0 ? 'source_added' : 'source_changed', sample_source_id: id }),
      ),
      ...(removedAt === null ? [] : [entry(removedAt, { what: 'source_removed', sample_source_id: id })]),
    ])
  return [...own, ...sources]
}
