/** Mails to real SMTP servers: TLS, certificates, credentials, refusals, and servers that are silent or not there. */
import { createServer } from 'node:net'
import type { SMTPServerOptions } from 'smtp-server'
import { expect, test } from 'vitest'
import { systemClock } from '../../../src/base/clock.js'
import { StoppedError } from '../../../src/base/errors.js'
import { createRedactor, Secret } from '../../../src/base/secret.js'
import type { MailTarget } from '../../../src/model/monitoring.js'
import { sendMail } from '../../../src/monitoring/mail.js'
import type { Finished } from '../../support/files/temporary.js'
import { temporaryDirectory } from '../../support/files/temporary.js'
import { HAS_OPENSSL, makeCertificates } from '../../support/servers/certificates.js'
import { startMailServer } from '../../support/servers/mail-server.js'
import { freePort, listen } from '../../support/servers/server.js'
import { slow } from '../../support/suite/slow.js'

const PASSWORD = 'smtp-password-7c1f'
const SUBJECT = '1 survey newly needs action (1 in all)'
const HTML = `<!doctype html><title>é</title>${'x'.repeat(200_000)}\n.\nQUIT\n`

const targetAt = (port: number, more: Partial<MailTarget> = {}): MailTarget => ({
  ...{ setting: 'notify.digest.mail', host: '127.0.0.1', port, tls: 'none', login: null },
  from: { name: 'Zoë, "F"', address: 'fieldwork@example.com' },
  to: [{ name: '', address: 'ann@example.com' }],
  ...more,
})

/** The wait before the second attempt takes no time. */
const send = (target: MailTarget, signal = new AbortController().signal) =>
  sendMail(
    target,
    { subject: SUBJECT, text: '• Ünïcode\n.\nQUIT', html: HTML },
    {
      clock: { ...systemClock, after: (_, act) => systemClock.after(0, act) },
      signal,
      redact: createRedactor([new Secret(PASSWORD)]),
    },
  )

const delivered = { isDelivered: true, problem: null }

test.concurrent('a mail has its text, and the report as it is', async ({ onTestFinished }) => {
  const { port, mails } = await startMailServer(onTestFinished)
  expect(await send(targetAt(port))).toMatchObject(delivered)
  expect(mails).toHaveLength(1)
  const [{ email, source } = { email: null, source: '' }] = mails
  expect(email).toMatchObject({
    subject: SUBJECT,
    from: { name: 'Zoë, "F"', address: 'fieldwork@example.com' },
    to: [{ address: 'ann@example.com' }],
    attachments: [{ filename: 'report.html', mimeType: 'text/html', disposition: 'attachment' }],
  })
  expect(email?.text?.trimEnd()).toBe('• Ünïcode\n.\nQUIT')
  expect(email?.html).toBeUndefined()
  expect(email?.attachments[0]?.content).toBe(HTML)
  expect(source).toMatch(/^Auto-Submitted: auto-generated\r$/m)
})

slow(
  'a server may take longer to answer a whole mail than to answer at all',
  { timeout: 60_000 },
  async ({ onTestFinished }) => {
    const { port } = await startMailServer(onTestFinished, {
      onData: (stream, _, done) => void stream.resume().on('end', () => setTimeout(done, 11_000)),
    })
    expect(await send(targetAt(port))).toMatchObject(delivered)
  },
)

/** A server that can do TLS, and a certificate that this process does not trust. */
const startTlsServer = async (finished: Finished, options: SMTPServerOptions) => {
  const { key, cert } = makeCertificates(await temporaryDirectory(finished), ['IP:127.0.0.1'])
  return await startMailServer(finished, { key, cert, disabledCommands: [], ...options })
}

const login = { user: 'fieldwork', password: new Secret(PASSWORD) }

test.skipIf(!HAS_OPENSSL).concurrent.for([
  ['always', { secure: true }],
  ['starttls', {}],
  ['if offered', {}],
] as const)(
  'with TLS "%s", a certificate that cannot be verified is refused',
  async ([tls, options], { onTestFinished }) => {
    const { port, mails } = await startTlsServer(onTestFinished, options)
    const { isDelivered, problem } = await send(targetAt(port, { tls, login }))
    expect([isDelivered, mails]).toEqual([false, []])
    expect(problem).toMatch(/^127\.0\.0\.1:\d+: its TLS certificate cannot be verified \(/)
  },
)

test.concurrent('without STARTTLS, a mail is sent only if the settings allow that', async ({
  onTestFinished,
}) => {
  const { port, mails } = await startMailServer(onTestFinished)
  const { isDelivered, problem } = await send(targetAt(port, { tls: 'starttls' }))
  expect([isDelivered, mails]).toEqual([false, []])
  expect(problem).toMatch(/^127\.0\.0\.1:\d+ offers no STARTTLS: 5/)
  expect(await send(targetAt(port, { tls: 'if offered' }))).toMatchObject(delivered)
  expect(mails).toMatchObject([{ isSecure: false }])
})

test.concurrent('the server gets user and password, and a refusal does not show them', async ({
  onTestFinished,
}) => {
  const options: SMTPServerOptions = {
    authOptional: false,
    onAuth: ({ username, password }, _, done) =>
      password === PASSWORD
        ? done(null, { user: username })
        : done(new Error(`no ${password} of\r\n ${username}\u0000`)),
  }
  const { port, mails } = await startMailServer(onTestFinished, options)
  expect(await send(targetAt(port, { login }))).toMatchObject(delivered)
  expect(mails).toMatchObject([{ user: 'fieldwork' }])
  const wrong = { ...login, password: new Secret(`${PASSWORD}x`) }
  const { problem } = await send(targetAt(port, { login: wrong }))
  expect(problem).toMatch(/^127\.0\.0\.1:\d+ answered 535 no \[redacted\]x of/)
})

test.concurrent('a recipient that is refused is named by number, and all of them are a failure', async ({
  onTestFinished,
}) => {
  const { port, mails } = await startMailServer(onTestFinished, {
    onRcptTo: ({ address }, _, done) =>
      address.startsWith('gone') ? done(Object.assign(new Error('gone'), { responseCode: 550 })) : done(),
  })
  const [ann, gone] = ['ann', 'gone'].map((name) => ({ name: '', address: `${name}@example.com` }))
  if (ann === undefined || gone === undefined) throw new Error('two addresses')
  expect(await send(targetAt(port, { to: [ann, gone] }))).toMatchObject({
    isDelivered: true,
    problem: `127.0.0.1:${port} refused 1 of 2 recipients`,
  })
  expect(mails).toHaveLength(1)
  expect(await send(targetAt(port, { to: [gone] }))).toMatchObject({ isDelivered: false })
})

test.concurrent('a temporary refusal is tried twice', async ({ onTestFinished }) => {
  let senders = 0
  const { port, mails } = await startMailServer(onTestFinished, {
    onMailFrom: (_address, _session, done) => {
      senders += 1
      if (senders === 1) done(Object.assign(new Error('later'), { responseCode: 451 }))
      else done()
    },
  })
  expect(await send(targetAt(port))).toMatchObject(delivered)
  expect(mails).toHaveLength(1)
})

test.concurrent('a server that is not there is named', async () => {
  const port = await freePort()
  expect(await send(targetAt(port))).toMatchObject({
    isDelivered: false,
    problem: `127.0.0.1:${port}: connection refused (ECONNREFUSED)`,
  })
})

test.concurrent('the signal ends a mail to a silent server', async ({ onTestFinished }) => {
  const ending = new AbortController()
  const silent = createServer((socket) => {
    socket.on('error', () => undefined).on('close', () => closed())
    ending.abort(new StoppedError('the time is up'))
  })
  let closed = (): void => undefined
  const isClosed = new Promise<void>((resolve) => {
    closed = resolve
  })
  const port = await listen(silent, onTestFinished)
  const { isDelivered, problem } = await send(targetAt(port), ending.signal)
  expect([isDelivered, problem]).toEqual([false, `127.0.0.1:${port} did not answer in time`])
  await isClosed
})
