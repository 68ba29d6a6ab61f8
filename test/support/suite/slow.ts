/**
 * Whether the slow suite runs (`npm run test:slow`): more cases of what `npm test` shows once, for which `npm test` has
 * no time on two cores.
 */
export const SLOW = process.env.SLOW === '1'
