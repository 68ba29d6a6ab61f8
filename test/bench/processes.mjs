/** Processes of the benchmarks: the reference server, and commands whose resources are measured. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'

export const main = new URL('../../dist/main.js', import.meta.url).pathname

/** A process prints its own resources as it ends, because only it sees its peak of memory. */
const REPORT = `data:text/javascript,${encodeURIComponent(
  `import { writeSync } from 'node:fs'
  process.on('exit', () => writeSync(3, JSON.stringify(process.resourceUsage())))`,
)}`

/** Runs Node with these arguments. Wall time and CPU are in seconds, the peak of its memory in MB. */
export const timed = async (args, env, mayFail = false) => {
  const began = performance.now()
  const child = spawn(process.execPath, ['--import', REPORT, ...args], {
    env,
    stdio: ['ignore', 'pipe', 'inherit', 'pipe'],
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
