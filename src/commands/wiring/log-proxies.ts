/** Logs each proxy and its accounts when a command starts, so that people see which path the requests take. */
import type { Log } from '../../base/log.js'
import type { AccountSettings } from '../../settings/settings.js'

export const logProxies = (accounts: readonly AccountSettings[], log: Log): void => {
  const byProxy = new Map<string, string[]>()
  for (const { name, proxy } of accounts) {
    if (proxy === null) continue
    const label = `${proxy.address} (${proxy.variable})`
    byProxy.set(label, [...(byProxy.get(label) ?? []), name])
  }
  for (const [label, names] of byProxy)
    log.info({ accounts: names }, `requests go through the proxy ${label}`)
}
