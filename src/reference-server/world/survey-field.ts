/** The fieldwork of one survey over all time: its sources, and each source's interviews on demand. */
import type { WorldPlan } from './creation.js'
import { deriveHabits } from './habits.js'
import { deriveInterviews, type Interviews } from './interviews.js'
import { openWindows, windowsFrom } from './open-windows.js'
import { deriveSampleSources, type SampleSource } from './sample-sources.js'
import type { Change } from './timeline.js'

export interface SurveyField {
  /** Oldest first. */
  readonly sources: readonly SampleSource[]
  interviewsOf(source: SampleSource): Interviews
}

/** `changes` are the survey's own, the first of them its creation. */
export const deriveSurveyField = (
  plan: WorldPlan,
  index: number,
  changes: readonly Change[],
): SurveyField => {
  const habits = deriveHabits(plan, index)
  const windows = openWindows(changes, habits.softLaunch)
  const known = new Map<number, Interviews>()
  return {
    sources: deriveSampleSources(plan, index, changes, windows),
    interviewsOf: (source) => {
      const derived =
        known.get(source.slot) ??
        deriveInterviews(plan, index, source, windowsFrom(windows, source.createdAt), habits)
      known.set(source.slot, derived)
      return derived
    },
  }
}
