/** For requests of tests that are not about budgets. */
import type { Allowance } from '../../../src/base/allowance.js'

export const unlimitedAllowance: Allowance = Object.freeze({ take: () => undefined })
