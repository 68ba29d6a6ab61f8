/**
 * Sends one mail by SMTP. Recipients and subject come from the settings and from counts, so no text of the API is in a header or a command.
 * The mail is sent once more after a failure that may pass, as in `deliver`, and without the report if the server may have refused the
 * report.
 */
import { lookup } from 'node:dns'
import { once } from 'node:events'
import { BlockList, connect, type LookupFunction, type Socket } from 'node:net'
import { Readable } from 'node:stream'
import { domainToASCII } from 'node:url'
import MailComposer from 'nodemailer/lib/mail-composer'
import SMTPConnection from 'nodemailer/lib/smtp-connection'
import { messageOf } from '../base/errors.js'
import { onAbort } from '../base/signals.js'
import { connectionFailure } from '../http/connection-failure.js'
import { excerptOf } from '../http/receive.js'
import type { MailTarget } from '../model/monitoring.js'
import { attemptTwice, type DeliveryTools } from './deliver.js'

interface Mail {
  readonly subject: string
  readonly text: string
  /** The report to attach; null for none. */
  readonly html: string | null
}

interface Outcome {
  readonly isDelivered: boolean
  /** The problem in words without secrets; null if there is none. */
  readonly problem: string | null
  /** Whether a second attempt may succeed. */
  readonly mayPass: boolean
  /** Whether the server may take the mail without the report. */
  readonly mayBeReport: boolean
  /** The recipients that the server refused while it took the mail for others. */
  readonly refused: readonly Refusal[]
}

/** The longest wait for the first words of the server. Later waits end by the signal. */
const SILENCE_MS_MAX = 10_000

const NO_REPORT = 'The report is not attached, because the mail server did not take the mail with it.'

/** The mail counts as delivered also if some recipients were refused, or if the server has all of it and does not answer. */
export const sendMail = async (
  target: MailTarget,
  mail: Mail,
  tools: DeliveryTools,
): Promise<Pick<Outcome, 'isDelivered' | 'problem'>> => {
  const first = await sendToAll(target, mail, tools)
  if (!first.mayBeReport || mail.html === null || tools.signal.aborted) return first
  const brief = { ...mail, text: `${mail.text}\n\n${NO_REPORT}`, html: null }
  const second = await sendToAll(target, brief, tools)
  if (!second.isDelivered) return second
  const also = second.problem === null ? '' : `; ${second.problem}`
  return { isDelivered: true, problem: `it went without the report: ${first.problem}${also}` }
}

const sendToAll = async (target: MailTarget, mail: Mail, tools: DeliveryTools): Promise<Outcome> => {
  const outcome = await sendToEach(target, mail, tools, null)
  if (outcome.refused.length === 0) return outcome
  const refused = outcome.refused.map((refusal) => excerptOf(refusalOf(refusal), tools.redact)).join(', ')
  const also = outcome.problem === null ? '' : `; ${outcome.problem}`
  return {
    ...outcome,
    problem: `${peerOf(target)} refused ${refused}, and it is not sent to them again${also}`,
  }
}

/**
 * Recipients that are refused for now get the mail in a second transaction, because a server may accept only some recipients at a time (RFC
 * 5321, section 4.5.3.1.10). `recipients` null: all recipients of the target.
 */
const sendToEach = async (
  target: MailTarget,
  mail: Mail,
  tools: DeliveryTools,
  recipients: readonly string[] | null,
): Promise<Outcome> => {
  const outcome = await attemptTwice(() => attemptToSend(target, mail, tools, recipients), tools)
  const later = outcome.refused.filter(mayTakeLater)
  if (later.length === 0 || tools.signal.aborted) return outcome
  const left = later.flatMap(({ recipient }) => recipient ?? [])
  const rest = await sendToEach(target, mail, tools, left)
  if (!rest.isDelivered) return outcome
  return {
    ...rest,
    refused: [...outcome.refused.filter((refusal) => !mayTakeLater(refusal)), ...rest.refused],
  }
}

const composed = ({ from, to }: MailTarget, { subject, text, html }: Mail) =>
  new MailComposer({
    from: { ...from },
    to: to.map((recipient) => ({ ...recipient })),
    subject,
    text,
    attachments:
      html === null
        ? []
        : [{ filename: 'report.html', contentType: 'text/html; charset=utf-8', content: html }],
    // Without this header, an absence note would answer each digest.
    headers: { 'Auto-Submitted': 'auto-generated' },
    disableFileAccess: true,
    disableUrlAccess: true,
  }).compile()

/** How much of a mail the server has: nothing of its content, a part, or all of it. */
type Progress = 'nothing' | 'part' | 'all'

const attemptToSend = async (
  target: MailTarget,
  mail: Mail,
  { signal, redact }: Pick<DeliveryTools, 'signal' | 'redact'>,
  recipients: readonly string[] | null,
): Promise<Outcome> => {
  const said = (problem: string) => excerptOf(`${peerOf(target)}${problem}`, redact)
  const has: { progress: Progress } = { progress: 'nothing' }
  try {
    const refused = await send(target, mail, { recipients, signal }, (progress) => {
      has.progress = progress
    })
    return { ...sent(null), refused }
  } catch (error) {
    const { progress } = has
    if (signal.aborted)
      return progress === 'all' ? sent(said(UNANSWERED)) : failed(said(' did not answer in time'), {})
    const failure: SmtpFailure = error instanceof Error ? error : new Error(messageOf(error))
    // A server that resets the connection has not read all of the mail.
    if (progress === 'all' && failure.response === undefined && failure.originalCode === undefined)
      return sent(said(UNANSWERED))
    const { problem, ...may } =
      failure.response === undefined ? unanswered(failure, progress) : answered(failure, progress)
    return failed(said(problem), may)
  }
}

const peerOf = ({ host, port }: MailTarget): string => `${host}:${port}`

const sent = (problem: string | null): Outcome => ({
  ...{ isDelivered: true, problem, mayPass: false, mayBeReport: false, refused: [] },
})

const failed = (problem: string, may: Partial<Outcome>): Outcome => ({
  ...{ isDelivered: false, problem, mayPass: false, mayBeReport: false, refused: [], ...may },
})

/** A failure without an answer of the server. */
const unanswered = (failure: SmtpFailure, progress: Progress) => {
  const { command, code, originalCode } = failure
  const broken = connectionFailure(Object.assign(new Error(), { code: originalCode ?? code }))
  // The server says how long a mail may be, and nodemailer does not send a longer one.
  const isTooLong = command === 'MAIL FROM'
  const isOurs = originalCode === undefined && command !== undefined
  return {
    problem: `: ${isOurs || broken === null ? failure.message : broken.problem}`,
    mayPass: progress === 'nothing' && !isTooLong && broken !== null,
    mayBeReport: progress !== 'nothing' || isTooLong,
  }
}

/** The server refused something. After a 5xx, a second attempt would end in the same way. */
const answered = (failure: SmtpFailure, progress: Progress) => {
  const { responseCode = 0, command, response, rejectedErrors = [] } = failure
  const answer = `${command === 'STARTTLS' ? ' offers no STARTTLS:' : ' answered'} ${response}`
  return {
    problem: rejectedErrors.length === 0 ? answer : ` refused ${rejectedErrors.map(refusalOf).join(', ')}`,
    mayPass: isForNow(responseCode),
    // 552: the mail is too long (RFC 5321, section 4.2.3).
    mayBeReport: progress !== 'nothing' || (command === 'MAIL FROM' && responseCode === 552),
  }
}

const UNANSWERED = ' has the whole mail and did not answer: it may have arrived, and is not sent again'

/** What nodemailer adds to an error. */
interface SmtpFailure extends Error {
  readonly code?: string
  readonly responseCode?: number
  readonly command?: string
  /** The code of the connection, such as ECONNRESET. */
  readonly originalCode?: string
  readonly response?: string
  readonly rejectedErrors?: readonly Refusal[]
}

interface Refusal {
  readonly recipient?: string | undefined
  readonly response?: string | undefined
  readonly responseCode?: number | undefined
}

const isForNow = (responseCode: number): boolean => responseCode >= 400 && responseCode < 500
const mayTakeLater = ({ responseCode = 0 }: Refusal): boolean => isForNow(responseCode)

const refusalOf = ({ recipient, response }: Refusal): string => `${recipient} (${response})`

/** The content is written in parts. Each waits until the connection has taken the part before. */
const CHUNK_BYTES = 16_384

/** Returns the recipients that the server refused; rejects if it refused all. */
const send = async (
  target: MailTarget,
  mail: Mail,
  { recipients, signal }: { readonly recipients: readonly string[] | null; readonly signal: AbortSignal },
  onProgress: (progress: Progress) => void,
): Promise<readonly Refusal[]> => {
  const { host, port, tls, login, from } = target
  const message = composed(target, mail)
  const envelope = message.getEnvelope()
  const content = await message.build()
  const socket = await connected(target, signal)
  const connection = new SMTPConnection({
    host,
    port,
    connection: socket,
    // The name of a pod means nothing to a mail server.
    name: domainToASCII(from.address.replace(/^.*@/, '')),
    secure: tls === 'always',
    requireTLS: tls === 'starttls',
    ignoreTLS: tls === 'none',
    connectionTimeout: SILENCE_MS_MAX,
    greetingTimeout: SILENCE_MS_MAX,
    socketCloseTimeout: 0,
  })
  const broken = new Promise<never>((_, reject) => {
    connection.on('error', reject)
    connection.on('end', () => reject(new Error('the connection was closed')))
  })
  using _listening = onAbort([signal], () => connection.close())
  const steps = async (): Promise<readonly Refusal[]> => {
    await step((done) => connection.connect(done))
    if (login !== null) {
      const credentials = { user: login.user, pass: login.password.reveal() }
      await step((done) => connection.login({ credentials }, done))
    }
    const chunks = function* () {
      onProgress('part')
      for (let at = 0; at < content.length; at += CHUNK_BYTES) yield content.subarray(at, at + CHUNK_BYTES)
    }
    const stream = Readable.from(chunks()).on('end', () => onProgress('all'))
    const sent = await step<{ readonly rejectedErrors?: readonly Refusal[] | undefined }>((done) =>
      connection.send(
        { ...envelope, to: recipients === null ? envelope.to : [...recipients], size: content.length },
        stream,
        done,
      ),
    )
    return sent?.rejectedErrors ?? []
  }
  try {
    return await Promise.race([steps(), broken])
  } finally {
    connection.close()
  }
}

/**
 * We connect ourselves, because nodemailer would query DNS before the resolver of the system. Without TLS, mail and password go only to
 * this machine, whatever the name resolves to.
 */
const connected = async ({ host, port, tls }: MailTarget, signal: AbortSignal): Promise<Socket> => {
  const socket = connect({
    ...{ host, port, autoSelectFamily: true },
    ...(tls === 'none' && { lookup: lookupHere }),
  })
  socket.setTimeout(SILENCE_MS_MAX, () =>
    socket.destroy(Object.assign(new Error('no connection'), { code: 'ETIMEDOUT' })),
  )
  try {
    await once(socket, 'connect', { signal })
    return socket.setTimeout(0)
  } catch (error) {
    socket.destroy()
    throw error
  }
}

class ForeignHost extends Error {}

const LOOPBACK = new BlockList()
LOOPBACK.addSubnet('127.0.0.0', 8)
LOOPBACK.addAddress('::1', 'ipv6')

/** Finds the addresses of a host on this machine. */
const lookupHere: LookupFunction = (host, options, done) => {
  lookup(host, { ...options, all: true }, (error, resolved) => {
    if (error !== null) return done(error, [])
    const here = resolved.filter(({ address, family }) =>
      LOOPBACK.check(address, family === 6 ? 'ipv6' : 'ipv4'),
    )
    if (here.length > 0) return done(null, here)
    const addresses = resolved.map(({ address }) => address).join(', ')
    done(
      new ForeignHost(`${host} is ${addresses}, which is not this machine: without TLS, nothing is sent`),
      [],
    )
  })
}

type Done<Result> = (error?: Error | null, result?: Result) => void

const step = <Result>(start: (done: Done<Result>) => void): Promise<Result | undefined> =>
  new Promise((resolve, reject) => {
    start((error, result) => (error ? reject(error) : resolve(result)))
  })
