/**
 * What newly needs action, as text, as a chat message and as an Adaptive Card. Titles come from the API. Here they become one line of
 * printable text without markup.
 */
import { counted, cutInMiddle, humanCount } from '../base/human.js'
import type { Digest, DigestItem, MailTarget, Target } from '../model/monitoring.js'
import { surveyAddress } from '../model/survey-address.js'
import { type Delivery, type DeliveryTools, deliver } from './deliver.js'
import { JSON_TYPE } from './notify.js'

/** The most surveys of a digest. A chat may get fewer: `digestChat`. */
const ITEMS_MAX = 15
/** UTF-16 units. */
const [TITLE_MAX, PROJECT_MAX, REASON_MAX] = [80, 40, 120]

/** A longer address of the report is left out of a chat message. */
const CHAT_URL_LENGTH_MAX = 2_000

/** `Fieldwork report, 2 Mar 2026: 3 surveys newly need action (8 in all)`; the subject of a mail. */
export const headline = (digest: Digest): string => `${digest.heading}: ${newsOf(digest)}`

const newsOf = ({ items, surveys }: Digest): string => {
  const news = new Set(items.map(({ account, surveyId }) => `${account}/${surveyId}`)).size
  if (news === 0) return 'the answers of the API have changed'
  if (news === surveys) return `${counted(news, 'survey needs', 'surveys need')} action`
  return `${counted(news, 'survey newly needs', 'surveys newly need')} action (${humanCount(surveys)} in all)`
}

/** The lines of a mail. */
export const digestText = (digest: Digest): string =>
  linesOf(
    digest,
    ITEMS_MAX,
    (text) => text,
    (item) => [
      `• ${[item.title, ...item.details, item.reason].join(' · ')}`,
      ...[item.reportUrl, item.surveyUrl].flatMap((url) => (url === null ? [] : [`  ${url}`])),
    ],
  ).join('\n')

/** For the incoming webhooks of Slack, Mattermost and Google Chat: as many items as all of them take, and links if all fit with links. */
export const digestChat = (digest: Digest): string => {
  const hasUrl = digest.reportUrl !== null && digest.reportUrl.length <= CHAT_URL_LENGTH_MAX
  const shown = hasUrl ? digest : { ...digest, reportUrl: null }
  const textOf = (itemsMax: number, isLinked: boolean) =>
    linesOf(shown, itemsMax, harmless, (item) => [chatLine(item, isLinked)]).join('\n')
  const linked = textOf(ITEMS_MAX, true)
  if (linked.length <= CHAT_LENGTH_MAX) return JSON.stringify({ text: linked })
  let itemsMax = ITEMS_MAX
  while (textOf(itemsMax, false).length > CHAT_LENGTH_MAX) itemsMax -= 1
  return JSON.stringify({ text: textOf(itemsMax, false) })
}

const chatLine = ({ title, details, reason, reportUrl, surveyUrl }: Parts, isLinked: boolean): string => {
  const first = isLinked && reportUrl !== null ? chatLink(harmless(title), reportUrl) : harmless(title)
  const last = isLinked && surveyUrl !== null ? [chatLink(OPEN_SURVEY, surveyUrl)] : []
  return `• ${[first, ...[...details, reason].map(harmless), ...last].join(' · ')}`
}

/** All three read this form, which is that of Slack. Mattermost makes `[text](url)` of it. */
const chatLink = (text: string, url: string): string =>
  `<${url.replaceAll(/[|()<>]/g, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`)}|${text}>`

const OPEN_SURVEY = 'open the survey'

/** Characters of a message. Google Chat takes 4,096 and refuses a longer one; Mattermost takes 16,383, and Slack 40,000. */
const CHAT_LENGTH_MAX = 4_096

/**
 * A text may quote the API. After these changes no chat finds a mention of everybody, a link, a picture, an emoji, a tag or another format
 * in it. Slack and Google Chat write mentions as <!channel>, Mattermost as @channel; Mattermost also reads Markdown. An underscore within a
 * word is not markup, so names of settings stay as they are.
 */
const LOOKALIKES: Readonly<Record<string, string>> = {
  ...{ '<': '‹', '>': '›', '|': '¦', '*': '∗', '~': '∼', '`': 'ˋ', '[': '［', ']': '］', '\\': '＼', _: 'ˍ' },
}
const FORMATS = /[<>|*~`[\]\\]|(?<![\p{L}\p{N}])_|_(?![\p{L}\p{N}])/gu
/** Characters after which an address, an emoji such as :x:, a tag, an entity or a mention begins or goes on. */
const JOINTS = /[@#]|[:;](?=\S)|&(?=#?\w+;)|(?<=[\p{L}\p{N}])\.(?=\p{L})/gu

const harmless = (text: string): string =>
  text.replaceAll(FORMATS, (match) => LOOKALIKES[match] ?? '').replaceAll(JOINTS, (match) => `${match}\u200b`)

/** `safe` makes a text from the API harmless; `itemLines` are the lines of an item. */
const linesOf = (
  digest: Digest,
  itemsMax: number,
  safe: (text: string) => string,
  itemLines: (item: Parts) => readonly string[],
): readonly string[] => [
  safe(headline(digest)),
  '',
  ...shownOf(digest, itemsMax).flatMap((item) => itemLines(partsOf(item, digest))),
  ...restOf(digest, itemsMax),
  ...driftOf(digest).map((text) => `• ${safe(text)}`),
  '',
  totalsOf(digest),
  ...(digest.reportUrl === null ? [] : [`Report: ${digest.reportUrl}`]),
]

const shownOf = ({ items }: Digest, itemsMax: number): readonly DigestItem[] => items.slice(0, itemsMax)

const restOf = ({ items }: Digest, itemsMax: number): readonly string[] => {
  const left = items.length - itemsMax
  return left > 0 ? [`and ${counted(left, 'more reason')}`] : []
}

/** The most accounts, and fields or values of each, that a digest names. */
const [DRIFTED_MAX, NAMES_MAX] = [3, 3]

/** `acme · new in the answers of the API: survey.priority, survey.status "archived" and 2 more`. */
const driftOf = ({ drift, hasAccounts }: Digest): readonly string[] => {
  const left = drift.length - DRIFTED_MAX
  return [
    ...drift.slice(0, DRIFTED_MAX).map(({ account, names }) => {
      const more = names.length > NAMES_MAX ? ` and ${humanCount(names.length - NAMES_MAX)} more` : ''
      const named = names.slice(0, NAMES_MAX).map((name) => cut(name, REASON_MAX))
      return `${hasAccounts ? `${account} · ` : ''}new in the answers of the API: ${named.join(', ')}${more}`
    }),
    ...(left > 0 ? [`new in the answers for ${counted(left, 'more account')}`] : []),
  ]
}

const totalsOf = ({ inField, interviews, interviewDays: days }: Digest): string => {
  const period = days === null || days === 1 ? 'on the last day' : `in the last ${days} days`
  const gained = interviews === null ? '' : `, ${counted(interviews, 'interview')} ${period}`
  return `${counted(inField, 'survey')} in the field${gained}`
}

type Parts = ReturnType<typeof partsOf>

const partsOf = (item: DigestItem, { hasAccounts, reportUrl, surveyUrl }: Digest) => {
  const { account, surveyId, hashid } = item
  const title = cut(item.title, TITLE_MAX)
  const project = cut(item.projectId ?? '', PROJECT_MAX)
  return {
    title: title === '' ? `survey ${surveyId}` : title,
    details: [...(hasAccounts ? [account] : []), ...(project === '' ? [] : [`project ${project}`])],
    reason: cut(item.text, REASON_MAX),
    /** The section of the survey in the report. */
    reportUrl: reportUrl === null ? null : `${reportUrl}#${account}/${surveyId}`,
    /** The survey in the service. */
    surveyUrl: surveyUrl === null ? null : surveyAddress(surveyUrl, hashid),
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

/** For a Workflows webhook of Teams: with links if the card fits with links. */
export const digestCard = (digest: Digest): string => {
  const linked = cardOf(digest, true)
  return Buffer.byteLength(linked) <= CARD_BYTES_MAX ? linked : cardOf(digest, false)
}

/** Teams takes 28 KB. */
const CARD_BYTES_MAX = 28_000

/** Texts of others are only in runs, in which Adaptive Cards read no Markdown. */
const cardOf = (digest: Digest, isLinked: boolean): string => {
  const line = (text: string, more: object = {}) => ({ type: 'TextBlock', text, wrap: true, ...more })
  const run = (text: string, more: object = {}) => ({
    type: 'TextRun',
    text: withoutFunctions(text),
    ...more,
  })
  const runs = (...inlines: readonly object[]) => ({ type: 'RichTextBlock', inlines })
  const rows = shownOf(digest, ITEMS_MAX).map((item) => {
    const { title, details, reason, reportUrl, surveyUrl } = partsOf(item, digest)
    return runs(
      run(title, { weight: 'Bolder', ...(isLinked && reportUrl !== null && opening(reportUrl)) }),
      run(['', ...details, ''].join(' · '), { isSubtle: true }),
      run(reason, { color: COLOURS[item.urgency] ?? 'Default' }),
      ...(isLinked && surveyUrl !== null ? [run(' · '), run(OPEN_SURVEY, opening(surveyUrl))] : []),
    )
  })
  const { reportUrl: url } = digest
  const content = {
    $schema: 'http://adaptivecards.io/schemas/adaptive-card.json',
    type: 'AdaptiveCard',
    version: '1.5',
    body: [
      runs(run(headline(digest), { size: 'Large', weight: 'Bolder' })),
      ...rows,
      ...restOf(digest, ITEMS_MAX).map((text) => line(text)),
      ...driftOf(digest).map((text) => runs(run(text))),
      line(totalsOf(digest), { isSubtle: true, separator: true }),
    ],
    ...(url === null ? {} : { actions: [{ type: 'Action.OpenUrl', title: 'Open the report', url }] }),
    msteams: { width: 'Full' },
  }
  const attachment = { contentType: 'application/vnd.microsoft.card.adaptive', contentUrl: null, content }
  return JSON.stringify({ type: 'message', attachments: [attachment] })
}

const opening = (url: string) => ({ selectAction: { type: 'Action.OpenUrl', url } })

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
