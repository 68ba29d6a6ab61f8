/** The world of the demo and of the picture of its report. */
import { fileURLToPath } from 'node:url'

/**
 * On the last night, one survey is in its soft launch, and another one has one bad source. `plan.csv` names surveys of this world, and no
 * other one.
 */
export const WORLD = '--surveys 60 --seed 63308 --bad-sources 15 --titles plain --clock frozen'
/** A forecast needs a week. */
export const NIGHTS = 10
/** They name the plan. */
export const SETTINGS = fileURLToPath(new URL('fieldwork-sync.yaml', import.meta.url))
