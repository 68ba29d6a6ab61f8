/** A real SMTP server on a free port, which keeps the mails that it gets. */
import PostalMime, { type Email } from 'postal-mime'
import { SMTPServer, type SMTPServerOptions } from 'smtp-server'
import type { Finished } from '../files/temporary.js'
import { listen } from './server.js'

export interface MailServer {
  readonly port: number
  readonly mails: Mail[]
}

interface Mail {
  /** Of the commands MAIL FROM and RCPT TO. */
  readonly envelope: readonly string[]
  readonly isSecure: boolean
  readonly user: string | null
  readonly source: string
  readonly email: Email
}

/** Takes mails of anybody without TLS, unless the options say otherwise. */
export const startMailServer = async (
  finished: Finished,
  options: SMTPServerOptions = {},
): Promise<MailServer> => {
  const mails: Mail[] = []
  const smtp = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS'],
    allowInsecureAuth: true,
    onData: async (stream, { envelope, secure, user }, done) => {
      const chunks: Uint8Array[] = []
      for await (const chunk of stream) chunks.push(chunk)
      const source = Buffer.concat(chunks)
      const { mailFrom, rcptTo } = envelope
      mails.push({
        envelope: [mailFrom === false ? '' : mailFrom.address, ...rcptTo.map(({ address }) => address)],
        isSecure: secure,
        user: user ?? null,
        source: source.toString('latin1'),
        email: await PostalMime.parse(source, { attachmentEncoding: 'utf8' }),
      })
      done()
    },
    ...options,
  })
  // A client that refuses the certificate.
  smtp.on('error', () => undefined)
  const port = await listen(smtp.server)
  finished(() => new Promise<void>((resolve) => smtp.close(resolve)))
  return { port, mails }
}
