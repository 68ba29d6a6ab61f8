/** All rules, in the order of the report. */
import type { Rule } from '../verdict.js'
import { ANSWER_RULES } from './answers.js'
import { AUTHENTICATION_RULES } from './authentication.js'
import { BOUND_RULES } from './bounds.js'
import { FORMULA_RULES } from './formulas.js'
import { LIMIT_RULES } from './limits.js'
import { LIST_ORDER_RULES } from './list-order.js'
import { PAGINATION_RULES } from './pagination.js'
import { PROGRESS_RULES } from './progress.js'
import { SOURCE_PROGRESS_RULES, SOURCE_RULES } from './sources.js'
import { STATUS_FILTER_RULES } from './status-filter.js'
import { SURVEY_RULES } from './surveys.js'
import { UPDATED_SINCE_RULES } from './updated-since.js'
import { WINDOW_RULES } from './windows.js'

export const RULES: readonly Rule[] = [
  ...AUTHENTICATION_RULES,
  ...ANSWER_RULES,
  ...SURVEY_RULES,
  ...LIST_ORDER_RULES,
  ...PAGINATION_RULES,
  ...STATUS_FILTER_RULES,
  ...UPDATED_SINCE_RULES,
  ...SOURCE_RULES,
  ...PROGRESS_RULES,
  ...FORMULA_RULES,
  ...SOURCE_PROGRESS_RULES,
  ...WINDOW_RULES,
  ...BOUND_RULES,
  ...LIMIT_RULES,
]
