/** P4: exit code, report and the record of the run agree, and tell the truth. */
import type { Ended } from '../process.js'
import type { World } from '../world.js'
import type { Broken, Open } from './row-text.js'

export interface EndOf {
  readonly world: World
  /** What the settings called the account. */
  readonly account: string
  readonly ended: Ended
  /** Answers before this start. */
  readonly toldBefore: number
}

/** P4: exit code, report and the record of the run agree, and tell the truth. */
export const checkEnd = async (given: EndOf, reader: Open | null): Promise<Broken[]> => {
  const { account, ended } = given
  const { exitCode, report, problem } = ended
  if (exitCode === null) return []
  if (exitCode === 1) return [`P4: exit 1, a bug: ${problem}`]
  const found: Broken[] = []
  if (ended.stoppingTookMs !== null && ended.stoppingTookMs > STOPPING_MS_MAX)
    found.push(`P5: ${Math.round(ended.stoppingTookMs)} ms after the signal it was still at work`)
  if (report === null) {
    if (exitCode === 0) found.push('P4: exit 0 without a report')
    return found
  }
  if (reader === null) return ['P4: a report, and no work database']
  const [last] = await reader.query(
    'SELECT status, exit_code, reason, left_over, rejected_rows FROM _sync.runs ORDER BY started_at DESC, run_id DESC LIMIT 1',
  )
  const own = report.accounts[0]
  const [record] = await reader.query(
    `SELECT status, exit_code, reason, left_over, rejected_rows FROM _sync.runs WHERE run_id = '${own?.runId}'`,
  )
  const [tasks] = await reader.query(`SELECT count(*) AS n FROM _sync.tasks WHERE account = '${account}'`)
  if (record === undefined) found.push('P4: the run is not in _sync.runs')
  // A disk on which nothing can be committed keeps the record of its own failure away.
  else if (record.exit_code !== exitCode && !(exitCode === 7 && ended.generation.failed.some(isCommit)))
    found.push(`P4: exit ${exitCode}, but _sync.runs says ${record.exit_code} (${record.reason})`)
  if (exitCode === 0) found.push(...(await untrueSuccess(given, reader, Number(tasks?.n))))
  else if (own !== undefined && own.reason === null) found.push(`P4: exit ${exitCode} without a reason`)
  const statuses: Record<number, string> = { 0: 'complete', 3: 'partial' }
  if (own !== undefined && own.status !== (statuses[exitCode] ?? 'failed'))
    found.push(`P4: exit ${exitCode} is reported as ${own.status}`)
  if (last === undefined) found.push('P4: no run is recorded')
  return found
}

const isCommit = (step: string): boolean => /^\d+ (?:COMMIT|CHECKPOINT)/.test(step)

/** From a signal to the end, virtual milliseconds. */
const STOPPING_MS_MAX = 10_000

const untrueSuccess = async (
  { world, account, ended, toldBefore }: EndOf,
  reader: Open,
  tasks: number,
): Promise<Broken[]> => {
  const found: Broken[] = []
  if (tasks > 0) found.push(`P4: exit 0, and ${tasks} surveys are left in the queue`)
  if (ended.network.untypable > 0) found.push('P4: exit 0, and a row that cannot be typed was received')
  if (ended.report?.publishError !== null || ended.report.published.length === 0)
    found.push('P4: exit 0, and nothing was published')
  const told = world.told.slice(toldBefore)
  const listed = told.filter(({ path, query }) => path.endsWith('/surveys') && /(^|&)page=1(&|$)/.test(query))
  const first = told.find(({ path }) => path.endsWith('/surveys'))
  if (listed.length === 0 && first === undefined) found.push('P4: exit 0, and nothing was listed')
  const [failed] = await reader.query(
    `SELECT count(*) AS n FROM main.freshness WHERE account = '${account}' AND last_error IS NOT NULL`,
  )
  if (Number(failed?.n) > 0) found.push('P4: exit 0, and a survey could not be refreshed')
  return found
}
