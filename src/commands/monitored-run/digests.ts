/**
 * Tells each channel of `notify.digest` what newly needs action. A digest goes out after the commits of a run and before the publish, so
 * that the record of sent items is published with the rows
 * (docs/decisions/monitoring-and-verify.md#0080-a-digest-goes-out-before-its-state-is-published).
 */
import { systemClock } from '../../base/clock.js'
import { messageOf, StoppedError } from '../../base/errors.js'
import type { Log } from '../../base/log.js'
import { once } from '../../base/once.js'
import { onAbort } from '../../base/signals.js'
import { createTimeLimit } from '../../base/time-limit.js'
import { instantFromMs } from '../../model/instant.js'
import { DIGEST_CHANNELS, type Digest, type DigestTargets } from '../../model/monitoring.js'
import { sendDigest } from '../../monitoring/digest.js'
import { datedTitle } from '../../publish/report/formats.js'
import type { Settings } from '../../settings/settings.js'
import { type News, readNews, rememberNews } from '../../warehouse/history/digests.js'
import type { CommittedRun } from '../warehouse-run.js'

interface TellDigests extends CommittedRun {
  readonly targets: DigestTargets
  readonly page: Settings['report']
  readonly redact: (text: string) => string
  readonly log: Log
}

/** The channels are served at the same time. Mail gets longer, because a mail server may examine the attachment before it answers. */
const TELL_MS_MAX = 10_000
const MAIL_MS_MAX = 120_000

/** Never rejects: a digest that fails is one warning, and never changes how the run ends. */
export const tellDigests = async (options: TellDigests): Promise<void> => {
  const { database, targets, runId, signal, redact, log } = options
  const channels = DIGEST_CHANNELS.filter((channel) => targets[channel] !== null)
  try {
    const news = await database.interruptibly(signal, () =>
      database.transaction((sql) => readNews(sql, channels, { runId, first: targets.first })),
    )
    const renderReport = once(() => reportOf(options))
    // A report takes seconds in a large warehouse, which do not count as delivery time.
    if (news.some(({ channel, digest }) => channel === 'mail' && isNews(digest)))
      await renderReport().catch(() => undefined)
    const tell = async (news: News) => {
      using limit = createTimeLimit(systemClock)
      const limitMs = news.channel === 'mail' ? MAIL_MS_MAX : TELL_MS_MAX
      limit.after(limitMs, () => limit.end(new StoppedError('the time for digests is up')))
      using _listening = onAbort([signal], limit.end)
      await tellOne(options, news, { renderReport, signal: limit.signal })
    }
    await Promise.all(news.map(tell))
  } catch (error) {
    if (signal.aborted) return
    log.warn({ setting: 'notify.digest' }, `no digest was made: ${redact(messageOf(error))}`)
  }
}

const reportOf = async ({ database, page, signal }: TellDigests): Promise<string> => {
  const { readReport } = await import('../../publish/report/read.js')
  const { renderReport } = await import('../../publish/report/render.js')
  const rows = await database.interruptibly(signal, () => database.transaction(readReport))
  return renderReport(rows, page).html
}

const isNews = ({ items, drift }: News['digest']): boolean => items.length + drift.length > 0

const tellOne = async (
  { database, targets, page, runId, redact, log }: TellDigests,
  news: News,
  sending: { readonly renderReport: () => Promise<string>; readonly signal: AbortSignal },
): Promise<void> => {
  const { channel, firstTime, silent, gone } = news
  const target = targets[channel]
  if (target === null) return
  const digest: Digest = {
    ...news.digest,
    heading: datedTitle(page, news.newestAt),
    reportUrl: targets.reportUrl,
    surveyUrl: page.survey_url ?? null,
  }
  const { setting } = target
  let isTold = !isNews(digest)
  try {
    if (!isTold) {
      const tools = { clock: systemClock, signal: sending.signal, redact }
      const { isDelivered, problem } = await sendDigest(target, { ...sending, digest }, tools)
      isTold = isDelivered
      if (problem !== null)
        log.warn(
          { setting },
          `${setting} was not delivered${isTold ? ' to everybody' : ''}: ${problem}${isTold ? '' : AGAIN}`,
        )
      else log.info({ setting, items: digest.items.length }, 'a digest was sent')
    }
    if (firstTime.length + silent.length + gone.length === 0 && !isNews(digest)) return
    const at = instantFromMs(systemClock.nowMs())
    await database.transaction((sql) => rememberNews(sql, news, { isTold, runId, at }))
  } catch (error) {
    const what = isTold
      ? 'the digest was sent, but that could not be remembered'
      : `${setting} was not delivered`
    log.warn({ setting }, `${what}: ${redact(messageOf(error))}${AGAIN}`)
  }
}

const AGAIN = '. The next run sends it'
