/** Mails to real SMTP servers: TLS, certificates, credentials, refusals, and servers that are silent or not there. */
import { execFile, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { networkInterfaces } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { SMTPServer, type SMTPServerOptions } from 'smtp-server'
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

slow('a server may take longer to answer a whole mail than to answer at all', async ({ onTestFinished }) => {
  const { port } = await startMailServer(onTestFinished, {
    onData: (stream, _, done) => void stream.resume().on('end', () => setTimeout(done, 11_000)),
  })
  expect(await send(targetAt(port))).toMatchObject(delivered)
})

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

test.concurrent('a recipient that is refused is named with the answer, and all of them are a failure', async ({
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
    problem: `127.0.0.1:${port} refused gone@example.com (550 gone), and it is not sent to them again`,
  })
  expect(mails).toHaveLength(1)
  expect(await send(targetAt(port, { to: [gone] }))).toMatchObject({
    isDelivered: false,
    problem: `127.0.0.1:${port} refused gone@example.com (550 gone)`,
  })
})

const addressesOf = (...names: readonly string[]) =>
  names.map((name) => ({ name: '', address: `${name}@example.com` }))

const refusal = (responseCode: number, text: string) => Object.assign(new Error(text), { responseCode })

test.concurrent('a server that takes few recipients at a time gets the mail again for the others', async ({
  onTestFinished,
}) => {
  const { port, mails } = await startMailServer(onTestFinished, {
    onRcptTo: (_, { envelope }, done) =>
      envelope.rcptTo.length < 2 ? done() : done(refusal(452, 'too many recipients')),
  })
  const to = addressesOf('ann', 'ben', 'cleo', 'dan', 'eve')
  expect(await send(targetAt(port, { to }))).toMatchObject(delivered)
  const all = to.map(({ address }) => address)
  expect(mails.map(({ envelope }) => envelope.slice(1))).toEqual([
    all.slice(0, 2),
    all.slice(2, 4),
    all.slice(4),
  ])
  for (const { email } of mails) expect(email.to?.map(({ address }) => address)).toEqual(all)
})

test.concurrent('who is refused for now is tried again, and then named', async ({ onTestFinished }) => {
  const tried: string[] = []
  const { port, mails } = await startMailServer(onTestFinished, {
    onRcptTo: ({ address }, _, done) => {
      tried.push(address)
      if (address.startsWith('gone')) done(refusal(550, 'gone'))
      else if (address.startsWith('full')) done(refusal(452, 'no room'))
      else done()
    },
  })
  expect(await send(targetAt(port, { to: addressesOf('ann', 'gone', 'full') }))).toMatchObject({
    isDelivered: true,
    problem: `127.0.0.1:${port} refused gone@example.com (550 gone), full@example.com (452 no room), and it is not sent to them again`,
  })
  expect(mails.map(({ envelope }) => envelope.slice(1))).toEqual([['ann@example.com']])
  const full = 'full@example.com'
  expect(tried).toEqual(['ann@example.com', 'gone@example.com', full, full, full])
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

/** Talks SMTP until the content; `answer` gets the connection when a mail is there as a whole. */
const startBareServer = async (finished: Finished, answer: (socket: Socket, content: string) => void) => {
  const contents: string[] = []
  const commands: string[] = []
  const server = createServer((socket) => {
    socket.on('error', () => undefined).write('220 bare\r\n')
    let [text, isContent] = ['', false]
    socket.setEncoding('latin1').on('data', (chunk) => {
      text += chunk
      const end = isContent ? '\r\n.\r\n' : '\r\n'
      if (!text.includes(end)) return
      const [part = ''] = text.split(end)
      text = ''
      if (isContent) {
        contents.push(part)
        answer(socket, part)
      } else {
        commands.push(part)
        socket.write(part === 'DATA' ? '354 go\r\n' : '250 ok\r\n')
      }
      isContent = part === 'DATA'
    })
  })
  return { port: await listen(server, finished), contents, commands }
}

test.concurrent.for([
  ['closes the connection', (socket: Socket) => void socket.end()],
  ['is silent', (_: Socket, ending: AbortController) => ending.abort(new StoppedError('the time is up'))],
] as const)('a mail that the server has is not sent again where it %s', async ([_, act], context) => {
  const ending = new AbortController()
  const { port, contents } = await startBareServer(context.onTestFinished, (socket) => act(socket, ending))
  expect(await send(targetAt(port), ending.signal)).toMatchObject({
    isDelivered: true,
    problem: `127.0.0.1:${port} has the whole mail and did not answer: it may have arrived, and is not sent again`,
  })
  expect(contents).toHaveLength(1)
})

const refusing = (responseCode: number): SMTPServerOptions => ({
  onData: (stream, _, done) => {
    let length = 0
    stream.on('data', ({ length: more }: Buffer) => {
      length += more
    })
    stream.on('end', () =>
      length < 10_000 ? done() : done(Object.assign(new Error('no attachments'), { responseCode })),
    )
  },
})

test.concurrent.for([
  ['too long', { size: 100_000 }, /: 127\.0\.0\.1:\d+(: | answered 552 ).*/],
  ['too much for the mailbox', refusing(552), /: 127\.0\.0\.1:\d+ answered 552 no attachments$/],
  ['against a policy', refusing(554), /: 127\.0\.0\.1:\d+ answered 554 no attachments$/],
  ['against a policy for now', refusing(451), /: 127\.0\.0\.1:\d+ answered 451 no attachments$/],
] as const)(
  'where the report is %s, a mail goes without it and says so',
  async ([_, options, why], context) => {
    const { port } = await startMailServer(context.onTestFinished, options)
    const { isDelivered, problem } = await send(targetAt(port))
    expect([isDelivered, problem]).toEqual([true, expect.stringMatching(/^it went without the report: /)])
    expect(problem).toMatch(why)
  },
)

test.concurrent('a mail without the report has a line about it', async ({ onTestFinished }) => {
  const { port, mails } = await startMailServer(onTestFinished, { size: 100_000 })
  expect(await send(targetAt(port))).toMatchObject({ isDelivered: true })
  expect(mails).toMatchObject([{ email: { attachments: [] } }])
  expect(mails[0]?.email.text).toMatch(/^• Ünïcode[\s\S]*\n\nThe report is not attached, because /)
})

test.concurrent('a server that resets the connection within the content gets the mail without the report', async ({
  onTestFinished,
}) => {
  const sizes: number[] = []
  const server = createServer((socket) => {
    socket.on('error', () => undefined).write('220 bare\r\n')
    let isContent = false
    let size = 0
    socket.setEncoding('latin1').on('data', (chunk) => {
      if (isContent) {
        size += chunk.length
        if (size > 20_000) {
          sizes.push(size)
          socket.resetAndDestroy()
        } else if (String(chunk).endsWith('\r\n.\r\n')) socket.write('250 taken\r\n')
        return
      }
      isContent = String(chunk) === 'DATA\r\n'
      socket.write(isContent ? '354 go\r\n' : '250 ok\r\n')
    })
  })
  const port = await listen(server, onTestFinished)
  const { isDelivered, problem } = await send(targetAt(port))
  expect([isDelivered, sizes.length]).toEqual([true, 1])
  expect(problem).toMatch(
    /^it went without the report: 127\.0\.0\.1:\d+: connection (reset|closed while sending) \(E/,
  )
})

test.concurrent('the greeting has the domain of the sender, and domains with other letters go as xn--', async ({
  onTestFinished,
}) => {
  const { port, commands } = await startBareServer(onTestFinished, (socket) => socket.write('250 taken\r\n'))
  const from = { name: 'Zoë', address: 'fieldwork@münchen.example' }
  const to = [{ name: '', address: 'ann@bücher.example' }]
  expect(await send(targetAt(port, { from, to }))).toMatchObject(delivered)
  expect(commands).toEqual([
    'EHLO xn--mnchen-3ya.example',
    'MAIL FROM:<fieldwork@xn--mnchen-3ya.example>',
    'RCPT TO:<ann@xn--bcher-kva.example>',
    'DATA',
  ])
})

/** An address of this machine that is not loopback: for the command it is another machine. */
const elsewhere = Object.values(networkInterfaces())
  .flatMap((all) => all ?? [])
  .find(({ internal, family }) => !internal && family === 'IPv4')?.address
const MAY_MOUNT = spawnSync('unshare', ['-m', 'true']).status === 0

test.skipIf(elsewhere === undefined || !MAY_MOUNT).concurrent.for([
  ['localhost', 'none', elsewhere, 0],
  ['localhost', 'none', '127.0.0.1', 1],
  ['mail.example', 'if offered', elsewhere, 1],
] as const)(
  '%s without TLS (%s), which the system says is %s, gets %i mails',
  async ([host, tls, address, count], context) => {
    const mails: string[] = []
    const options: SMTPServerOptions = {
      ...{ authOptional: true, disabledCommands: ['STARTTLS'], allowInsecureAuth: true },
      onConnect: (_, done) => {
        mails.push('connected')
        done()
      },
    }
    const smtp = new SMTPServer(options)
    context.onTestFinished(() => new Promise<void>((resolve) => smtp.close(resolve)))
    smtp.listen(0, '0.0.0.0')
    await once(smtp.server, 'listening')
    const { port } = smtp.server.address() as AddressInfo
    const directory = await temporaryDirectory(context.onTestFinished)
    await writeFile(join(directory, 'hosts'), `${address} ${host}\n`)
    await writeFile(join(directory, 'resolv.conf'), 'nameserver 127.0.0.1\noptions attempts:1 timeout:1\n')
    const script = `import { sendMail } from '${new URL('../../../dist/monitoring/mail.js', import.meta.url).pathname}'
    const clock = { monotonicMs: () => 0, nowMs: () => 0, after: (_, act) => { const timer = setTimeout(act, 0); return () => clearTimeout(timer) } }
    const target = { ...JSON.parse(process.argv[1]), login: null }
    const tools = { clock, signal: new AbortController().signal, redact: (text) => text }
    console.log(JSON.stringify(await sendMail(target, { subject: 's', text: 't', html: 'h' }, tools)))`
    const mount = `mount --bind "$0/hosts" /etc/hosts && mount --bind "$0/resolv.conf" /etc/resolv.conf && exec "$1" --input-type=module -e "$2" "$3"`
    const target = JSON.stringify(targetAt(port, { host, tls }))
    const { stdout, stderr } = await promisify(execFile)('unshare', [
      ...['-m', 'sh', '-c', mount, directory, process.execPath, script, target],
    ])
    expect(stderr).toBe('')
    expect(mails).toHaveLength(count)
    const problem = `${host}:${port}: localhost is ${address}, which is not this machine: without TLS, nothing is sent`
    expect(JSON.parse(stdout)).toMatchObject(count === 1 ? delivered : { isDelivered: false, problem })
  },
)
