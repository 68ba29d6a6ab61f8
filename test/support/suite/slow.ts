/**
 * Whether the slow suite runs (`npm run test:slow`). It tries more cases of what `npm test` shows once; they would take
 * too long in `npm test` on two cores.
 */
import { test } from 'vitest'

export const SLOW = process.env.SLOW === '1'

export const slow = test.runIf(SLOW)
