/** Reads the settings of what is reported about a run, and where to: `metrics` and `notify`. */
import { resolve } from 'node:path'
import type { HttpProxy } from '../base/network.js'
import { Secret, secretsInUrl } from '../base/secret.js'
import type { Monitoring, NotifyTargets, Target } from '../model/monitoring.js'
import { isLoopback, readNotifyUrl, readPushgatewayUrl, secretsInAddress } from './credentials.js'
import type { Problem } from './problems.js'
import { type Proxies, proxyFor } from './proxies.js'
import type { Reader } from './readers.js'
import { type ReadFile, readText } from './readers.js'
import type { Shard } from './shards.js'
import type { Layers } from './source.js'
import { problemAt } from './source.js'

interface MonitoringRequest {
  readonly layers: Layers
  readonly proxies: Proxies
  readonly shard: Shard | null
  readonly readFile: ReadFile
  /** The directory that the path of the metrics starts from. */
  readonly workingDirectory: string
}

type Resolved = Pick<Monitoring, 'metrics' | 'notify'> & { readonly problems: readonly Problem[] }

/** Both are null if nothing of them is set. */
export const resolveMonitoring = async (request: MonitoringRequest): Promise<Resolved> => {
  const { layers, shard, workingDirectory } = request
  const problems: Problem[] = []
  const addressOf = addressReader(request, problems)
  const { metrics, notify } = layers.values
  const file = metrics.file === undefined ? null : resolve(workingDirectory, fileOfShard(metrics.file, shard))
  const pushgateway = await addressOf('metrics', 'pushgateway', readPushgatewayUrl)
  const targets: NotifyTargets = {
    start: await addressOf('notify', 'start', readNotifyUrl),
    success: await addressOf('notify', 'success', readNotifyUrl),
    failure: await addressOf('notify', 'failure', readNotifyUrl),
    webhook: await addressOf('notify', 'webhook', readNotifyUrl),
    webhookFormat: notify.webhook_format,
  }
  const { start, success, failure, webhook } = targets
  return {
    metrics: file === null && pushgateway === null ? null : { file, pushgateway },
    notify: [start, success, failure, webhook].every((target) => target === null) ? null : targets,
    problems,
  }
}

/** Each shard is a process of its own, and each run replaces its file. */
const fileOfShard = (file: string, shard: Shard | null): string =>
  shard === null ? file : file.replace(/\.prom$/, `.shard-${shard.index}-of-${shard.count}.prom`)

type Key = 'pushgateway' | 'start' | 'success' | 'failure' | 'webhook'

/** Reads the address at a key, or from the file at the key with `_file`. */
const addressReader =
  ({ layers, proxies, readFile }: MonitoringRequest, problems: Problem[]) =>
  async (section: 'metrics' | 'notify', key: Key, read: Reader<Secret>): Promise<Target | null> => {
    const values: Readonly<Record<string, unknown>> = layers.values[section]
    const [path, filePath] = [
      [section, key],
      [section, `${key}_file`],
    ]
    const report = (at: readonly string[], text: string) =>
      void problems.push(problemAt(layers.originOf, at, text))
    const targetOf = (at: readonly string[], secret: Secret): Target | null => {
      const proxy = proxyFor(secret.reveal(), proxies)
      const isSecretAddress = section === 'notify' || secretsInUrl(secret).length > 0
      if (!isSecretAddress || layers.values.allow_insecure_http || !crossesPlain(secret, proxy))
        return { url: secret, proxy }
      report(
        at,
        'would send a secret address over plain http to another host; use https, or set allow_insecure_http: true in the settings file',
      )
      return null
    }
    const [url, file] = [values[key], values[`${key}_file`]]
    if (url !== undefined && file !== undefined) {
      report(filePath, `cannot be set together with ${path.join('.')}; remove one of them`)
      return null
    }
    if (typeof file !== 'string') return url instanceof Secret ? targetOf(path, url) : null
    const { directory } = layers.originOf(filePath)
    const text = await readText(readFile, resolve(directory, file))
    const found = text.ok ? read(text.value.replace(/[\r\n]+$/, '')) : text
    if (found.ok) return targetOf(filePath, found.value)
    // The path of an unreadable file is not shown: somebody may have put the address itself there.
    report(
      filePath,
      text.ok ? `names a file whose content ${found.problem}` : `names a file that ${found.problem}`,
    )
    return null
  }

const crossesPlain = (url: Secret, proxy: HttpProxy | null): boolean =>
  new URL(url.reveal()).protocol === 'http:' &&
  (!isLoopback(url.reveal()) || (proxy !== null && !isLoopback(proxy.address)))

/** The secrets of these settings, which must never be visible. */
export const secretsOfMonitoring = ({
  metrics,
  notify,
}: Pick<Monitoring, 'metrics' | 'notify'>): readonly Secret[] => {
  const addresses = notify === null ? [] : [notify.start, notify.success, notify.failure, notify.webhook]
  const pushgateway = metrics?.pushgateway ?? null
  return [
    ...addresses.flatMap((one) => (one === null ? [] : secretsInAddress(one.url))),
    ...(pushgateway === null ? [] : secretsInUrl(pushgateway.url)),
    ...[pushgateway, ...addresses].flatMap((one) => one?.proxy?.secrets ?? []),
  ]
}
