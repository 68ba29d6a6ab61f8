/** Shortens the story of a failure: removes every part of the plan that the failure does not need. */
import type { Plan, Start } from './plan.js'
import type { Result, Simulation } from './simulate.js'

const TRIALS_MAX = 30

export const shrink = async (
  simulation: Simulation,
  plan: Plan,
  result: Result,
): Promise<{ readonly plan: Plan; readonly result: Result }> => {
  let best = { plan, result }
  let trials = 0
  const kind = kindOf(result)
  for (let again = true; again && trials < TRIALS_MAX; ) {
    again = false
    for (const smaller of smallerPlans(best.plan)) {
      if (trials >= TRIALS_MAX) break
      trials += 1
      const tried = await simulation.run(smaller)
      if (kindOf(tried) !== kind) continue
      best = { plan: smaller, result: tried }
      again = true
      break
    }
  }
  return best
}

/** The promise that was broken first. A plan that breaks another one shows another failure. */
const kindOf = ({ violations }: Result): string => violations[0]?.split(':')[0] ?? ''

function* smallerPlans(plan: Plan): Generator<Plan> {
  for (const place of plan.starts.keys()) {
    yield { ...plan, starts: plan.starts.filter((_, at) => at !== place) }
  }
  if (plan.skewMs !== 0) yield { ...plan, skewMs: 0 }
  for (const [place, start] of plan.starts.entries()) {
    for (const calmer of calmerStarts(start)) {
      yield { ...plan, starts: plan.starts.map((old, at) => (at === place ? calmer : old)) }
    }
  }
}

function* calmerStarts(start: Start): Generator<Start> {
  for (const name of [
    'crash',
    'disk',
    'signal',
    'snapshot',
    'requestsMax',
    'durationMsMax',
    'wallJump',
  ] as const) {
    if (start[name] !== null) yield { ...start, [name]: null }
  }
  for (const fault of Object.keys(start.faults)) {
    yield {
      ...start,
      faults: Object.fromEntries(Object.entries(start.faults).filter(([name]) => name !== fault)),
    }
  }
  const { bucket } = start
  if (bucket !== null && bucket.outage !== null) yield { ...start, bucket: { ...bucket, outage: null } }
  if (bucket !== null && bucket.lost !== null) yield { ...start, bucket: { ...bucket, lost: null } }
  if (bucket !== null && Object.keys(bucket.faults).length > 0)
    yield { ...start, bucket: { ...bucket, faults: {} } }
  if (start.jumps.probability > 0) yield { ...start, jumps: { ...start.jumps, probability: 0 } }
  if (start.forget.length > 0) yield { ...start, forget: [] }
  if (start.vanishing > 0) yield { ...start, vanishing: 0 }
  if (start.loseWork) yield { ...start, loseWork: false }
  if (start.renamed) yield { ...start, renamed: false }
  if (start.full) yield { ...start, full: false }
}
