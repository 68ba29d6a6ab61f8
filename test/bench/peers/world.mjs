/** The reference server of one tool. Every tool gets its own, with the same seed, so all of them read the same world. */
import { startWorld } from '../support.mjs'

const PAGE_SIZE = 50

/** `cap` is a rate limit such as `60/10s`, or null. */
export const openWorld = async ({ surveys, seed, cap }) => {
  const limit = cap === null ? ['--rate-window', 'none'] : ['--rate-limit', cap, '--rate-window', 'sliding']
  const flags = ['--clock', 'frozen', '--page-size', String(PAGE_SIZE), '--surveys', String(surveys)]
  const { baseUrl, accounts, control, close } = await startWorld(['--seed', String(seed), ...flags, ...limit])
  return {
    baseUrl,
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
    close,
  }
}
