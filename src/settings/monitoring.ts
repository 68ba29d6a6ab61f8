/** Reads the settings of what is reported about a run, and where to: `metrics` and `notify`. */
import { resolve } from 'node:path'
import { Secret, secretsInUrl } from '../base/secret.js'
import type { Monitoring, Target } from '../model/monitoring.js'
import { readNotifyUrl, readPushgatewayUrl, secretsInAddress } from './credentials.js'
import { type Proxies, plainProblem, proxyFor } from './proxies.js'
import { type ReadFile, readSecret } from './readers.js'
import type { Shard } from './shards.js'
import type { Layers } from './source.js'

interface MonitoringRequest {
  readonly layers: Layers
  readonly proxies: Proxies
  readonly readFile: ReadFile
}

type Reporting = Pick<Monitoring, 'metrics' | 'notify'>

/** Both are null if nothing of them is set. Adds the problems that it finds to the layers. */
export const resolveMonitoring = async (request: MonitoringRequest): Promise<Reporting> => {
  const { metrics, notify, shard } = request.layers.values
  const file = metrics.file === undefined ? null : resolve(fileOfShard(metrics.file, shard))
  const pushgateway = await addressAt('metrics', 'pushgateway', request)
  const addresses = {
    start: await addressAt('notify', 'start', request),
    success: await addressAt('notify', 'success', request),
    failure: await addressAt('notify', 'failure', request),
    webhook: await addressAt('notify', 'webhook', request),
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
const addressAt = async (
  section: 'metrics' | 'notify',
  key: string,
  { layers, proxies, readFile }: MonitoringRequest,
): Promise<Target | null> => {
  const values: Readonly<Record<string, unknown>> = layers.values[section]
  const [given, file] = [values[key], values[`${key}_file`]]
  const at = [section, file === undefined ? key : `${key}_file`]
  const refuse = (problem: string): null => {
    layers.refuse(at, problem)
    return null
  }
  let url = given
  if (typeof file === 'string') {
    if (given !== undefined)
      return refuse(`cannot be set together with ${section}.${key}; remove one of them`)
    const path = resolve(layers.originOf(at).directory, file)
    const { read, isReadable } = await readSecret(readFile, path, READERS[section])
    // The path of an unreadable file is not shown: somebody may have put the address itself there.
    if (!read.ok) return refuse(`names a file ${isReadable ? 'whose content' : 'that'} ${read.problem}`)
    url = read.value
  }
  if (!(url instanceof Secret)) return null
  const proxy = proxyFor(url.reveal(), proxies)
  const isSecret = section === 'notify' || secretsInUrl(url).length > 0
  const plain = isSecret ? plainProblem('a secret address', url.reveal(), proxy, layers.values) : null
  return plain === null ? { setting: `${section}.${key}`, url, proxy } : refuse(plain)
}

const READERS = { metrics: readPushgatewayUrl, notify: readNotifyUrl } as const

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
