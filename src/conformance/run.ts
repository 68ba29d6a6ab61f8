/** Checks a service against the rules of the API document, with GET requests only. A run that ends early reports what it found. */
import { type ExpectedError, isStop, UpstreamError } from '../base/errors.js'
import { addressOf } from '../http/address.js'
import { statusAction } from '../http/attempt.js'
import { redirectRefused, refused } from '../http/errors.js'
import { excerptOf } from '../http/receive.js'
import { OBSERVATIONS } from './observations.js'
import { type Evidence, gatherEvidence } from './read/evidence.js'
import { createReader } from './read/reader.js'
import { Sender, type SenderOptions } from './read/sender.js'
import type { Observation, Rule } from './rule.js'
import { ANSWER_RULES, LIMIT_RULES } from './rules/answers.js'
import { PAGINATION_RULES } from './rules/pagination.js'
import { PROGRESS_RULES } from './rules/progress.js'
import { SOURCE_PROGRESS_RULES, SOURCE_RULES } from './rules/sources.js'
import { STATUS_FILTER_RULES } from './rules/status-filter.js'
import { SURVEY_RULES } from './rules/surveys.js'
import { UPDATED_SINCE_RULES } from './rules/updated-since.js'
import { WINDOW_RULES } from './rules/windows.js'
import { Unseen, type Verdict } from './verdict.js'

export const RULES: readonly Rule[] = [
  ...ANSWER_RULES,
  ...SURVEY_RULES,
  ...PAGINATION_RULES,
  ...STATUS_FILTER_RULES,
  ...UPDATED_SINCE_RULES,
  ...SOURCE_RULES,
  ...PROGRESS_RULES,
  ...SOURCE_PROGRESS_RULES,
  ...WINDOW_RULES,
  ...LIMIT_RULES,
]

export interface ConformanceOptions extends SenderOptions {
  /** Also sends one burst beyond the cap, after everything else. */
  readonly exceedCap: boolean
}

export interface RuleResult extends Pick<Rule, 'id' | 'section' | 'text'> {
  readonly verdict: Verdict
}

interface ObservationResult extends Pick<Observation, 'topic' | 'section'> {
  readonly told: string
}

export interface ConformanceReport {
  readonly baseUrl: string
  readonly rules: readonly RuleResult[]
  readonly observations: readonly ObservationResult[]
  readonly requests: number
  /** 429 answers below the cap. */
  readonly rateLimited: number
  /** Why the run ended early: a `StoppedError`, or the `UpstreamError` after which no request can succeed. */
  readonly endedBy: ExpectedError | null
}

/** The requests by which a burst exceeds the cap. */
const BURST_OVER_CAP = 5

/**
 * Rejects with an `UpstreamError` when the service cannot be reached or refuses the credentials at the first request, and with a
 * `StoppedError` when the signal aborts before the first request is answered.
 */
export const runConformance = async (options: ConformanceOptions): Promise<ConformanceReport> => {
  await using sender = new Sender(options)
  await sendFirst(sender, options)
  const { clock, rate, exceedCap, log } = options
  const burstRequestsMax = exceedCap ? rate.requests + BURST_OVER_CAP : null
  const evidence = gatherEvidence(createReader(sender), sender, clock, burstRequestsMax)
  const verdicts = new Map<Rule | Observation, Verdict>()
  const check = async (meant: Rule['when']) => {
    for (const entry of [...RULES, ...OBSERVATIONS].filter(({ when }) => when === meant))
      verdicts.set(entry, await verdictOf(entry, evidence))
  }
  let endedBy: ExpectedError | null = null
  try {
    await check(undefined)
    log.debug({ requests: sender.usage.requests }, 'searching for the start of an interview')
    await check('last')
  } catch (error) {
    if (!(error instanceof UpstreamError || isStop(error))) throw error
    endedBy = error
  }
  await check('passive')
  const unchecked = notObservable(isStop(endedBy) ? 'the run was stopped' : 'the run ended early')
  const print = (text: string) => excerptOf(text, (one) => sender.redact(one), PRINTED_LENGTH_MAX)
  const { requests, rateLimited } = sender.usage
  return {
    baseUrl: options.baseUrl,
    rules: RULES.map((rule) => {
      const { id, section, text } = rule
      return { id, section, text, verdict: printable(verdicts.get(rule) ?? unchecked, print) }
    }),
    observations: OBSERVATIONS.map((observation) => {
      const { topic, section } = observation
      return { topic, section, told: print(told(verdicts.get(observation) ?? unchecked)) }
    }),
    requests,
    rateLimited,
    endedBy,
  }
}

/** Verdicts and observations quote values of the service: statuses, moments, addresses. */
const PRINTED_LENGTH_MAX = 400

const printable = (verdict: Verdict, print: (text: string) => string): Verdict => {
  switch (verdict.verdict) {
    case 'pass':
      return verdict.note === undefined ? verdict : { ...verdict, note: print(verdict.note) }
    case 'fail': {
      const { asked, expected, got } = verdict
      return { verdict: 'fail', asked: print(asked), expected: print(expected), got: print(got) }
    }
    case 'not_observable':
      return { ...verdict, reason: print(verdict.reason) }
  }
}

/** The first request shows whether the service can be checked at all. */
const sendFirst = async (sender: Sender, { baseUrl, account }: ConformanceOptions): Promise<void> => {
  const { status, excerpt, header } = await sender.get('/surveys', [])
  if (status === 200) return
  const where = { request: addressOf(new URL(baseUrl), '/surveys', []).label, account }
  if (statusAction(status) === 'credentials_refused')
    throw refused('credentials_refused', status, where, excerpt)
  if (statusAction(status) === 'redirect_refused') {
    throw redirectRefused(status, where, header('location') === null ? null : 'another address')
  }
  throw refused('unexpected_status', status, where, excerpt)
}

const notObservable = (reason: string): Verdict => ({ verdict: 'not_observable', reason })

const verdictOf = async ({ check }: Rule | Observation, evidence: Evidence): Promise<Verdict> => {
  try {
    return await check(evidence)
  } catch (error) {
    if (error instanceof Unseen) return notObservable(error.message)
    throw error
  }
}

/** An observation in words. */
const told = (verdict: Verdict): string => {
  if (verdict.verdict === 'not_observable') return `not observable: ${verdict.reason}`
  return verdict.verdict === 'pass' ? (verdict.note ?? '') : verdict.got
}
