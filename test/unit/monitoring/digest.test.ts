/** The texts of a digest: what they say, how long they are, and that nothing of the API acts in them. */
import { expect, test } from 'vitest'
import type { Digest, DigestItem } from '../../../src/model/monitoring.js'
import { digestCard, digestChat, digestText, headline } from '../../../src/monitoring/digest.js'
import { cardProblems } from '../../support/monitoring/adaptive-card.js'

const item = (more: Partial<DigestItem> = {}): DigestItem => ({
  ...{ account: 'acme', surveyId: 1, hashid: 'k7f2a9', kind: 'paused', urgency: 1 },
  ...{ title: 'Brand tracker', projectId: 'P-1', text: 'paused for 2 days' },
  ...more,
})

const digestOf = (items: readonly DigestItem[], more: Partial<Digest> = {}): Digest => ({
  ...{ heading: 'Acme Insights, 2 Mar 2026', items, drift: [], surveys: 8 },
  ...{
    inField: 1_200,
    interviews: 3_456,
    interviewDays: 1,
    hasAccounts: false,
    reportUrl: null,
    surveyUrl: null,
  },
  ...more,
})

test('it counts surveys in its first line, and has a line for each reason', () => {
  const items = [
    item(),
    item({ kind: 'slips', text: 'slips 12 days' }),
    item({ surveyId: 2, projectId: null }),
  ]
  expect(digestText(digestOf(items, { reportUrl: 'https://files.example.com/a_b*c.html' }))).toBe(
    `Acme Insights, 2 Mar 2026: 2 surveys newly need action (8 in all)

• Brand tracker · project P-1 · paused for 2 days
  https://files.example.com/a_b*c.html#acme/1
• Brand tracker · project P-1 · slips 12 days
  https://files.example.com/a_b*c.html#acme/1
• Brand tracker · paused for 2 days
  https://files.example.com/a_b*c.html#acme/2

1,200 surveys in the field, 3,456 interviews on the last day
Report: https://files.example.com/a_b*c.html`,
  )
})

test('one of each is singular; what is not known is left out; accounts are named where there are several', () => {
  const digest = digestOf([item({ title: ' ', projectId: '' })], {
    ...{ surveys: 1, inField: 1, interviews: null, interviewDays: null, hasAccounts: true },
  })
  expect(digestText(digest)).toBe(
    `Acme Insights, 2 Mar 2026: 1 survey needs action

• survey 1 · acme · paused for 2 days

1 survey in the field`,
  )
})

test('the gain says how many days it is of', () => {
  const totals = (interviewDays: number) => digestText(digestOf([], { interviewDays })).split('\n').at(-1)
  expect(totals(1)).toBe('1,200 surveys in the field, 3,456 interviews on the last day')
  expect(totals(3)).toBe('1,200 surveys in the field, 3,456 interviews in the last 3 days')
})

test('a card shows in colour what somebody should act on', () => {
  const card = JSON.parse(digestCard(digestOf([0, 1, 2, 3].map((urgency) => item({ urgency })))))
  const rows: readonly { readonly inlines?: readonly { readonly color?: string }[] }[] =
    card.attachments[0].content.body
  expect(rows.flatMap(({ inlines }) => inlines?.at(-1)?.color ?? [])).toEqual([
    'Attention',
    'Attention',
    'Warning',
    'Default',
  ])
})

test('the subject says when all surveys that need action are new, and when only the answers are', () => {
  const drift = [
    { account: 'acme', names: ['survey.priority', 'survey.status "archived"', 'survey.a', 'survey.b'] },
  ]
  expect(headline(digestOf([item()], { surveys: 1 }))).toBe(
    'Acme Insights, 2 Mar 2026: 1 survey needs action',
  )
  expect(headline(digestOf([item(), item({ surveyId: 2 })], { surveys: 2, drift }))).toBe(
    'Acme Insights, 2 Mar 2026: 2 surveys need action',
  )
  expect(digestText(digestOf([], { drift }))).toBe(
    `Acme Insights, 2 Mar 2026: the answers of the API have changed

• new in the answers of the API: survey.priority, survey.status "archived", survey.a and 1 more

1,200 surveys in the field, 3,456 interviews on the last day`,
  )
  const many = ['a', 'b', 'c', 'd', 'e'].map((account) => ({ account, names: ['survey.<b>x'] }))
  const { text } = JSON.parse(digestChat(digestOf([], { drift: many, hasAccounts: true })))
  expect(text.split('\n').slice(2, 6)).toEqual([
    '• a · new in the answers of the API: survey.‹b›x',
    '• b · new in the answers of the API: survey.‹b›x',
    '• c · new in the answers of the API: survey.‹b›x',
    '• new in the answers for 2 more accounts',
  ])
})

const LINKED = {
  reportUrl: 'https://files.example.com/report(1).html?a=1|2',
  surveyUrl: 'https://survey.example.com/{hashid}/edit',
}

test('each survey has a link to its section of the report, and one to the service', () => {
  const digest = digestOf([item({ title: 'A > B | C', hashid: 'a/b?c😀_-' })], LINKED)
  expect(digestText(digest).split('\n').slice(3, 5)).toEqual([
    '  https://files.example.com/report(1).html?a=1|2#acme/1',
    '  https://survey.example.com/a%2Fb%3Fc%F0%9F%98%80_-/edit',
  ])
  expect(JSON.parse(digestChat(digest)).text.split('\n')[2]).toBe(
    '• <https://files.example.com/report%281%29.html?a=1%7C2#acme/1|A › B ¦ C> · project P-1 · paused for 2 days · ' +
      '<https://survey.example.com/a%2Fb%3Fc%F0%9F%98%80_-/edit|open the survey>',
  )
  const { content } = JSON.parse(digestCard(digest)).attachments[0]
  expect(cardProblems(content)).toEqual([])
  expect(
    content.body[1].inlines.map(({ selectAction }: { selectAction?: { url: string } }) => selectAction?.url),
  ).toEqual([
    'https://files.example.com/report(1).html?a=1|2#acme/1',
    ...[undefined, undefined, undefined],
    'https://survey.example.com/a%2Fb%3Fc%F0%9F%98%80_-/edit',
  ])
})

test('links give way to items where a message has no room for both', () => {
  const items = Array.from({ length: 15 }, (_, surveyId) => item({ surveyId }))
  const surveyUrl = `https://survey.example.com/${'a'.repeat(1_900)}/{hashid}`
  const digest = digestOf(items, { ...LINKED, surveyUrl })
  const { text } = JSON.parse(digestChat(digest))
  expect(
    text.split('\n').filter((line: string) => line === '• Brand tracker · project P-1 · paused for 2 days'),
  ).toHaveLength(15)
  const card = digestCard(digest)
  expect(Buffer.byteLength(card)).toBeLessThan(28_000)
  expect(card).not.toContain('selectAction')
})

test('a long title keeps its end, and no half of a character', () => {
  const title = `${'😀'.repeat(60)} wave 12 FR`
  const [, , line = ''] = digestText(digestOf([item({ title, projectId: 'P'.repeat(99) })])).split('\n')
  expect(line).toMatch(/^• (😀){19}…(😀){14} wave 12 FR · project P{19}…P{20} · paused for 2 days$/u)
})

test('it is short, whatever the number of items and their texts', () => {
  const long = '\u4e00'.repeat(100_000)
  const items = Array.from({ length: 5_000 }, (_, surveyId) =>
    item({ surveyId, title: long, projectId: long, text: long }),
  )
  const digest = digestOf(items, { hasAccounts: true })
  expect(headline(digest)).toBe('Acme Insights, 2 Mar 2026: 5,000 surveys newly need action (8 in all)')
  const { text } = JSON.parse(digestChat(digest))
  expect(text).toContain('\nand 4,986 more reasons\n')
  // Google Chat takes 4,096 characters, Teams 28 KB.
  expect(text.length).toBeLessThan(4_096)
  expect(Buffer.byteLength(digestCard(digest))).toBeLessThan(28_000)
})

test('what a chat does not take is left out and counted', () => {
  const grown = { title: '@'.repeat(200), projectId: ':a'.repeat(100), text: 'a.b'.repeat(100) }
  const items = Array.from({ length: 40 }, (_, surveyId) => item({ surveyId, ...grown }))
  const reportUrl = `https://files.example.com/${'a'.repeat(5_000)}`
  for (const digest of [digestOf(items, { hasAccounts: true }), digestOf(items, { reportUrl })]) {
    const { text } = JSON.parse(digestChat(digest))
    expect(text.length).toBeLessThanOrEqual(4_096)
    const shown = text.split('\n').filter((line: string) => line.startsWith('• ')).length
    expect(text).toContain(`\nand ${40 - shown} more reasons\n`)
    expect(text).toContain('\n1,200 surveys in the field')
  }
})

const HOSTILE = [
  '<!channel> @here <https://evil.example|open> [the report](https://evil.example) ![x](https://evil.example/x.png)',
  '**bold** ~~gone~~ ```code `x` www {{DATE(2026-01-01T00:00:00Z)}}',
  'first\r\nBcc: all@example.com\r\n\r\nbody \u2028 \u0000 \u001b[31mred',
  '_italic_ __bold__ :x: :+1: ;) #town-square www.evil.example evil.example/x mailto:a@evil.example &lt;b&gt; \\*',
  '\u202eright to left\u2066 \u200b hidden \ufeff',
]

test('nothing of the API is a mention, a link, a format or a line in a chat', () => {
  const items = HOSTILE.map((text, surveyId) => item({ surveyId, title: text, projectId: text, text }))
  const { text } = JSON.parse(digestChat(digestOf(items)))
  expect(text.split('\n')).toHaveLength(HOSTILE.length + 4)
  expect(text).not.toMatch(/[<>*~`[\]\\]|[@#](?!\u200b)|:\/\/|(?!\n)[\p{Cc}\p{Zl}\p{Bidi_Control}\ufeff]/u)
  expect(text).not.toMatch(/:[\w+-]|;\)|www\.e|l\.example|\b_|_\b|&lt;/)
  const plain = JSON.parse(digestChat(digestOf([item({ title: 'R&D: wave_12 (3.5 %), 1.2' })]))).text
  expect(plain).toContain('• R&D: wave_12 (3.5 %), 1.2 ·')
})

test('nothing of the API is Markdown or a function in a card, which its clients accept', () => {
  const items = HOSTILE.map((text, surveyId) => item({ surveyId, title: text, projectId: text, text }))
  const { attachments } = JSON.parse(digestCard(digestOf(items, { reportUrl: 'https://files.example.com' })))
  const { content } = attachments[0]
  expect(cardProblems(content)).toEqual([])
  // A text block has Markdown.
  const blocks = content.body.filter(({ type }: { type: string }) => type === 'TextBlock')
  expect(blocks.map(({ text }: { text: string }) => text)).toEqual([
    '1,200 surveys in the field, 3,456 interviews on the last day',
  ])
  expect(JSON.stringify(content)).not.toContain('{{')
})
