/**
 * The sample sources of a survey. Some are created late, during fieldwork; some are removed. A change of a target or text moves only the
 * source's own updated_at. In a survey that is draft, complete or user_demo, sources change only in the same moment as the survey, so a
 * client that reads a complete survey again only when it has changed misses nothing. The plan may allow sources to change at any time.
 */
import { provider as providers, type SampleSourceResource, type SurveyStatus } from '../resources.js'
import { formatIsoTime, MICROS_PER_DAY, MICROS_PER_SECOND, type Micros, type TimeStyle } from '../time.js'
import type { FieldWindow } from './arrival.js'
import { sampleSourceId } from './identities.js'
import { PURPOSES, Random } from './random.js'
import { type Change, drawGrain, floorTo, type Grain, statusOf, type WorldPlan } from './timeline.js'
import {
  COUNTRIES,
  type Country,
  drawTimeStyle,
  hashidOf,
  sourceDescriptionOf,
  sourceNameOf,
} from './vocabulary.js'

/** A source over all time. */
export interface SampleSource {
  readonly id: number
  readonly slot: number
  readonly createdAt: Micros
  /** From this moment on, the source is not listed and its interviews do not count. Null: the source stays. */
  readonly removedAt: Micros | null
  /** In the order of time, up to its removal. The first is the source's creation. */
  readonly versions: readonly SourceVersion[]
  /** Its respondents keep the hours of this country. */
  readonly country: Country
}

/** API document, "Sample source": how the source is shown from `at` on. */
interface SourceVersion {
  readonly at: Micros
  readonly shown: SampleSourceResource
}

/** A few surveys have so many sources that they fill exactly one page of fifty, or need a second page. */
const MANY_PROBABILITY = 0.01
const MANY_MIN = 50
const MANY_SPAN = 6
/** Weights of 0, 1, 2… sources for the other surveys. */
const SOURCE_COUNT_WEIGHTS = [0.05, 0.3, 0.25, 0.17, 0.11, 0.07, 0.05]
const SAMPLE_SIZES = [0, 20, 50, 80, 100, 120, 150, 200, 200, 250, 300, 300, 400, 500, 750, 1000] as const
const SETUP_DAYS_MAX = 2
const EDIT_COUNT_WEIGHTS = [0.5, 0.32, 0.18]
const EDIT_DAYS_MAX = 20
const LATE_PROBABILITY = 0.2
const SAME_MOMENT_PROBABILITY = 0.4
const REMOVAL_PROBABILITY = 0.07
const REMOVAL_DAYS_MAX = 25

/** After this time since the last change of a survey, none of its sources changes. */
export const SOURCES_SETTLE_WITHIN: Micros =
  (SETUP_DAYS_MAX + (EDIT_COUNT_WEIGHTS.length - 1) * EDIT_DAYS_MAX + 1) * MICROS_PER_DAY

/** All sources that survey `index` ever has, oldest first. `windows` are when the survey is open for interviews. */
export const deriveSampleSources = (
  plan: WorldPlan,
  index: number,
  changes: readonly Change[],
  windows: readonly FieldWindow[],
): SampleSource[] => {
  const surveyCreatedAt = changes.at(0)?.at ?? 0
  const random = new Random(plan, index, PURPOSES.sources)
  const count = random.chance(MANY_PROBABILITY)
    ? MANY_MIN + random.below(MANY_SPAN)
    : random.weighted(SOURCE_COUNT_WEIGHTS)
  const grain = drawGrain(random)
  const moments: Micros[] = []
  for (let position = 0; position < count; position++) {
    const together = moments.at(-1)
    const drawn = drawCreation(random, surveyCreatedAt, windows)
    moments.push(together !== undefined && random.chance(SAME_MOMENT_PROBABILITY) ? together : drawn)
  }
  return moments
    .map((at) => activeMoment(plan, changes, floorTo(grain, at)) ?? surveyCreatedAt)
    .sort((a, b) => a - b)
    .map((at, slot) => deriveSource(plan, index, { slot, createdAt: at, grain, changes }))
}

/** `at`, or the survey's next change if the survey is quiet at `at`; null if there is no next change. */
const activeMoment = (plan: WorldPlan, changes: readonly Change[], at: Micros): Micros | null => {
  if (plan.sourceChanges === 'free') return at
  const status = changes
    .filter((change) => change.at <= at)
    .reduce<SurveyStatus | null>((before, { code }) => statusOf(code) ?? before, null)
  if (status !== null && !QUIET_STATUSES.includes(status)) return at
  return changes.find((change) => change.at >= at)?.at ?? null
}

export const QUIET_STATUSES: readonly SurveyStatus[] = ['draft', 'complete', 'user_demo']

/** The source as it is shown at `at`; null before it exists and once it is removed. */
export const shownAt = ({ versions, removedAt }: SampleSource, at: Micros): SampleSourceResource | null =>
  removedAt !== null && removedAt <= at
    ? null
    : (versions.findLast((version) => version.at <= at)?.shown ?? null)

const drawCreation = (random: Random, surveyCreatedAt: Micros, windows: readonly FieldWindow[]): Micros => {
  const [opening, closing] = [windows.at(0), windows.at(-1)]
  const late = random.chance(LATE_PROBABILITY)
  const place = random.fraction()
  if (late && opening && closing) return opening.from + place * (closing.to - opening.from)
  return surveyCreatedAt + MICROS_PER_SECOND * 30 + place * place * SETUP_DAYS_MAX * MICROS_PER_DAY
}

interface SourceSetup extends Pick<SampleSource, 'slot' | 'createdAt'> {
  readonly grain: Grain
  readonly changes: readonly Change[]
}

const deriveSource = (plan: WorldPlan, index: number, setup: SourceSetup): SampleSource => {
  const { slot, createdAt, grain } = setup
  const random = new Random(plan, index, PURPOSES.source, slot)
  const id = sampleSourceId(plan, index, slot)
  const provider = random.pick(providers.options)
  const country = random.pick<Country>(COUNTRIES)
  const hashid = hashidOf(random)
  const panelistIdRequired = random.chance(0.5)
  const timeStyle = drawTimeStyle(random, grain)
  const name = sourceNameOf(random, plan.titles)
  const number = random.below(1_000)
  const shown: SampleSourceResource = {
    id,
    provider,
    sample_size: random.pick(SAMPLE_SIZES),
    country_code: country.code,
    description: sourceDescriptionOf(random, number, 0, plan.titles),
    name,
    hashid,
    panelist_id_required: panelistIdRequired,
    created_at: formatIsoTime(createdAt, timeStyle),
    updated_at: formatIsoTime(createdAt, timeStyle),
  }
  const removedAt = drawRemoval(plan, new Random(plan, index, PURPOSES.sourceEnd, slot), setup)
  const versions = drawVersions(plan, random, setup, shown, number, timeStyle)
  return {
    id,
    slot,
    createdAt,
    removedAt,
    country,
    versions: versions.filter(({ at }) => removedAt === null || at < removedAt),
  }
}

const drawRemoval = (
  plan: WorldPlan,
  random: Random,
  { createdAt, grain, changes }: SourceSetup,
): Micros | null => {
  if (!random.chance(REMOVAL_PROBABILITY)) return null
  const drawn = createdAt + random.fraction() * REMOVAL_DAYS_MAX * MICROS_PER_DAY
  const at = activeMoment(plan, changes, floorTo(grain, drawn))
  return at === null || at <= createdAt ? null : at
}

/** `first`, the source at its creation, and the source after each edit. */
const drawVersions = (
  plan: WorldPlan,
  random: Random,
  { createdAt, grain, changes }: SourceSetup,
  first: SampleSourceResource,
  number: number,
  timeStyle: TimeStyle,
): SourceVersion[] => {
  let version: SourceVersion = { at: createdAt, shown: first }
  const versions = [version]
  const edits = random.weighted(EDIT_COUNT_WEIGHTS)
  for (let edit = 1; edit <= edits; edit++) {
    const drawn =
      version.at + MICROS_PER_SECOND * 60 + random.fraction() ** 1.5 * EDIT_DAYS_MAX * MICROS_PER_DAY
    const at = activeMoment(plan, changes, floorTo(grain, drawn))
    if (at === null) break
    const { shown } = version
    const edited = random.chance(0.6)
      ? { sample_size: adjusted(random, shown.sample_size) }
      : { description: sourceDescriptionOf(random, number, edit, plan.titles) }
    version = { at, shown: { ...shown, ...edited, updated_at: formatIsoTime(at, timeStyle) } }
    versions.push(version)
  }
  return versions
}

const adjusted = (random: Random, sampleSize: number): number => {
  const step = 10 + random.below(200)
  return sampleSize > 0 && random.chance(0.5) ? Math.max(0, sampleSize - step) : sampleSize + step
}
