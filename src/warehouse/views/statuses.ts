/** Lists of statuses of surveys, as SQL. */
import { INACTIVE_STATUSES } from '../../rules/refresh.js'
import { literal } from '../connection/ddl.js'

/** Fieldwork is running or paused. */
export const IN_FIELD = `('fieldwork', 'deviating_from_specs')`

/** The statuses in which nobody waits for interviews. */
export const CLOSED = `(${INACTIVE_STATUSES.map(literal).join(', ')})`
