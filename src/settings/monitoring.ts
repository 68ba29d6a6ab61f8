/** Reads the settings `metrics` and `notify`: what is reported about a run, and to which addresses. */
import { resolve } from 'node:path'
import type { z } from 'zod'
import { Secret, secretsInUrl, withoutWords } from '../base/secret.js'
import type { DigestTargets, MailTarget, Monitoring, OpenLineageTarget, Target } from '../model/monitoring.js'
import {
  isLoopback,
  mailPassword,
  notifyUrl,
  pushgatewayUrl,
  secretsInAddress,
  secretToken,
} from './credentials.js'
import { type Proxies, plainProblem, proxyFor } from './proxies.js'
import { type ReadFile, readSecret } from './readers.js'
import type { Shard } from './shards.js'
import type { Layers } from './source.js'
import { type Path, pathText } from './tree.js'

interface MonitoringRequest {
  readonly layers: Layers
  readonly proxies: Proxies
  readonly readFile: ReadFile
}

type Reporting = Pick<Monitoring, 'metrics' | 'notify'>

/** `metrics` and `notify` are null if none of their keys is set. Adds problems to the layers. */
export const resolveMonitoring = async (request: MonitoringRequest): Promise<Reporting> => {
  const { metrics, notify, shard } = request.layers.values
  const file = metrics.file === undefined ? null : resolve(fileOfShard(metrics.file, shard))
  const pushgateway = await addressAt(['metrics'], 'pushgateway', metrics, request)
  const at = (key: string) => addressAt(['notify'], key, notify, request)
  const addresses = {
    start: await at('start'),
    success: await at('success'),
    failure: await at('failure'),
    webhook: await at('webhook'),
    openlineage: await openLineageAt(request),
    digest: await digestAt(request),
  }
  const isSet = Object.values(addresses).some((target) => target !== null)
  return {
    metrics: file === null && pushgateway === null ? null : { file, pushgateway },
    notify: isSet ? addresses : null,
  }
}

/** Each shard gets a file of its own, because each run replaces the whole file. */
const fileOfShard = (file: string, shard: Shard | null): string =>
  shard === null ? file : file.replace(/\.prom$/, `.shard-${shard.index}-of-${shard.count}.prom`)

const OPENLINEAGE: Path = ['notify', 'openlineage']

const openLineageAt = async (request: MonitoringRequest): Promise<OpenLineageTarget | null> => {
  const { layers } = request
  const { openlineage } = layers.values.notify
  const token = await secretAt(OPENLINEAGE, 'token', openlineage, secretToken, request)
  const target = await addressAt(OPENLINEAGE, 'url', openlineage, request)
  if (target !== null) return { ...target, token, namespace: openlineage.namespace }
  if (token !== null && openlineage.url === undefined && openlineage.url_file === undefined)
    layers.refuse([...OPENLINEAGE, 'url'], 'is missing: the token is for this address')
  return null
}

const digestAt = async (request: MonitoringRequest): Promise<DigestTargets | null> => {
  const { digest } = request.layers.values.notify
  const chat = await addressAt(DIGEST, 'chat', digest, request)
  const teams = await addressAt(DIGEST, 'teams', digest, request)
  const mail = await mailAt(request)
  if (chat === null && teams === null && mail === null) return null
  return { chat, teams, mail, reportUrl: digest.report_url ?? null, first: digest.first }
}

const DIGEST: Path = ['notify', 'digest']
const MAIL: Path = [...DIGEST, 'mail']
const MAIL_KEYS = ['smtp', 'from', 'to'] as const

const mailAt = async (request: MonitoringRequest): Promise<MailTarget | null> => {
  const { layers } = request
  const { mail } = layers.values.notify.digest
  const password = await secretAt(MAIL, 'password', mail, mailPassword, request)
  const { smtp, from, to } = mail
  const missing = MAIL_KEYS.filter((key) => mail[key] === undefined && !layers.isBroken([...MAIL, key]))
  if (missing.length === MAIL_KEYS.length && password === null) return null
  const refuse = (key: string, problem: string): null => {
    layers.refuse([...MAIL, key], problem)
    return null
  }
  for (const key of missing) refuse(key, 'is missing: mail needs smtp, from and to')
  if (smtp === undefined || from === undefined || to === undefined) return null
  const { host, port, isTls, user } = smtp
  const hasPassword = (['password', 'password_file'] as const).some((key) => mail[key] !== undefined)
  if ((user !== null) !== hasPassword)
    return refuse(
      'smtp',
      hasPassword
        ? 'names no user for the password; write it as smtps://user@host'
        : 'names a user, but there is no password; set password or password_file',
    )
  const login = user === null || password === null ? null : { user, password }
  return { setting: pathText(MAIL), host, port, tls: tlsOf(host, isTls, request), login, from, to }
}

const tlsOf = (host: string, isTls: boolean, { layers }: MonitoringRequest): MailTarget['tls'] => {
  if (isTls) return 'always'
  if (isLoopback(`smtp://${host.includes(':') ? `[${host}]` : host}`)) return 'none'
  return layers.values.allow_insecure_http ? 'if offered' : 'starttls'
}

/** Reads the address at a key of a section, or from the file at the key with `_file`. */
const addressAt = async (
  section: Path,
  key: string,
  values: Values,
  request: MonitoringRequest,
): Promise<Target | null> => {
  const isSecret = section[0] === 'notify'
  const url = await secretAt(section, key, values, isSecret ? notifyUrl : pushgatewayUrl, request)
  if (url === null) return null
  const { layers, proxies } = request
  const proxy = proxyFor(url.reveal(), proxies)
  const plain =
    isSecret || secretsInUrl(url).length > 0
      ? plainProblem('a secret address', url.reveal(), proxy, layers.values)
      : null
  if (plain === null) return { setting: pathText([...section, key]), url, proxy }
  layers.refuse([...section, values[key] === undefined ? `${key}_file` : key], plain)
  return null
}

type Values = Readonly<Record<string, unknown>>

const secretAt = async (
  section: Path,
  key: string,
  values: Values,
  schema: z.ZodType<Secret>,
  { layers, readFile }: MonitoringRequest,
): Promise<Secret | null> => {
  const [value, file] = [values[key], values[`${key}_file`]]
  if (typeof file !== 'string') return value instanceof Secret ? value : null
  const at = [...section, `${key}_file`]
  const refuse = (problem: string): null => {
    layers.refuse(at, problem)
    return null
  }
  if (value !== undefined)
    return refuse(`cannot be set together with ${pathText([...section, key])}; remove one of them`)
  const path = resolve(layers.originOf(at).directory, file)
  const { read, isReadable } = await readSecret(readFile, path, schema)
  // The path of an unreadable file is not shown: somebody may have put the secret itself there.
  return read.ok
    ? read.value
    : refuse(`names a file ${isReadable ? 'whose content' : 'that'} ${read.problem}`)
}

/** The secrets of these settings, which must never be visible. */
export const secretsOfMonitoring = ({ metrics, notify }: Reporting): readonly Secret[] => {
  const { start, success, failure, webhook, openlineage, digest = null } = notify ?? {}
  const addresses = [start, success, failure, webhook, openlineage, digest?.chat, digest?.teams].flatMap(
    (address) => address ?? [],
  )
  const pushgateway = metrics?.pushgateway ?? null
  return [
    ...addresses.flatMap(({ url }) => secretsInAddress(url)),
    ...(openlineage?.token ? [openlineage.token] : []),
    ...(pushgateway === null ? [] : secretsInUrl(pushgateway.url)),
    ...[pushgateway, ...addresses].flatMap((address) => address?.proxy?.secrets ?? []),
    ...secretsOfMail(digest?.mail?.login ?? null),
  ]
}

/** The password, and its encodings in commands of SMTP, which a server may echo. */
const secretsOfMail = (login: MailTarget['login']): readonly Secret[] => {
  if (login === null) return []
  const { user, password } = login
  const text = password.reveal()
  const sent = [text, `\0${user}\0${text}`].map((part) => Buffer.from(part).toString('base64'))
  return [...withoutWords([password]), ...sent.map((part) => new Secret(part))]
}
