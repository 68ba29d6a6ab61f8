/** Readers for the addresses that get requests about a run. No problem quotes a value, because an address may be a secret. */
import { Secret, secretsInUrl } from '../base/secret.js'
import { bad, good, type Reader, readPath } from './readers.js'

/** An address such as that of a webhook, whose path is often its only protection. */
export const readNotifyUrl: Reader<Secret> = (value) => {
  const problem = problemOf(value, 'such as https://hc-ping.com/8d0f…')
  return typeof value === 'string' && problem === null ? good(new Secret(value)) : bad(problem ?? '')
}

/** `http://pushgateway:9091`, or with the job and labels of the group: `…/metrics/job/fieldwork_sync/instance/research`. */
export const readPushgatewayUrl: Reader<Secret> = (value) => {
  const problem = problemOf(value, 'such as http://pushgateway:9091')
  if (typeof value !== 'string' || problem !== null) return bad(problem ?? '')
  if (value.includes('?')) return bad('must not contain a query (?)')
  const [, group = ''] = /\/metrics\/job(@base64)?\/(.*?)\/*$/.exec(new URL(value).pathname)?.slice(1) ?? []
  return group === '' || group.split('/').length % 2 === 1
    ? good(new Secret(value))
    : bad('must end with the address, or with /metrics/job/NAME followed by pairs of /LABEL/VALUE')
}

const problemOf = (value: unknown, example: string): string | null => {
  if (typeof value !== 'string' || !URL.canParse(value)) return `must be a URL, ${example}`
  const { protocol } = new URL(value)
  if (protocol !== 'https:' && protocol !== 'http:') return 'must begin with https:// or http://'
  if (value !== value.trim() || /[\p{Cc}\s]/u.test(value)) return 'must not contain white space'
  return value.includes('#') ? 'must not contain a fragment (#)' : null
}

/** node-exporter reads only files with this ending. */
export const readMetricsFile: Reader<string> = (value) => {
  const path = readPath(value)
  return path.ok && !path.value.endsWith('.prom')
    ? bad('must end with .prom, because node-exporter reads no other files')
    : path
}

/** Other parts of a path, such as `services`, are ordinary words. Redacting them would leave holes in messages. */
const IS_RANDOM = /^(?=.*\d).{12,}$/
/** A shorter path, such as `/hook`, is no secret. */
const PATH_LENGTH_MIN = 10

/** The parts of such an address that must never be visible: everything after the host, and a password. */
export const secretsInAddress = (url: Secret): readonly Secret[] => {
  const { href, pathname, search } = new URL(url.reveal())
  const path = `${pathname}${search}`
  const parts = path.split(/[/?&=]/).filter((part) => IS_RANDOM.test(part))
  const hidden = [href, ...(path.length < PATH_LENGTH_MIN ? [] : [path]), ...parts]
  return [url, ...hidden.map((part) => new Secret(part)), ...secretsInUrl(url)]
}
