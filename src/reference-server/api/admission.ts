/**
 * Who gets in: credentials first (API document, "Authentication"), then the request cap ("Limits"). A request
 * with wrong credentials belongs to no account and is not counted against any.
 */
import type { IncomingHttpHeaders } from 'node:http'
import type { Organization } from '../world/organization.js'
import type { RateWindow } from './rate-window.js'
import { Refusal } from './refusal.js'

/** One account with what it may see and how often. */
export interface Member {
  readonly organization: Organization
  readonly rateWindow: RateWindow
}

/** The member that these headers name; null when either header is missing or wrong. */
export const memberOf = (members: readonly Member[], headers: IncomingHttpHeaders): Member | null =>
  members.find(
    ({ organization: { identity } }) =>
      headers['authorization-id'] === String(identity.id) &&
      headers['authorization-token'] === identity.token,
  ) ?? null

/** Takes one request of `member` arriving at `nowMs`, or throws the refusal that answers it. */
export const admit = (member: Member | null, nowMs: number): Organization => {
  if (member === null) {
    throw new Refusal(401, 'Authorization-ID and Authorization-Token must both be sent, and belong together')
  }
  const waitMs = member.rateWindow.admit(nowMs)
  if (waitMs > 0) {
    throw new Refusal(429, 'too many requests: wait for Retry-After seconds', {
      'retry-after': String(Math.ceil(waitMs / 1_000)),
    })
  }
  return member.organization
}
