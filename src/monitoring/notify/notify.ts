/** The requests about a run: at its start, and at its end. */
import { EXIT_CODES } from '../../base/errors.js'
import type { NotifyTargets, RunEnd, Target } from '../../model/monitoring.js'
import type { Delivery } from '../deliver.js'
import { chatBody } from './chat.js'
import { endText } from './message.js'

const PLAIN = 'text/plain; charset=utf-8'
const JSON_TYPE = 'application/json'

export const startDelivery = (target: Target, text: string): Delivery => ({
  setting: 'notify.start',
  target,
  method: 'POST',
  contentType: PLAIN,
  body: text,
})

/** Nothing failed: a budget or a signal may have ended the run. One that a signal stopped before its report did nothing. */
export const isSuccess = ({ exitCode, report }: Pick<RunEnd, 'exitCode' | 'report'>): boolean =>
  exitCode === EXIT_CODES.complete ||
  (exitCode === EXIT_CODES.partial &&
    report !== null &&
    report.accounts.every(({ hasFailures }) => !hasFailures))

/** `redact` removes secrets from a text; `document` is the end of the run in JSON. */
export const endDeliveries = (
  targets: NotifyTargets,
  end: RunEnd,
  { redact, document }: { readonly redact: (text: string) => string; readonly document: string },
): readonly Delivery[] => {
  const text = redact(endText(end))
  const { success, failure, webhook, webhookFormat } = targets
  const deliveries: Delivery[] = []
  const ping = isSuccess(end) ? success : failure
  if (ping !== null)
    deliveries.push({
      setting: isSuccess(end) ? 'notify.success' : 'notify.failure',
      target: ping,
      method: 'POST',
      contentType: PLAIN,
      body: text,
    })
  if (webhook !== null)
    deliveries.push({
      setting: 'notify.webhook',
      target: webhook,
      method: 'POST',
      contentType: JSON_TYPE,
      body: webhookFormat === 'chat' ? chatBody(text) : document,
    })
  return deliveries
}
