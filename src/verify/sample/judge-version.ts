/** Judges the row of a survey or source, which carries `updated_at`: whether a change since our reading explains a difference. Pure. */
import type { Column } from '../../model/columns.js'
import { formatInstant, type Instant } from '../../model/instant.js'
import type { CellRow } from '../../model/warehouse.js'
import type { StoredRow } from '../../warehouse/merge/merged-tables.js'
import { CAME_BACK, differencesOf, EQUAL, EXTRA, type Judgement, judged } from './verdict.js'

interface VersionQuestion {
  readonly columns: readonly Column[]
  /** Null if the warehouse has no such row. */
  readonly stored: Pick<StoredRow, 'cells' | 'missingSince'> | null
  readonly service: CellRow & { readonly updated_at: Instant }
  /** Changes before this moment are known to us, by the rules of the sync; null if nothing was read. */
  readonly knownUntil: Instant | null
  /** Why a difference is known; null if it is not. */
  readonly waitsFor: string | null
}

export const judgeVersion = (question: VersionQuestion): Judgement => {
  const { columns, stored, service, knownUntil, waitsFor } = question
  const differences = differencesOf(columns, stored?.cells ?? null, service)
  const isMissing = stored !== null && stored.missingSince !== null
  if (differences.length === 0 && !isMissing) return EQUAL
  if (waitsFor !== null) return judged('waiting', waitsFor, differences)
  if (knownUntil === null) return judged('waiting', 'it was never read', differences)
  const known = formatInstant(knownUntil)
  const changed = `changed ${formatInstant(service.updated_at)}`
  if (service.updated_at >= knownUntil)
    return judged('moved', `${changed}; we know changes before ${known}`, differences)
  if (isMissing) return judged('unclear', CAME_BACK, differences)
  const lost = `the warehouse does not have it, although it was last ${changed}, before ${known}`
  if (stored === null) return judged('wrong', lost, differences)
  if (differences.every(({ field }) => field === EXTRA))
    return judged('unclear', 'the API may have added unknown fields since', differences)
  return judged('wrong', `last ${changed}, and we know every change before ${known}`, differences)
}
