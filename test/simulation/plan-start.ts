/** Starts without faults, from which plans make others. */
import { UNDISTURBED } from './generation.js'
import type { Plan, Start } from './plan.js'
import { LAST_BUCKET_START } from './plan-bucket.js'

const MINUTE_MS = 60_000
const DAY_MS = 86_400_000

/** A start without faults. */
export const CALM: Omit<Start, 'gapMs'> = {
  ...UNDISTURBED,
  commitMs: 300,
  ...{ networkSeed: 1, latencyMsMax: 5, faults: {}, refuse: null, outage: null },
  ...{ jumps: { probability: 0, hoursMax: 1 }, wallJump: null, clockAhead: null },
  ...{ shortList: null, shortSources: null },
  ...{ full: true, requestsMax: null, durationMsMax: null, signal: null, snapshot: null },
  ...{
    forget: [],
    moves: 0,
    moving: 0,
    vanishing: 0,
    loseWork: false,
    renamed: false,
    isOrdinary: false,
    bucket: null,
    planted: null,
  },
}

/** A last start without faults, after every earlier request has left every rate window. */
export const lastStart = ({ seed, hasBucket, world: { speed, rate } }: Plan): Start => ({
  ...CALM,
  gapMs: Math.max(DAY_MS / speed, 2 * rate.perMs + MINUTE_MS),
  bucket: hasBucket ? { ...LAST_BUCKET_START, isWithoutDelta: seed % 2 === 0 } : null,
})
