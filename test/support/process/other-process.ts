/** Starts other processes that open a warehouse with the built program (open-warehouse.mjs). */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { onTestFinished } from 'vitest'

const HOLD_OPEN = fileURLToPath(new URL('./hold-open.mjs', import.meta.url))
const FIXTURE = fileURLToPath(new URL('./open-warehouse.mjs', import.meta.url))

export interface OtherProcess {
  /** The line that the process printed: `opened`, or `code`, `exitCode` and `message` of its error. Null when it died first. */
  readonly told: Readonly<Record<string, unknown>> | null
  readonly pid: number
  /** Ends the process's stdin and waits for its end. */
  end(): Promise<void>
}

/** Process ids of its own, as a container has them. */
const CONTAINER = 'unshare --pid --fork --kill-child --mount-proc'

/** Whether this machine lets a test start a process with process ids of its own. */
export const canContain = (): boolean =>
  spawnSync('bash', ['-c', `${CONTAINER} true`], { stdio: 'ignore' }).status === 0

export const openElsewhere = async (
  directory: string,
  then: 'leave' | 'hold' | 'commit-and-die' | 'fill',
  inContainer = false,
): Promise<OtherProcess> => {
  // `fill` needs a full disk. A shell limits the size of a file in units of 512 bytes; 8 MiB have the same effect on DuckDB.
  const limit = then === 'fill' ? 'ulimit -f 16384; ' : ''
  const container = inContainer ? `${CONTAINER} ` : ''
  const child = spawn(
    'sh',
    ['-c', `${limit}exec ${container}"$0" "$@"`, process.execPath, FIXTURE, directory, then],
    {
      stdio: ['pipe', 'pipe', 'inherit'],
    },
  )
  const closed = once(child, 'close')
  const end = async () => {
    child.stdin.end()
    await closed
  }
  onTestFinished(end)
  let told: OtherProcess['told'] = null
  for await (const line of createInterface({ input: child.stdout })) {
    told = JSON.parse(line)
    break
  }
  if (then !== 'hold') await end()
  return { told, pid: child.pid ?? 0, end }
}

export const holdOpen = async (file: string): Promise<Pick<OtherProcess, 'pid' | 'end'>> => {
  const child = spawn(process.execPath, [HOLD_OPEN, file], { stdio: ['pipe', 'pipe', 'inherit'] })
  const closed = once(child, 'close')
  const end = async () => {
    child.stdin.end()
    await closed
  }
  onTestFinished(end)
  await Promise.race([
    once(child.stdout, 'data'),
    closed.then(() => Promise.reject(new Error(`${file} could not be opened`))),
  ])
  return { pid: child.pid ?? 0, end }
}
