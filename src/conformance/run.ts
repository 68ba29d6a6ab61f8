/**
 * Holds a service to the rules of the API document. Reads only. What could be looked at before the run was stopped,
 * or before the service refused to go on, is in the report all the same.
 */
import { type ExpectedError, isStop, UpstreamError } from '../base/errors.js'
import { addressOf } from '../http/address.js'
import { excerptOf } from '../http/body.js'
import { CredentialsRefusedError, RedirectRefusedError, UnexpectedStatusError } from '../http/errors.js'
import { statusAction } from '../http/status-action.js'
import { OBSERVATIONS } from './observe/all.js'
import { type Evidence, gatherEvidence } from './read/evidence.js'
import { createReader } from './read/reader.js'
import { createSender, type Sender, type SenderOptions } from './read/sender.js'
import { RULES } from './rules/all.js'
import { Unseen } from './unseen.js'
import { type Observation, type Rule, unseen, type Verdict } from './verdict.js'

export interface ConformanceOptions extends SenderOptions {
  /** Also sends one burst beyond the cap, after everything else. */
  readonly exceedCap: boolean
}

export interface RuleResult {
  readonly id: string
  readonly section: string
  readonly text: string
  readonly verdict: Verdict
}

export interface ObservationResult {
  readonly topic: string
  readonly section: string
  readonly told: string
}

export interface ConformanceReport {
  readonly baseUrl: string
  readonly rules: readonly RuleResult[]
  readonly observations: readonly ObservationResult[]
  readonly requests: number
  /** 429 answers below the cap. */
  readonly refusals: number
  /** Why it ended early: a `StoppedError`, or the `UpstreamError` that made going on pointless. */
  readonly endedBy: ExpectedError | null
}

/**
 * Rejects with an `UpstreamError` when the service cannot be reached or refuses the credentials at the first request,
 * and with a `StoppedError` when the signal aborts before that one is answered.
 */
export const runConformance = async (options: ConformanceOptions): Promise<ConformanceReport> => {
  await using sender = createSender(options)
  await knock(sender, options)
  const { clock, rate, exceedCap, log } = options
  const reader = createReader(sender)
  const evidence = gatherEvidence({ reader, sender, clock, rate, exceedCap })
  const verdicts = new Map<Rule, Verdict>()
  const told = new Map<Observation, string>()
  const judge = async (isMeant: (rule: Rule) => boolean): Promise<void> => {
    for (const rule of RULES.filter(isMeant)) verdicts.set(rule, await verdictOf(rule, evidence))
  }
  const observe = async (isLast: boolean): Promise<void> => {
    for (const one of OBSERVATIONS.filter(({ last = false }) => last === isLast)) {
      told.set(one, await tell(one, evidence))
    }
  }
  let endedBy: ExpectedError | null = null
  try {
    await judge(({ passive = false, last = false }) => !passive && !last)
    await observe(false)
    log.debug({ requests: sender.usage().requests }, 'looking for the start of an interview')
    await judge(({ last = false }) => last)
    await observe(true)
  } catch (error) {
    if (!(error instanceof UpstreamError || isStop(error))) throw error
    endedBy = error
  }
  await judge(({ passive = false }) => passive)
  const reason = isStop(endedBy) ? 'the run was stopped' : 'the run ended early'
  const print = (text: string) => excerptOf(text, (one) => sender.redact(one), PRINTED_LENGTH_MAX)
  const { requests, refusals } = sender.usage()
  return {
    baseUrl: options.baseUrl,
    rules: RULES.map((rule) => ({
      id: rule.id,
      section: rule.section,
      text: rule.text,
      verdict: printable(verdicts.get(rule) ?? unseen(reason), print),
    })),
    observations: OBSERVATIONS.map((one) => ({
      topic: one.topic,
      section: one.section,
      told: print(told.get(one) ?? `not observable: ${reason}`),
    })),
    requests,
    refusals,
    endedBy,
  }
}

/** Much of what is told was written by the service: a status, a moment, an address with both in it. */
const PRINTED_LENGTH_MAX = 400

/** On one line, without secrets. */
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

/** The first request decides whether there is anything to look at. */
const knock = async (sender: Sender, { baseUrl, account }: ConformanceOptions): Promise<void> => {
  const { status, excerpt, header } = await sender.get('/surveys', [])
  if (status === 200) return
  const address = addressOf(baseUrl, '/surveys', [])
  const where = { request: address.label, account }
  if (statusAction(status) === 'refuse_credentials') throw new CredentialsRefusedError(status, where, excerpt)
  if (statusAction(status) === 'refuse_redirect') {
    throw new RedirectRefusedError(status, where, header('location') === null ? null : 'another address')
  }
  throw new UnexpectedStatusError(status, where, excerpt)
}

const verdictOf = async ({ check }: Rule, evidence: Evidence): Promise<Verdict> => {
  try {
    return await check(evidence)
  } catch (error) {
    if (error instanceof Unseen) return unseen(error.message)
    throw error
  }
}

const tell = async ({ observe }: Observation, evidence: Evidence): Promise<string> => {
  try {
    return await observe(evidence)
  } catch (error) {
    if (error instanceof Unseen) return `not observable: ${error.message}`
    throw error
  }
}
