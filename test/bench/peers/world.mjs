/** The reference server of one tool. Every tool gets its own, with the same seed, so all of them read the same world. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'

const main = new URL('../../../dist/main.js', import.meta.url).pathname
const PAGE_SIZE = 50

/** `cap` is a rate limit such as `60/10s`, or null. */
export const openWorld = async ({ surveys, seed, cap }) => {
  const limit = cap === null ? ['--rate-window', 'none'] : ['--rate-limit', cap, '--rate-window', 'sliding']
  const flags = ['--port', '0', '--seed', String(seed), '--clock', 'frozen', '--page-size', String(PAGE_SIZE)]
  const server = spawn(
    process.execPath,
    [main, 'reference-server', ...flags, '--surveys', String(surveys), ...limit],
    {
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  )
  const ended = once(server, 'exit')
  const end = () => server.kill('SIGTERM')
  process.once('exit', end)
  const started = await Promise.race([
    once(createInterface({ input: server.stdout }), 'line'),
    ended.then(() => Promise.reject(new Error('the reference server did not start'))),
  ])
  const { base_url, accounts } = JSON.parse(started[0])
  const control = async (method, path, body) => {
    const answer = await fetch(new URL(`/_reference/${path}`, base_url), {
      method,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`)
    return await answer.json()
  }
  return {
    baseUrl: base_url,
    account: accounts[0],
    nextDay: () => control('POST', 'time', { advance: 'P1D' }),
    truth: ({ isList }) => control('GET', isList ? 'truth?only=surveys' : 'truth'),
    countRequests: async () => (await control('GET', 'requests')).requests.length,
    /** The requests since the last call. */
    requests: async () => {
      const { requests } = await control('GET', 'requests')
      await control('DELETE', 'requests')
      return requests
    },
    /** From now on, the server answers every request below one survey with 422. */
    refuseSurveys: () =>
      control('PUT', 'faults', [
        { match: { path: '/surveys/*/**' }, times: 'always', action: { status: 422 } },
      ]),
    close: async () => {
      process.removeListener('exit', end)
      end()
      await ended
    },
  }
}
