/**
 * What a test compares a client with: everything that the API shows at one moment, and what changes between two. Both come
 * from the same world as the API's answers, without pages, filters and cap; reading them changes nothing.
 */
import type { ProgressResource } from '../resources.js'
import { formatUtc, type Micros } from '../time/iso-time.js'
import { NO_BOUNDS } from '../world/indicators.js'
import type { Organization } from '../world/organization.js'
import { SOURCES_SETTLE_WITHIN } from '../world/sample-sources.js'
import { statusOf, TITLE_EDIT } from '../world/timeline.js'
import type { SurveyTruth, WorldChange } from './operations.js'

/** Yields the pieces of one JSON document, because a large world is a large text. `light` leaves out sources and progress. */
export function* truthText(
  organizations: readonly Organization[],
  at: Micros,
  light: boolean,
): Generator<string, void, undefined> {
  yield `{"now":${JSON.stringify(formatUtc(at))},"accounts":[`
  for (const [place, organization] of organizations.entries()) {
    const { name, id } = organization.identity
    yield `${place === 0 ? '' : ','}{"name":${JSON.stringify(name)},"id":${id},"surveys":[`
    for (const [order, index] of organization.surveyPlaces(at).entries()) {
      const survey = light ? organization.survey(at, index) : surveyTruth(organization, at, index)
      yield `${order === 0 ? '' : ','}${JSON.stringify(survey)}`
    }
    yield ']}'
  }
  yield ']}'
}

const surveyTruth = (organization: Organization, at: Micros, index: number): SurveyTruth => {
  const sources = organization.listSampleSources(at, index)
  const progress = (sourceId: number | null): ProgressResource => {
    const found = organization.progress(at, index, sourceId, NO_BOUNDS)
    if (found === null) throw new Error(`sample source ${sourceId} is listed but has no progress`)
    return found
  }
  return {
    ...organization.survey(at, index),
    sample_sources: sources,
    fieldwork_progress: progress(null),
    sample_source_progress: Object.fromEntries(sources.map(({ id }) => [String(id), progress(id)])),
  }
}

interface TimedChange {
  readonly at: Micros
  readonly change: WorldChange
}

/**
 * The changes after `from` up to and including `to`, past or future, in the order of time: exactly those that are visible
 * at `to` and not at `from`. Interviews are not among them.
 */
export const changesBetween = (
  organizations: readonly Organization[],
  from: Micros,
  to: Micros,
): WorldChange[] => {
  const found: TimedChange[] = []
  for (const organization of organizations) {
    for (const index of organization.surveyPlaces(to).reverse()) {
      for (const timed of changesOfSurvey(organization, index, from)) {
        if (timed.at > from && timed.at <= to) found.push(timed)
      }
    }
  }
  return found.sort((one, other) => one.at - other.at).map(({ change }) => change)
}

const changesOfSurvey = (organization: Organization, index: number, from: Micros): TimedChange[] => {
  const entry = (at: Micros, rest: Omit<WorldChange, 'account' | 'survey_id' | 'at'>): TimedChange => ({
    at,
    change: {
      account: organization.identity.name,
      survey_id: organization.surveyId(index),
      at: formatUtc(at),
      ...rest,
    },
  })
  const changes = organization.changesOf(index)
  const own = changes.map(({ at, code }, place) => {
    const status = statusOf(code)
    if (status !== null) return entry(at, { what: place === 0 ? 'created' : 'status', status })
    return entry(at, { what: code === TITLE_EDIT ? 'title' : 'project_id' })
  })
  // Most surveys of a large world stopped changing long ago. Deriving their sources would take seconds for nothing.
  const last = changes.at(-1)
  if (last === undefined || last.at + SOURCES_SETTLE_WITHIN <= from) return own
  const sources = organization
    .field(index)
    .sources.flatMap(({ id, versions, removedAt }) => [
      ...versions.map(({ at }, place) =>
        entry(at, { what: place === 0 ? 'source_added' : 'source_changed', sample_source_id: id }),
      ),
      ...(removedAt === null ? [] : [entry(removedAt, { what: 'source_removed', sample_source_id: id })]),
    ])
  return [...own, ...sources]
}
