/**
 * Sends one message about a run, and sends it once more after a failure that may pass. A redirect is not followed: its target would get the
 * content and the address, which may be a secret.
 */
import { type Clock, sleep } from '../base/clock.js'
import { ExpectedError } from '../base/errors.js'
import { basicCredentials, type Secret } from '../base/secret.js'
import { packageVersion } from '../base/version.js'
import { type Address, locationHost } from '../http/address.js'
import { connectionFailure, peerOf } from '../http/connection-failure.js'
import { TransientError } from '../http/errors.js'
import { headerOf, readExcerpt } from '../http/receive.js'
import { createRoute, type Route } from '../http/transport.js'
import type { Target } from '../model/monitoring.js'

export interface Delivery {
  readonly target: Target & { readonly token?: Secret | null }
  readonly method: 'POST' | 'PUT'
  readonly contentType: string
  readonly body: string
}

export interface DeliveryTools {
  readonly clock: Clock
  /** Ends the delivery. */
  readonly signal: AbortSignal
  /** Removes the secrets from a text. */
  readonly redact: (text: string) => string
}

const RETRY_AFTER_MS = 1_000
const CONNECT_MS_MAX = 10_000

/** Attempts once more after a failure that may pass, unless time is up. */
export const attemptTwice = async <One extends { readonly mayPass: boolean }>(
  attempt: () => Promise<One>,
  { clock, signal }: Pick<DeliveryTools, 'clock' | 'signal'>,
): Promise<One> => {
  const first = await attempt()
  if (!first.mayPass) return first
  await sleep(clock, RETRY_AFTER_MS, signal).catch(() => undefined)
  return signal.aborted ? first : await attempt()
}

/** Why the message was not delivered, in words without secrets; null if it was. */
export const deliver = async (delivery: Delivery, tools: DeliveryTools): Promise<string | null> => {
  const route = createRoute({ connections: 1, connectMsMax: CONNECT_MS_MAX }, delivery.target.proxy)
  try {
    return (await attemptTwice(() => send(route, delivery, tools), tools)).problem
  } finally {
    await route.destroy()
  }
}

interface Outcome {
  readonly problem: string | null
  /** Whether a second attempt may succeed. */
  readonly mayPass: boolean
}

const send = async (
  route: Route,
  { method, body, contentType, target }: Delivery,
  { signal, redact }: DeliveryTools,
): Promise<Outcome> => {
  const url = new URL(target.url.reveal())
  const { origin, pathname, search, host } = url
  // The name of the host only: everything after it may be a secret.
  const address: Address = { origin, target: `${pathname}${search}`, label: host, host }
  const hasUser = url.username !== '' || url.password !== ''
  const headers = {
    'content-type': contentType,
    'user-agent': `fieldwork-sync/${packageVersion()}`,
    ...(hasUser && { authorization: `Basic ${basicCredentials(url)}` }),
    ...(target.token && { authorization: `Bearer ${target.token.reveal()}` }),
  }
  try {
    const answer = await route.send({ method, address, headers, body }, signal)
    const { status } = answer
    if (status >= 200 && status < 300) return { problem: null, mayPass: false }
    if (status >= 300 && status < 400) {
      const to = locationHost(headerOf(answer, 'location'), address)
      const problem = `${host} redirects (${status}) to ${to ?? 'an unknown host'}, and redirects are not followed`
      return { problem: redact(problem), mayPass: false }
    }
    const excerpt = await readExcerpt(answer, redact)
    return {
      problem: `${host} answered ${status}${excerpt === '' ? '' : ` (response: ${excerpt})`}`,
      mayPass: status >= 500 || status === 408 || status === 429,
    }
  } catch (error) {
    const peer = peerOf(address, target.proxy)
    if (signal.aborted) return { problem: `${peer} did not answer in time`, mayPass: false }
    if (error instanceof ExpectedError)
      return { problem: redact(error.message), mayPass: error instanceof TransientError }
    const failure = connectionFailure(error)
    if (failure === null) throw error
    return { problem: `${peer}: ${failure.problem}`, mayPass: true }
  }
}
