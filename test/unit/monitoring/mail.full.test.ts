/** Mails to real SMTP servers: TLS, certificates, credentials, refusals, and servers that are silent or not there. */
import { execFile, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import type { AddressInfo } from 'node:net'
import { networkInterfaces } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { SMTPServer, type SMTPServerOptions } from 'smtp-server'
import { expect, test } from 'vitest'
import type { Finished } from '../../support/files/temporary.js'
import { temporaryDirectory } from '../../support/files/temporary.js'
import { makeCertificates } from '../../support/servers/certificates.js'
import { startMailServer } from '../../support/servers/mail-server.js'
import { lacks } from '../../support/suite/lacks.js'
import { delivered, login, send, targetAt } from './mail-shared.js'

test('a server may take longer to answer a whole mail than to answer at all', async ({ onTestFinished }) => {
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

test.skipIf(lacks('openssl')).concurrent.for([
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

/** An address of this machine that is not loopback: for the command it is another machine. */
const elsewhere = Object.values(networkInterfaces())
  .flatMap((all) => all ?? [])
  .find(({ internal, family }) => !internal && family === 'IPv4')?.address
const MAY_MOUNT = spawnSync('unshare', ['-m', 'true']).status === 0

test
  .skipIf(lacks('the right to mount', MAY_MOUNT) || lacks('an address of this host', elsewhere !== undefined))
  .concurrent.for([
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
    const script = `import { sendMail } from '${fileURLToPath(new URL('../../../dist/monitoring/mail.js', import.meta.url))}'
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
