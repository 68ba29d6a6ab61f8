/**
 * What newly needs action, as text, as a chat message and as an Adaptive Card. Titles come from the API. Here they become one line of
 * printable text without markup.
 */
import { counted, cutInMiddle, humanCount } from '../base/human.js'
import type { Digest, DigestItem, MailTarget, Target } from '../model/monitoring.js'
import { type Delivery, type DeliveryTools, deliver } from './deliver.js'
import { JSON_TYPE } from './notify.js'

/** The most surveys of a digest. A chat may get fewer: `digestChat`. */
const ITEMS_MAX = 15
/** UTF-16 units. */
const [TITLE_MAX, PROJECT_MAX, REASON_MAX] = [80, 40, 120]

/** `3 surveys newly need action (8 in all)`; the subject of a mail. */
export const headline = ({ items, surveys }: Digest): string => {
  const news = new Set(items.map(({ account, surveyId }) => `${account}/${surveyId}`)).size
  return `${counted(news, 'survey newly needs', 'surveys newly need')} action (${humanCount(surveys)} in all)`
}

/** The lines of a mail. */
export const digestText = (digest: Digest): string => linesOf(digest, ITEMS_MAX, (text) => text).join('\n')

/** A longer address of the report is left out of a chat message. */
const CHAT_URL_LENGTH_MAX = 2_000

/** For the incoming webhooks of Slack, Mattermost and Google Chat: as many items as all of them take. */
export const digestChat = (digest: Digest): string => {
  const hasUrl = digest.reportUrl !== null && digest.reportUrl.length <= CHAT_URL_LENGTH_MAX
  const shown = hasUrl ? digest : { ...digest, reportUrl: null }
  const textOf = (itemsMax: number) => linesOf(shown, itemsMax, harmless).join('\n')
  let itemsMax = ITEMS_MAX
  while (textOf(itemsMax).length > CHAT_LENGTH_MAX) itemsMax -= 1
  return JSON.stringify({ text: textOf(itemsMax) })
}

/** Characters of a message. Google Chat takes 4,096 and refuses a longer one; Mattermost takes 16,383, and Slack 40,000. */
const CHAT_LENGTH_MAX = 4_096

/**
 * A text may quote the API. After these changes no chat finds a mention of everybody, a link, a picture, an emoji, a tag or another format
 * in it. Slack and Google Chat write mentions as <!channel>, Mattermost as @channel; Mattermost also reads Markdown. An underscore within a
 * word is not markup, so names of settings stay as they are.
 */
const LOOKALIKES: Readonly<Record<string, string>> = {
  ...{ '<': '‹', '>': '›', '*': '∗', '~': '∼', '`': 'ˋ', '[': '［', ']': '］', '\\': '＼', _: 'ˍ' },
}
const FORMATS = /[<>*~`[\]\\]|(?<![\p{L}\p{N}])_|_(?![\p{L}\p{N}])/gu
/** Characters after which an address, an emoji such as :x:, a tag, an entity or a mention begins or goes on. */
const JOINTS = /[@#]|[:;](?=\S)|&(?=#?\w+;)|(?<=[\p{L}\p{N}])\.(?=\p{L})/gu

const harmless = (text: string): string =>
  text.replaceAll(FORMATS, (match) => LOOKALIKES[match] ?? '').replaceAll(JOINTS, (match) => `${match}\u200b`)

/** `safe` makes a text from the API harmless. */
const linesOf = (digest: Digest, itemsMax: number, safe: (text: string) => string): readonly string[] => [
  headline(digest),
  '',
  ...shownOf(digest, itemsMax).map((item) => {
    const { title, details, reason } = partsOf(item, digest)
    return `• ${[title, ...details, reason].map(safe).join(' · ')}`
  }),
  ...restOf(digest, itemsMax),
  '',
  totalsOf(digest),
  ...(digest.reportUrl === null ? [] : [`Report: ${digest.reportUrl}`]),
]

const shownOf = ({ items }: Digest, itemsMax: number): readonly DigestItem[] => items.slice(0, itemsMax)

const restOf = ({ items }: Digest, itemsMax: number): readonly string[] => {
  const left = items.length - itemsMax
  return left > 0 ? [`and ${humanCount(left)} more`] : []
}

const totalsOf = ({ inField, interviews }: Digest): string => {
  const gained = interviews === null ? '' : `, ${counted(interviews, 'interview')} in the last 24 hours`
  return `${counted(inField, 'survey')} in the field${gained}`
}

const partsOf = (item: DigestItem, { hasAccounts }: Digest) => {
  const title = cut(item.title, TITLE_MAX)
  const project = cut(item.projectId ?? '', PROJECT_MAX)
  return {
    title: title === '' ? `survey ${item.surveyId}` : title,
    details: [...(hasAccounts ? [item.account] : []), ...(project === '' ? [] : [`project ${project}`])],
    reason: cut(item.text, REASON_MAX),
  }
}

/** One line, without characters that hide text or change its direction. Joiners stay: scripts and emoji need them. */
const printable = (text: string): string =>
  text
    .replaceAll(/[\p{Cc}\p{Zl}\p{Zp}\s]+/gu, ' ')
    .replaceAll(/(?![\u200c\u200d])\p{Cf}/gu, '')
    .trim()

const cut = (text: string, unitsMax: number): string =>
  cutInMiddle(printable(text), unitsMax, ({ length }) => length)

const COLOURS: Readonly<Record<number, string>> = { 0: 'Attention', 1: 'Attention', 2: 'Warning' }

/** For a Workflows webhook of Teams. Text of the API is only in runs, in which Adaptive Cards read no Markdown. */
export const digestCard = (digest: Digest): string => {
  const line = (text: string, more: object = {}) => ({ type: 'TextBlock', text, wrap: true, ...more })
  const run = (text: string, more: object) => ({ type: 'TextRun', text: withoutFunctions(text), ...more })
  const rows = shownOf(digest, ITEMS_MAX).map((item) => {
    const { title, details, reason } = partsOf(item, digest)
    return {
      type: 'RichTextBlock',
      inlines: [
        run(title, { weight: 'Bolder' }),
        run(['', ...details, ''].join(' · '), { isSubtle: true }),
        run(reason, { color: COLOURS[item.urgency] ?? 'Default' }),
      ],
    }
  })
  const { reportUrl: url } = digest
  const content = {
    $schema: 'http://adaptivecards.io/schemas/adaptive-card.json',
    type: 'AdaptiveCard',
    version: '1.5',
    body: [
      line(headline(digest), { size: 'Large', weight: 'Bolder' }),
      ...rows,
      ...restOf(digest, ITEMS_MAX).map((text) => line(text)),
      line(totalsOf(digest), { isSubtle: true, separator: true }),
    ],
    ...(url === null ? {} : { actions: [{ type: 'Action.OpenUrl', title: 'Open the report', url }] }),
    msteams: { width: 'Full' },
  }
  const attachment = { contentType: 'application/vnd.microsoft.card.adaptive', contentUrl: null, content }
  return JSON.stringify({ type: 'message', attachments: [attachment] })
}

/** A card would evaluate `{{DATE(…)}}`. */
const withoutFunctions = (text: string): string => text.replaceAll('{{', '{\u200b{')

interface Sending {
  readonly digest: Digest
  /** The report as a page, for a mail. */
  readonly renderReport: () => Promise<string>
}

/** Delivers a digest to its target. Returns why it was not delivered, or not to everybody. */
export const sendDigest = async (
  target: Target | MailTarget,
  { digest, renderReport }: Sending,
  tools: DeliveryTools,
): Promise<{ readonly isDelivered: boolean; readonly problem: string | null }> => {
  if ('from' in target) {
    // This import loads nodemailer.
    const { sendMail } = await import('./mail.js')
    const text = tools.redact(digestText(digest))
    const mail = { subject: headline(digest), text, html: await renderReport() }
    return await sendMail(target, mail, tools)
  }
  const body = target.setting.endsWith('.teams') ? digestCard(digest) : digestChat(digest)
  const delivery: Delivery = { target, method: 'POST', contentType: JSON_TYPE, body: tools.redact(body) }
  const problem = await deliver(delivery, tools)
  return { isDelivered: problem === null, problem }
}
