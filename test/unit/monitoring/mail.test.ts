/** Mails to real SMTP servers: TLS, certificates, credentials, refusals, and servers that are silent or not there. */
import { createServer, type Socket } from 'node:net'
import type { SMTPServerOptions } from 'smtp-server'
import { expect, test } from 'vitest'
import { StoppedError } from '../../../src/base/errors.js'
import { Secret } from '../../../src/base/secret.js'
import type { Finished } from '../../support/files/temporary.js'
import { startMailServer } from '../../support/servers/mail-server.js'
import { freePort, listen } from '../../support/servers/server.js'
import { delivered, HTML, login, PASSWORD, SUBJECT, send, targetAt } from './mail-shared.js'

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
