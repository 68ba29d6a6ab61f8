/** Every rule of tables and views, in the order in which they are checked. */
import type { Rule } from '../rule.js'
import { BOOKKEEPING_RULES } from './bookkeeping.js'
import { HISTORY_RULES } from './histories.js'
import { PERIOD_RULES } from './periods.js'
import { TABLE_RULES, VIEW_RULES } from './rows.js'

export const ALL_RULES: readonly Rule[] = [
  ...TABLE_RULES,
  ...HISTORY_RULES,
  ...BOOKKEEPING_RULES,
  ...VIEW_RULES,
  ...PERIOD_RULES,
]
