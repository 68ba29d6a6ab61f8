/** What the benchmarks share: the reference server, commands whose resources are measured, and tables of figures. */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'

export const main = fileURLToPath(new URL('../../dist/main.js', import.meta.url))

/** The environment of a command that reads the first account of a world without a cap. */
export const envOf = ({ baseUrl, accounts }, warehouse) => ({
  PATH: process.env.PATH,
  FIELDWORK_SYNC_BASE_URL: baseUrl,
  FIELDWORK_SYNC_API_ID: String(accounts[0].id),
  FIELDWORK_SYNC_API_TOKEN: accounts[0].token,
  // The highest cap that the settings allow.
  FIELDWORK_SYNC_RATE_LIMIT: '10000/100ms',
  FIELDWORK_SYNC_WAREHOUSE: warehouse,
  FIELDWORK_SYNC_LOG_LEVEL: 'error',
})

const USAGE = fileURLToPath(new URL('usage.cjs', import.meta.url))

/**
 * Runs Node with these arguments. Wall time and CPU are in seconds, the peak of its memory and what it wrote in MB. The errors of a run
 * that may fail are not printed. `started` gets the id of its process.
 */
export const timed = async (args, env, { mayFail = false, started = () => undefined } = {}) => {
  const began = performance.now()
  const child = spawn(process.execPath, ['--require', USAGE, ...args], {
    env,
    stdio: ['ignore', 'pipe', mayFail ? 'ignore' : 'inherit', 'pipe'],
  })
  started(child.pid)
  const [output, usage] = await Promise.all([text(child.stdout), text(child.stdio[3])])
  const [code] = child.exitCode === null ? await once(child, 'exit') : [child.exitCode]
  if (code !== 0 && !mayFail) throw new Error(`${args.join(' ')} ended with exit ${code}: ${output}`)
  const { userCPUTime, systemCPUTime, maxRSS, written } = JSON.parse(usage)
  return {
    output,
    wall: (performance.now() - began) / 1_000,
    cpu: (userCPUTime + systemCPUTime) / 1e6,
    peak: (maxRSS * 1_024) / 1e6,
    written: written / 1e6,
  }
}

/** Prints wall time and CPU of the process in seconds, without those of the shell. */
const TIMED = 'TIMEFORMAT="%R %U %S"; time "$@" >/dev/null'

/** The lowest wall time and CPU of Node with these arguments, seconds. Nothing is added to the process, so it may be a short one. */
export const lowestOf = (runs, args, env) => {
  const times = Array.from({ length: runs }, () => {
    const words = ['-c', TIMED, 'bash', process.execPath, ...args]
    const { status, stderr } = spawnSync('bash', words, { env, encoding: 'utf8' })
    if (status !== 0) throw new Error(`${args.join(' ')} ended with ${status}: ${stderr}`)
    const [wall, user, system] = stderr.trim().split('\n').at(-1).split(' ').map(Number)
    return { wall, cpu: user + system }
  })
  return { wall: Math.min(...times.map(({ wall }) => wall)), cpu: Math.min(...times.map(({ cpu }) => cpu)) }
}

/** Starts the reference server with these flags, divided by spaces, on a free port. */
export const startWorld = async (flags) => {
  const args = [main, 'reference-server', '--port', '0', ...flags.split(' ')]
  const server = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  const ended = once(server, 'exit')
  const end = () => server.kill('SIGTERM')
  process.once('exit', end)
  const [started] = await Promise.race([
    once(createInterface({ input: server.stdout }), 'line'),
    ended.then(() => Promise.reject(new Error('the reference server did not start'))),
  ])
  const { base_url, accounts } = JSON.parse(started)
  return {
    pid: server.pid,
    baseUrl: base_url,
    accounts,
    control: async (method, path, body) => {
      const answer = await fetch(new URL(`/_reference/${path}`, base_url), {
        method,
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      })
      if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`)
      return await answer.json()
    },
    close: async () => {
      process.removeListener('exit', end)
      end()
      await ended
    },
  }
}

/** The environment of a command that needs an account and sends no request. */
export const withoutApi = (warehouse) =>
  envOf({ baseUrl: 'http://127.0.0.1:1/api/v1', accounts: [{ id: 1, token: 'none' }] }, warehouse)

/** Calls `work` with an empty directory, and removes it. */
export const inDirectory = async (work) => {
  const directory = await mkdtemp(join(tmpdir(), 'fieldwork-sync-bench-'))
  try {
    return await work(directory)
  } finally {
    await rm(directory, { recursive: true, force: true })
  }
}

/** Calls `work` with a world without a cap and a `sync` of its first account into a new directory. */
export const inWorld = (surveys, work) =>
  inDirectory(async (directory) => {
    const world = await startWorld(`--surveys ${surveys} --rate-window none --clock frozen`)
    const env = envOf(world, directory)
    const sync = async (options) => {
      const ended = await timed([main, 'sync', '--json'], env, options)
      return { ...ended, requests: JSON.parse(ended.output).accounts[0].requests }
    }
    try {
      return await work({ world, env, sync })
    } finally {
      await world.close()
    }
  })

/** Makes the server refuse every request below a survey: a sync lists all surveys and refreshes none. */
export const refuseSurveys = (world) =>
  world.control('PUT', 'faults', [
    { match: { path: '/surveys/*/**' }, times: 'always', action: { status: 422 } },
  ])

/** CPU time of a process so far, all threads, seconds (clock ticks are 10 ms on Linux). Zero if it has ended. */
export const cpuOf = (pid) => {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8')
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
    return (Number(fields[11]) + Number(fields[12])) / 100
  } catch {
    return 0
  }
}

/**
 * Prints the head of a table, and returns a function that prints a row below it. `|` divides the columns, which are as wide as their heads.
 * `seconds:1` has numbers with one digit behind the point, and `cost:2 x` also has the unit.
 */
export const table = (heads) => {
  const columns = heads.split('|').map((head) => head.split(/:(\d)/))
  const print = (cells) =>
    console.log(
      cells
        .map((cell, at) =>
          at === 0 ? cell.padEnd(columns[0][0].length) : cell.padStart(columns[at][0].length),
        )
        .join('  '),
    )
  print(columns.map(([head]) => head))
  return (...cells) =>
    print(
      cells.map((cell, at) => {
        const [, digits, unit = ''] = columns[at]
        return digits === undefined || typeof cell !== 'number' ? String(cell) : cell.toFixed(digits) + unit
      }),
    )
}
