/** SQL of tables with all present columns, also in the state of an earlier version that lacks some. */

export const FRESHNESS =
  '(FROM main.freshness UNION ALL BY NAME SELECT NULL::VARCHAR AS excluded_by, NULL::TIMESTAMPTZ AS unlisted_since, NULL::BIGINT AS sources_left_out WHERE false)'

export const CURSORS =
  '(FROM _sync.cursors UNION ALL BY NAME SELECT NULL::TIMESTAMPTZ AS dated_at WHERE false)'

export const LISTINGS =
  '(FROM _sync.listings UNION ALL BY NAME SELECT NULL::TIMESTAMPTZ AS ceiling_dated_at WHERE false)'

export const TASKS = `(FROM _sync.tasks UNION ALL BY NAME
  SELECT NULL::BIGINT AS unfinished, NULL::TIMESTAMPTZ AS unfinished_at, NULL::TIMESTAMPTZ AS failed_at WHERE false)`
