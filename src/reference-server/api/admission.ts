/**
 * Admits requests: checks credentials (API document, "Authentication"), then the request cap ("Limits"). A request with
 * wrong credentials belongs to no account and is not counted against any.
 */
import type { IncomingHttpHeaders } from 'node:http'
import type { Micros } from '../time/iso-time.js'
import type { Organization } from '../world/organization.js'
import type { AccountCap } from './account-cap.js'
import { Refusal } from './refusal.js'
import { type RetryAfterStyle, retryAfterHeaders } from './retry-after.js'

/** One account: the world that it sees, and its cap. */
export interface Member {
  readonly organization: Organization
  readonly cap: AccountCap
}

/** The member that these headers name; null when either header is missing or wrong. */
export const memberOf = (members: readonly Member[], headers: IncomingHttpHeaders): Member | null =>
  members.find(
    ({ organization: { identity } }) =>
      headers['authorization-id'] === String(identity.id) &&
      headers['authorization-token'] === identity.token,
  ) ?? null

/**
 * Admits one request of `member`, or throws the refusal that answers it. The request arrived at `nowMs` of real time,
 * milliseconds on a clock that never goes back, and at `at` of the world's time.
 */
export const admit = (
  member: Member | null,
  nowMs: number,
  at: Micros,
  retryAfter: RetryAfterStyle,
): Organization => {
  if (member === null) {
    throw new Refusal(401, 'Authorization-ID and Authorization-Token must both be sent, and belong together')
  }
  const waitMs = member.cap.admit(nowMs)
  if (waitMs > 0) {
    throw new Refusal(
      429,
      'too many requests: wait before the next one',
      retryAfterHeaders(retryAfter, waitMs, at),
    )
  }
  return member.organization
}
