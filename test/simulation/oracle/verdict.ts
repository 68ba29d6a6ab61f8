/** P4: `status --check` says how the last run ended, whatever it published. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { type Verdict, verdictOf } from '../../../src/commands/status/verdict.js'
import { readLastRuns as readInBucket } from '../../../src/storage/bucket/last-run.js'
import { type LastRuns, readLastRuns } from '../../../src/storage/last-run.js'
import { readSyncs } from '../../../src/warehouse/status.js'
import { NEVER } from '../../support/storage/bucket.js'
import type { BucketSide } from '../bucket-side.js'
import type { Readers } from '../readers.js'
import type { NightCheck } from './end.js'
import type { Violation } from './row-text.js'

interface VerdictCheck extends NightCheck {
  readonly readers: Readers
  readonly bucket: BucketSide | null
  readonly nowMs: number
}

/** Asks for the verdict as soon as the run has ended, or was killed. `published`: the directory of the published files. */
export const checkVerdict = async (given: VerdictCheck, published: string): Promise<Violation[]> => {
  const { account, nowMs, start, ended } = given
  const { exitCode, runId } = ended
  // A run that was refused is no news of the warehouse. A second run may have ended later.
  if (exitCode === 2 || exitCode === 6 || (start.bucket?.rival ?? null) !== null) return []
  const runs = await lastRunsOf(given)
  const own = runs.last?.runId === runId ? runs.last : null
  const { syncs, shown } = await publishedRuns(given, join(published, 'fieldwork.duckdb'))
  const found = unrecorded(given, own, shown !== null)
  if (own !== null && own.endedAt !== null && exitCode !== null && own.exitCode !== exitCode)
    found.push(`P4: exit ${exitCode}, but last-run.json says ${own.exitCode}`)
  const isNamed = syncs.length === 0 || syncs.some((sync) => sync.account === account)
  const expected = expectedStates(own, shown).flatMap(lateIf(given))
  // Until an account is published under its name, the others count too.
  if (!isNamed || expected.length === 0) return found
  const verdict = verdictOf(syncs, { accountNames: [account], runs, nowMs, maxAgeMs: 26 * HOUR_MS })
  return expected.includes(verdict.state)
    ? found
    : [...found, `P4: status says ${verdict.text}, but the last run is ${expected.join(' or ')}`]
}

const HOUR_MS = 3_600_000

const lastRunsOf = ({ bucket, ended: { directory }, nowMs }: VerdictCheck): Promise<LastRuns> =>
  bucket === null ? readLastRuns(directory, nowMs) : readInBucket(bucket.versions.client(), null, NEVER)

/** `shown`: the exit code of this run in the published file; null without its end. */
const publishedRuns = async ({ readers, account, ended }: VerdictCheck, file: string) => {
  if (!existsSync(file)) return { syncs: [], shown: null }
  await using reader = await readers.open(file)
  const [run] = await reader.query(
    `SELECT exit_code FROM _sync.runs WHERE run_id = '${ended.runId}' AND account = '${account}' AND ended_at IS NOT NULL`,
  )
  return { syncs: await readSyncs(reader), shown: run === undefined ? null : Number(run.exit_code) }
}

type Own = LastRuns['last']

/** A run that sent requests has left its start before, and one that ended its end. If it could not, it says so. */
const unrecorded = (
  { world, start, ended, receivedBefore }: VerdictCheck,
  own: Own,
  isShown: boolean,
): Violation[] => {
  const { exitCode, report, problem } = ended
  const hasSent = world.received.length > receivedBefore
  if (exitCode === null) {
    return own === null && hasSent ? ['P4: a killed run sent requests, and left no start'] : []
  }
  if (isShown || (own !== null && own.endedAt !== null)) return []
  // A run that never held its bucket leaves nothing.
  if (start.bucket !== null && report === null && !hasSent) return []
  const said = [problem, ...(report?.accounts ?? []).map(({ reason }) => reason)]
  return said.some((text) => text?.includes('status cannot show this end') === true)
    ? []
    : [`P4: exit ${exitCode} is not recorded, and the run does not say so: ${said.join('; ')}`]
}

type State = Verdict['state']

/** By a wrong clock, the last complete run may be dated in the future or long ago. */
const lateIf = ({ plan }: VerdictCheck) => {
  const hasOddClocks = plan.starts.some(
    ({ wallJump, clockAhead, bucket }) =>
      wallJump !== null || clockAhead !== null || (bucket !== null && bucket.skewMs !== 0),
  )
  return (state: State): readonly State[] => (hasOddClocks && state === 'ok' ? ['ok', 'late'] : [state])
}

/** None: the run has left nothing. */
const expectedStates = (own: Own, shown: number | null): readonly State[] => {
  if (own !== null && own.endedAt !== null) return statesOf(own.exitCode)
  return [...(own === null ? [] : ['interrupted' as const]), ...(shown === null ? [] : statesOf(shown))]
}

/** A partial run is late if none was complete for long. */
const statesOf = (exitCode: number | null): readonly State[] =>
  exitCode === 0 ? ['ok'] : exitCode === 3 ? ['partial', 'late'] : ['failed']
