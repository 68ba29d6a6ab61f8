/**
 * Everything the API would tell at one moment: the oracle that an end-to-end test holds a warehouse against. It
 * comes from the same world as the API's answers, past paging, filters and the cap. Written piece by piece,
 * because a large world is a large text.
 */
import type { ProgressResource } from '../resources/fieldwork-progress.js'
import type { Micros } from '../time/iso-time.js'
import { formatUtc } from '../time/iso-time.js'
import { NO_BOUNDS } from '../world/indicators.js'
import type { Organization } from '../world/organization.js'
import type { SurveyTruth } from './answers.js'

/** `light` leaves out sources and progress: the bare survey list. Yields the pieces of one JSON document. */
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
    const told = organization.progress(at, index, sourceId, NO_BOUNDS)
    if (told === null) throw new Error(`sample source ${sourceId} is listed but has no progress`)
    return told
  }
  return {
    ...organization.survey(at, index),
    sample_sources: sources,
    fieldwork_progress: progress(null),
    sample_source_progress: Object.fromEntries(sources.map(({ id }) => [String(id), progress(id)])),
  }
}
