/**
 * Sends one mail by SMTP. Who gets it and its subject come from the settings and from counts, so no text of the API is in a header or a
 * command. It is sent again once after a failure that may pass, as `deliver` does.
 */
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
  /** The report, which is attached. */
  readonly html: string
}

/** Of a server that does not begin to talk. The signal ends what comes after it. */
const SILENCE_MS_MAX = 10_000

/** `problem` is in words without secrets. If only some recipients were refused, the mail counts as delivered. */
export const sendMail = async (target: MailTarget, mail: Mail, tools: DeliveryTools) => {
  const message = await composed(target, mail)
  return await attemptTwice(() => attemptToSend(target, message, tools), tools)
}

const composed = async ({ from, to }: MailTarget, { subject, text, html }: Mail): Promise<Buffer> => {
  const composer = new MailComposer({
    from: { ...from },
    to: to.map((one) => ({ ...one })),
    subject,
    text,
    attachments: [{ filename: 'report.html', contentType: 'text/html; charset=utf-8', content: html }],
    // Without it, an absence note answers each digest.
    headers: { 'Auto-Submitted': 'auto-generated' },
    disableFileAccess: true,
    disableUrlAccess: true,
  })
  return await composer.compile().build()
}

const attemptToSend = async (
  target: MailTarget,
  message: Buffer,
  { signal, redact }: Pick<DeliveryTools, 'signal' | 'redact'>,
) => {
  const peer = `${target.host}:${target.port}`
  try {
    const refused = await send(target, message, signal)
    const problem =
      refused.length === 0 ? null : `${peer} refused ${refused.length} of ${target.to.length} recipients`
    return { isDelivered: true, mayPass: false, problem }
  } catch (error) {
    if (signal.aborted)
      return { isDelivered: false, mayPass: false, problem: `${peer} did not answer in time` }
    const {
      responseCode = 0,
      command,
      originalCode,
      response,
    }: SmtpFailure = error instanceof Error ? error : new Error(messageOf(error))
    const failure = connectionFailure(Object.assign(new Error(), { code: originalCode }))
    const words =
      response === undefined
        ? (failure?.problem ?? messageOf(error))
        : `${command === 'STARTTLS' ? 'offers no STARTTLS:' : 'answered'} ${response}`
    // After a 5xx or a wrong certificate, a second attempt ends likewise. Behind DATA, the mail may have arrived.
    const mayPass = (responseCode >= 400 && responseCode < 500) || (command === 'CONN' && responseCode === 0)
    const problem = `${peer}${response === undefined ? ': ' : ' '}${excerptOf(words, redact)}`
    return { isDelivered: false, mayPass, problem }
  }
}

/** What nodemailer adds to an error. */
interface SmtpFailure extends Error {
  readonly responseCode?: number
  readonly command?: string
  readonly originalCode?: string
  readonly response?: string
}

/** Returns the recipients that the server refused; rejects if it refused all. */
const send = async (
  { host, port, tls, login, from, to }: MailTarget,
  message: Buffer,
  signal: AbortSignal,
): Promise<readonly string[]> => {
  const connection = new SMTPConnection({
    host,
    port,
    secure: tls === 'always',
    requireTLS: tls === 'starttls',
    ignoreTLS: tls === 'none',
    connectionTimeout: SILENCE_MS_MAX,
    dnsTimeout: SILENCE_MS_MAX,
    greetingTimeout: SILENCE_MS_MAX,
    socketCloseTimeout: 0,
    allowInternalNetworkInterfaces: true,
  })
  const broken = new Promise<never>((_, reject) => {
    connection.on('error', reject)
    connection.on('end', () => reject(new Error('the connection was closed')))
  })
  using _listening = onAbort([signal], () => connection.close())
  const steps = async (): Promise<readonly string[]> => {
    await step((done) => connection.connect(done))
    if (login !== null) {
      const credentials = { user: login.user, pass: login.password.reveal() }
      await step((done) => connection.login({ credentials }, done))
    }
    const envelope = { from: from.address, to: to.map(({ address }) => address) }
    const sent = await step<{ readonly rejected: readonly string[] }>((done) =>
      connection.send(envelope, message, done),
    )
    return sent?.rejected ?? []
  }
  try {
    return await Promise.race([steps(), broken])
  } finally {
    connection.close()
  }
}

type Done<Result> = (error?: Error | null, result?: Result) => void

const step = <Result>(start: (done: Done<Result>) => void): Promise<Result | undefined> =>
  new Promise((resolve, reject) => {
    start((error, result) => (error ? reject(error) : resolve(result)))
  })
