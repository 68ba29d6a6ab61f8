/** Reads some surveys from a published state, with the time of each part. */
import { z } from 'zod'
import { type Instant, minusMs } from '../../model/instant.js'
import type { CellRow } from '../../model/warehouse.js'
import { bigintCell, booleanCell, timestamptzCell, varcharCell } from '../../warehouse/connection/cells.js'
import type { Sql } from '../../warehouse/connection/database.js'
import { conditionOnSurveys, readStored } from '../../warehouse/merge/merge.js'
import { mergedSurveys, type StoredRow } from '../../warehouse/merge/merged-tables.js'
import { noRows, readPending, readSurveys } from '../../warehouse/merge/stored-surveys.js'

/** The surveys of an account that a sample can choose from. */
export interface Population {
  /** Surveys that are not missing and were read at least once, the newest first, as the API lists them. */
  readonly surveys: readonly StoredSurveyPlace[]
  /** The cursor: every change before this time is known; null before the first complete listing. */
  readonly cursor: Instant | null
  /** Rows of a full page of the last listing; null if it had only one page. */
  readonly pageRows: number | null
}

export interface StoredSurveyPlace {
  readonly id: number
  readonly createdAt: Instant
  /** Null: never read, or excluded by the settings, so the survey cannot be chosen. */
  readonly refreshedAt: Instant | null
}

export const readPopulation = async (sql: Sql, account: string): Promise<Population> => {
  const surveys = await sql.rows(
    z.object({ id: bigintCell, createdAt: timestamptzCell, refreshedAt: timestamptzCell.nullable() }),
    `SELECT s.id, s.created_at AS "createdAt", CASE WHEN f.excluded_by IS NULL THEN f.refreshed_at END AS "refreshedAt" FROM main.surveys s
      LEFT JOIN main.freshness f ON f.account = s.account AND f.survey_id = s.id
      WHERE s.account = $1 AND s._missing_since IS NULL ORDER BY s.created_at DESC, s.id DESC`,
    [account],
  )
  const [cursor] = await sql.rows(
    z.object({ updated_since: timestamptzCell.nullable(), page_rows: bigintCell.nullable() }),
    'SELECT updated_since, page_rows FROM _sync.cursors WHERE account = $1',
    [account],
  )
  return { surveys, cursor: cursor?.updated_since ?? null, pageRows: cursor?.page_rows ?? null }
}

/** The stored rows of a survey, including rows that are marked as missing. */
export interface StoredSurvey {
  readonly survey: StoredRow | null
  /** A changed row that waits for its task. */
  readonly pending: CellRow | null
  /** The server time before which every change of its row is known; null if the survey was never listed. */
  readonly listedUntil: Instant | null
  readonly isQueued: boolean
  readonly sources: ReadonlyMap<number, StoredRow>
  readonly progress: StoredRow | null
  readonly sourceProgress: ReadonlyMap<number, StoredRow>
  readonly refreshedAt: Instant | null
  readonly sourcesListedAt: Instant | null
  readonly sourceProgressReadAt: Instant | null
  /**
   * The time up to which the progress of its sources is known, because it was read, or because list and progress of the survey had not
   * changed.
   */
  readonly sourceProgressKnownAt: Instant | null
  /** The parts in quarantine: `surveys`, `sample_sources/12`, `fieldwork_progress`, `fieldwork_progress/12`. */
  readonly quarantine: ReadonlySet<string>
}

const knownRow = z.object({
  id: bigintCell,
  listedAt: timestamptzCell.nullable(),
  refreshedAt: timestamptzCell.nullable(),
  sourcesListedAt: timestamptzCell.nullable(),
  sourceProgressReadAt: timestamptzCell.nullable(),
  sourceProgressKnownAt: timestamptzCell.nullable(),
  isQueued: booleanCell,
})

/** The map has an entry for each of these ids, also of unknown surveys. */
export const readStoredSurveys = async (
  sql: Sql,
  account: string,
  ids: readonly number[],
  { cursor, slackMs }: { readonly cursor: Instant | null; readonly slackMs: number },
): Promise<ReadonlyMap<number, StoredSurvey>> => {
  const known = await sql.rows(
    knownRow,
    `SELECT i.id, f.listed_at AS "listedAt", f.refreshed_at AS "refreshedAt", f.sources_listed_at AS "sourcesListedAt",
        f.source_progress_read_at AS "sourceProgressReadAt", CASE WHEN f.source_progress_read_at IS NOT NULL THEN f.refreshed_at END AS "sourceProgressKnownAt",
        t.survey_id IS NOT NULL AS "isQueued"
      FROM (SELECT DISTINCT unnest(CAST($2::JSON AS BIGINT[])) AS id) i
      LEFT JOIN main.freshness f ON f.account = $1 AND f.survey_id = i.id
      LEFT JOIN _sync.tasks t ON t.account = $1 AND t.survey_id = i.id`,
    [account, JSON.stringify(ids)],
  )
  const ofAccount = { ...sql, account }
  const surveys = await readStored(ofAccount, mergedSurveys, ids)
  const partsOf = await readSurveys(ofAccount, ids)
  const pending = await readPending(ofAccount, ids)
  const quarantine = await readQuarantine(sql, account, ids)
  return new Map(
    known.map(({ id, listedAt, ...times }) => {
      const { sources, progress, sourceProgress } = partsOf.get(id) ?? noRows()
      const survey: StoredSurvey = {
        ...times,
        survey: surveys.get(String(id)) ?? null,
        pending: pending.get(id)?.cells ?? null,
        listedUntil: laterOf(listedAt === null ? null : minusMs(listedAt, slackMs), cursor),
        sources: new Map(sources.map((row) => [Number(row.cells.id), row])),
        progress: progress[0] ?? null,
        sourceProgress: new Map(sourceProgress.map((row) => [Number(row.cells.sample_source_id), row])),
        quarantine: quarantine.get(id) ?? new Set(),
      }
      return [id, survey]
    }),
  )
}

/** Null is earlier than any time. */
export const laterOf = (a: Instant | null, b: Instant | null): Instant | null =>
  a === null || (b !== null && b > a) ? b : a

const readQuarantine = async (
  sql: Sql,
  account: string,
  ids: readonly number[],
): Promise<ReadonlyMap<number, ReadonlySet<string>>> => {
  if (ids.length === 0) return new Map()
  const condition = conditionOnSurveys(account, ids)
  const rows = await sql.rows(
    z.object({ survey_id: bigintCell, part: varcharCell }),
    `SELECT DISTINCT survey_id, concat_ws('/', endpoint, CAST(sample_source_id AS VARCHAR)) AS part
      FROM _sync.rejected_rows WHERE replayed_at IS NULL AND day IS NULL AND ${condition.on('survey_id')}`,
    condition.parameters,
  )
  const parts = new Map<number, Set<string>>()
  for (const { survey_id, part } of rows) parts.set(survey_id, (parts.get(survey_id) ?? new Set()).add(part))
  return parts
}
