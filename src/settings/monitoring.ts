/** Reads the settings of what is reported about a run, and where to: `metrics` and `notify`. */
import { resolve } from 'node:path'
import type { HttpProxy } from '../base/network.js'
import { Secret, secretsInUrl } from '../base/secret.js'
import type { Monitoring, Target } from '../model/monitoring.js'
import { isLoopback, readNotifyUrl, readPushgatewayUrl, secretsInAddress } from './credentials.js'
import { type Proxies, proxyFor } from './proxies.js'
import { type Reader, type ReadFile, readSecret } from './readers.js'
import type { Shard } from './shards.js'
import type { Layers } from './source.js'

interface MonitoringRequest {
  readonly layers: Layers
  readonly proxies: Proxies
  readonly shard: Shard | null
  readonly readFile: ReadFile
}

type Reporting = Pick<Monitoring, 'metrics' | 'notify'>

/** Both are null if nothing of them is set. Adds the problems that it finds to the layers. */
export const resolveMonitoring = async (request: MonitoringRequest): Promise<Reporting> => {
  const { layers, shard } = request
  const addressOf = addressReader(request)
  const { metrics, notify } = layers.values
  const file = metrics.file === undefined ? null : resolve(fileOfShard(metrics.file, shard))
  const pushgateway = await addressOf('metrics', 'pushgateway', readPushgatewayUrl)
  const addresses = {
    start: await addressOf('notify', 'start', readNotifyUrl),
    success: await addressOf('notify', 'success', readNotifyUrl),
    failure: await addressOf('notify', 'failure', readNotifyUrl),
    webhook: await addressOf('notify', 'webhook', readNotifyUrl),
  }
  const isSet = Object.values(addresses).some((target) => target !== null)
  return {
    metrics: file === null && pushgateway === null ? null : { file, pushgateway },
    notify: isSet ? { ...addresses, webhookFormat: notify.webhook_format } : null,
  }
}

/** Each shard is a process of its own, and each run replaces its file. */
const fileOfShard = (file: string, shard: Shard | null): string =>
  shard === null ? file : file.replace(/\.prom$/, `.shard-${shard.index}-of-${shard.count}.prom`)

/** Reads the address at a key, or from the file at the key with `_file`. */
const addressReader =
  ({ layers, proxies, readFile }: MonitoringRequest) =>
  async (section: 'metrics' | 'notify', key: string, read: Reader<Secret>): Promise<Target | null> => {
    const values: Readonly<Record<string, unknown>> = layers.values[section]
    const fileKey = `${key}_file`
    const refuse = (at: string, text: string): null => {
      layers.refuse([section, at], text)
      return null
    }
    const targetOf = (at: string, url: Secret): Target | null => {
      const proxy = proxyFor(url.reveal(), proxies)
      const isSecretAddress = section === 'notify' || secretsInUrl(url).length > 0
      if (!isSecretAddress || layers.values.allow_insecure_http || !crossesPlain(url, proxy))
        return { url, proxy }
      return refuse(
        at,
        'would send a secret address over plain http to another host; use https, or set allow_insecure_http: true in the settings file',
      )
    }
    const [url, file] = [values[key], values[fileKey]]
    if (url !== undefined && file !== undefined)
      return refuse(fileKey, `cannot be set together with ${section}.${key}; remove one of them`)
    if (typeof file !== 'string') return url instanceof Secret ? targetOf(key, url) : null
    const { directory } = layers.originOf([section, fileKey])
    const { read: found, isReadable } = await readSecret(readFile, resolve(directory, file), read)
    if (found.ok) return targetOf(fileKey, found.value)
    // The path of an unreadable file is not shown: somebody may have put the address itself there.
    return refuse(fileKey, `names a file ${isReadable ? 'whose content' : 'that'} ${found.problem}`)
  }

const crossesPlain = (url: Secret, proxy: HttpProxy | null): boolean =>
  new URL(url.reveal()).protocol === 'http:' &&
  (!isLoopback(url.reveal()) || (proxy !== null && !isLoopback(proxy.address)))

/** The secrets of these settings, which must never be visible. */
export const secretsOfMonitoring = ({ metrics, notify }: Reporting): readonly Secret[] => {
  const addresses = notify === null ? [] : [notify.start, notify.success, notify.failure, notify.webhook]
  const pushgateway = metrics?.pushgateway ?? null
  return [
    ...addresses.flatMap((one) => (one === null ? [] : secretsInAddress(one.url))),
    ...(pushgateway === null ? [] : secretsInUrl(pushgateway.url)),
    ...[pushgateway, ...addresses].flatMap((one) => one?.proxy?.secrets ?? []),
  ]
}
