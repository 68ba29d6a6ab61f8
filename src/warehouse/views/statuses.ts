/** Lists of statuses of surveys, as SQL. */
import { INACTIVE_STATUSES } from '../../rules/refresh.js'
import { literal } from '../connection/ddl.js'

/** Fieldwork is running or paused. */
export const IN_FIELD = `('fieldwork', 'deviating_from_specs')`

/** The statuses in which nobody waits for interviews. The other ones are active. */
export const CLOSED = `(${INACTIVE_STATUSES.map(literal).join(', ')})`

/** Joins the active surveys. The history of the other ones is most of a warehouse, because most surveys closed years ago. */
export const OF_ACTIVE_SURVEYS = `
  SEMI JOIN (SELECT account, id AS survey_id FROM main.surveys WHERE status NOT IN ${CLOSED}) USING (account, survey_id)`
