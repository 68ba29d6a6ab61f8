/**
 * Lists what changes in the world between two moments, past or future, so that a test can find a survey that changes
 * while the test runs. The changes are derived from the plan, like everything; listing them changes nothing.
 */
import { formatUtc, type Micros } from '../time/iso-time.js'
import type { Organization } from '../world/organization.js'
import { SOURCES_SETTLE_WITHIN } from '../world/sample-sources.js'
import { statusOf, TITLE_EDIT } from '../world/timeline.js'
import type { WorldChange } from './answers.js'

interface TimedChange {
  readonly at: Micros
  readonly change: WorldChange
}

/**
 * The changes after `from` up to and including `to`, in the order of time: exactly those that are visible at `to` and
 * not at `from`. Interviews are not among them.
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
