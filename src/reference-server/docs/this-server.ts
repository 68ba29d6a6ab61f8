/** What the docs page says beyond the OpenAPI document: how this server is set, and examples from its world. */
import { ENDPOINTS } from '../api/endpoints.js'
import { flagOf, type ReferenceServerSettings } from '../options.js'
import { formatUtc, type Micros } from '../time/iso-time.js'
import type { Organization } from '../world/organization.js'
import { type Example, exampleOf } from './examples.js'

export interface ServerDescription {
  /** By operationId. */
  readonly examples: Readonly<Record<string, Example>>
  /** By flag. */
  readonly settings: Readonly<Record<string, string>>
}

interface ServerState {
  readonly organizations: readonly Organization[]
  readonly at: Micros
  readonly settings: ReferenceServerSettings
  readonly origin: string
}

export const describeServer = ({ organizations, at, settings, origin }: ServerState): ServerDescription => {
  const [organization] = organizations
  const { pageSize } = settings
  const examples = ENDPOINTS.flatMap((endpoint) =>
    organization === undefined
      ? []
      : [[endpoint.operationId, exampleOf(endpoint, { organization, at, pageSize, origin })] as const],
  )
  return { examples: Object.fromEntries(examples), settings: settingTexts(settings) }
}

const settingTexts = (settings: ReferenceServerSettings): Readonly<Record<string, string>> => {
  const { rateLimit, ratePhase, startAt, clock, faults } = settings
  const texts = {
    ...settings,
    rateLimit: `${rateLimit.requests}/${rateLimit.perMs}ms`,
    ratePhase: `${ratePhase}ms`,
    startAt: formatUtc(startAt),
    clock: clock.label,
    faults: typeof faults === 'string' ? faults : faults === null ? 'none' : 'a list',
  }
  return Object.fromEntries(
    Object.entries(texts).map(([name, value]) => [`--${flagOf(name)}`, String(value)]),
  )
}
