/**
 * Writes everything that the API shows at one moment. End-to-end tests compare a warehouse with it. It comes from the
 * same world as the API's answers, without pages, filters and cap. It is written piece by piece, because a large world
 * is a large text.
 */
import type { ProgressResource } from '../resources/fieldwork-progress.js'
import type { Micros } from '../time/iso-time.js'
import { formatUtc } from '../time/iso-time.js'
import { NO_BOUNDS } from '../world/indicators.js'
import type { Organization } from '../world/organization.js'
import type { SurveyTruth } from './answers.js'

/** Yields the pieces of one JSON document. `light` leaves out sources and progress. */
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
