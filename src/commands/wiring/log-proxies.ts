/** One line in the log for each proxy: that somebody else carries the requests must be seen at the start. */
import type { Log } from '../../base/log.js'
import type { AccountSettings } from '../../settings/settings.js'

export const sayProxies = (accounts: readonly AccountSettings[], log: Log): void => {
  const byProxy = new Map<string, string[]>()
  for (const { name, proxy } of accounts) {
    if (proxy === null) continue
    const what = `${proxy.address} (${proxy.variable})`
    byProxy.set(what, [...(byProxy.get(what) ?? []), name])
  }
  for (const [what, names] of byProxy) log.info({ accounts: names }, `requests go through the proxy ${what}`)
}
