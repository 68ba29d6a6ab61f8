/** Processes of the benchmarks: the reference server, and commands whose resources are measured. */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'

export const main = new URL('../../dist/main.js', import.meta.url).pathname

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

/** A process prints its own resources as it ends, because only it sees its peak of memory. */
const REPORT = `data:text/javascript,${encodeURIComponent(
  `import { writeSync } from 'node:fs'
  process.on('exit', () => writeSync(3, JSON.stringify(process.resourceUsage())))`,
)}`

/**
 * Runs Node with these arguments. Wall time and CPU are in seconds, the peak of its memory in MB. The errors of a run that may fail
 * are not printed.
 */
export const timed = async (args, env, mayFail = false) => {
  const began = performance.now()
  const child = spawn(process.execPath, ['--import', REPORT, ...args], {
    env,
    stdio: ['ignore', 'pipe', mayFail ? 'ignore' : 'inherit', 'pipe'],
  })
  const [output, usage] = await Promise.all([textOf(child.stdout), textOf(child.stdio[3])])
  const [code] = child.exitCode === null ? await once(child, 'exit') : [child.exitCode]
  if (code !== 0 && !mayFail) throw new Error(`${args.join(' ')} ended with exit ${code}: ${output}`)
  const { userCPUTime, systemCPUTime, maxRSS } = JSON.parse(usage)
  return {
    output,
    wall: (performance.now() - began) / 1_000,
    cpu: (userCPUTime + systemCPUTime) / 1e6,
    peak: (maxRSS * 1_024) / 1e6,
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

const textOf = async (stream) => {
  let text = ''
  for await (const part of stream) text += part
  return text
}

/** Starts the reference server on a free port. */
export const startWorld = async (flags) => {
  const server = spawn(process.execPath, [main, 'reference-server', '--port', '0', ...flags], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const ended = once(server, 'exit')
  const end = () => server.kill('SIGTERM')
  process.once('exit', end)
  const [started] = await Promise.race([
    once(createInterface({ input: server.stdout }), 'line'),
    ended.then(() => Promise.reject(new Error('the reference server did not start'))),
  ])
  const { base_url, accounts } = JSON.parse(started)
  return {
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
