/** What both test files of mail use. */
import { systemClock } from '../../../src/base/clock.js'
import { createRedactor, Secret } from '../../../src/base/secret.js'
import type { MailTarget } from '../../../src/model/monitoring.js'
import { sendMail } from '../../../src/monitoring/mail.js'

export const PASSWORD = 'smtp-password-7c1f'
export const SUBJECT = '1 survey newly needs action (1 in all)'
export const HTML = `<!doctype html><title>é</title>${'x'.repeat(200_000)}\n.\nQUIT\n`

export const targetAt = (port: number, more: Partial<MailTarget> = {}): MailTarget => ({
  ...{ setting: 'notify.digest.mail', host: '127.0.0.1', port, tls: 'none', login: null },
  from: { name: 'Zoë, "F"', address: 'fieldwork@example.com' },
  to: [{ name: '', address: 'ann@example.com' }],
  ...more,
})

/** The wait before the second attempt takes no time. */
export const send = (target: MailTarget, signal = new AbortController().signal) =>
  sendMail(
    target,
    { subject: SUBJECT, text: '• Ünïcode\n.\nQUIT', html: HTML },
    {
      clock: { ...systemClock, after: (_, act) => systemClock.after(0, act) },
      signal,
      redact: createRedactor([new Secret(PASSWORD)]),
    },
  )

export const delivered = { isDelivered: true, problem: null }

export const login = { user: 'fieldwork', password: new Secret(PASSWORD) }
