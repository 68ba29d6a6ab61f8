/** P4: exit code, report and run record agree and are true. */
import type { StartResult } from '../process.js'
import type { World } from '../world.js'
import type { Queryable, Violation } from './row-text.js'

export interface EndCheck {
  readonly world: World
  /** The name of the account in the settings. */
  readonly account: string
  readonly ended: StartResult
  /** The number of answers before this start. */
  readonly receivedBefore: number
}

export const checkEnd = async (given: EndCheck, reader: Queryable | null): Promise<Violation[]> => {
  const { account, ended } = given
  const { exitCode, report, problem } = ended
  if (exitCode === null) return []
  if (exitCode === 1) return [`P4: exit 1, a bug: ${problem}`]
  const found: Violation[] = []
  if (ended.stoppingTookMs !== null && ended.stoppingTookMs > STOPPING_MS_MAX)
    found.push(
      `P5: ${Math.round(ended.stoppingTookMs)} ms passed from the signal to the end, more than ${STOPPING_MS_MAX}`,
    )
  if (report === null) {
    if (exitCode === 0) found.push('P4: exit 0 without a report')
    return found
  }
  if (reader === null) return ['P4: there is a report, but no work database']
  const [last] = await reader.query('SELECT run_id FROM _sync.runs ORDER BY run_number DESC LIMIT 1')
  const own = report.accounts[0]
  const [record] = await reader.query(
    `SELECT status, exit_code, reason, left_over, rejected_rows FROM _sync.runs WHERE run_id = '${own?.runId}'`,
  )
  const [tasks] = await reader.query(`SELECT count(*) AS n FROM _sync.tasks WHERE account = '${account}'`)
  if (record === undefined) found.push('P4: the run is not in _sync.runs')
  else if (last?.run_id !== own?.runId)
    found.push(`P4: the run of now is not the last one, but ${last?.run_id} is`)
  // A disk that refuses every commit prevents the record of its own failure.
  if (
    record !== undefined &&
    record.exit_code !== exitCode &&
    !(exitCode === 7 && ended.generation.failed.some(isCommit))
  )
    found.push(`P4: exit ${exitCode}, but _sync.runs says ${record.exit_code} (${record.reason})`)
  if (exitCode === 0) found.push(...(await untrueSuccess(given, reader, Number(tasks?.n))))
  else if (own !== undefined && own.reason === null) found.push(`P4: exit ${exitCode} without a reason`)
  const statuses: Record<number, string> = { 0: 'complete', 3: 'partial' }
  if (own !== undefined && own.status !== (statuses[exitCode] ?? 'failed'))
    found.push(`P4: exit ${exitCode} is reported as ${own.status}`)
  return found
}

const isCommit = (step: string): boolean => /^\d+ (?:COMMIT|CHECKPOINT)/.test(step)

/** Virtual milliseconds from a signal to the end. */
const STOPPING_MS_MAX = 10_000

const untrueSuccess = async (
  { world, account, ended, receivedBefore }: EndCheck,
  reader: Queryable,
  tasks: number,
): Promise<Violation[]> => {
  const found: Violation[] = []
  if (tasks > 0) found.push(`P4: exit 0, but ${tasks} surveys are left in the queue`)
  if (ended.network.untypable > 0) found.push('P4: exit 0, but a row that cannot be typed was received')
  if (ended.report?.publishError !== null || ended.report.published.length === 0)
    found.push('P4: exit 0, but nothing was published')
  const received = world.received.slice(receivedBefore)
  const listed = received.filter(
    ({ path, query }) => path.endsWith('/surveys') && /(^|&)page=1(&|$)/.test(query),
  )
  const first = received.find(({ path }) => path.endsWith('/surveys'))
  if (listed.length === 0 && first === undefined) found.push('P4: exit 0, but nothing was listed')
  const [failed] = await reader.query(
    `SELECT count(*) AS n FROM main.freshness WHERE account = '${account}' AND last_error IS NOT NULL`,
  )
  if (Number(failed?.n) > 0) found.push('P4: exit 0, but a survey could not be refreshed')
  return found
}
