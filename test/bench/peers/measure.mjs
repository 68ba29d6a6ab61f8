/**
 * Runs a command and measures it with all processes that it starts. Linux only.
 *
 * - CPU: user and system time of the ended children of this process, before and after. The kernel counts theirs with them.
 * - Memory: resident pages of all its processes together, sampled, and at least the kernel's peak of each process.
 */
import { spawn } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'

/** Milliseconds per clock tick of /proc on Linux. */
const TICK_MS = 10
const SAMPLE_MS = 200
const LIST_MS = 1_000
const KILL_CHECK_MS = 30
const OUTPUT_CHARACTERS_MAX = 20_000

/** Kills the whole process group after `limitMs`, or when `isToBeKilled` is true. */
export const measure = async ({ command, args, env, cwd, limitMs, isToBeKilled = null }) => {
  const cpuBefore = childrenCpuMs()
  const startedMs = performance.now()
  const child = spawn(command, args, { env, cwd, detached: true, stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text) => {
      output = (output + text).slice(-OUTPUT_CHARACTERS_MAX)
    })
  let isTimedOut = false
  const end = () => killGroup(child.pid)
  process.once('exit', end)
  const timer = setTimeout(() => {
    isTimedOut = true
    end()
  }, limitMs)
  const killer = setInterval(async () => {
    if (await isToBeKilled?.()) end()
  }, KILL_CHECK_MS)
  let peakKiB = 0
  const memoryNow = memorySampler(child.pid)
  const sampler = setInterval(() => {
    peakKiB = Math.max(peakKiB, memoryNow())
  }, SAMPLE_MS)
  const code = await new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', resolve)
  }).finally(() => {
    clearTimeout(timer)
    clearInterval(sampler)
    clearInterval(killer)
    process.removeListener('exit', end)
  })
  return {
    code,
    isTimedOut,
    output,
    wallMs: performance.now() - startedMs,
    cpuMs: childrenCpuMs() - cpuBefore,
    peakMiB: peakKiB / 1024,
  }
}

const killGroup = (pid) => {
  try {
    process.kill(-pid, 'SIGKILL')
  } catch {
    // The group has ended.
  }
}

const statOf = (pid) => {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ')
}

/** CPU time of the children that have ended, and of their ended children. */
const childrenCpuMs = () => {
  const fields = statOf('self')
  return (Number(fields[13]) + Number(fields[14])) * TICK_MS
}

/**
 * Reads the memory of all processes of a process group. The list of processes is refreshed rarely, because reading it takes CPU
 * time that the measured command could use.
 */
const memorySampler = (group) => {
  let members = [group]
  let listedMs = performance.now()
  return () => {
    if (performance.now() - listedMs > LIST_MS) {
      members = membersOf(group)
      listedMs = performance.now()
    }
    const sizes = members.map(memoryKiB)
    return Math.max(
      sizes.reduce((sum, { resident }) => sum + resident, 0),
      ...sizes.map(({ highest }) => highest),
    )
  }
}

/** The third of these fields of stat is the process group. */
const membersOf = (group) =>
  readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => Number(orNull(() => statOf(pid))?.[2]) === group)

const memoryKiB = (pid) => {
  const status = orNull(() => readFileSync(`/proc/${pid}/status`, 'utf8')) ?? ''
  return {
    resident: Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? 0),
    highest: Number(/VmHWM:\s+(\d+)/.exec(status)?.[1] ?? 0),
  }
}

/** Null if the process has ended meanwhile. */
const orNull = (read) => {
  try {
    return read()
  } catch {
    return null
  }
}
