/**
 * Digests of what newly needs action: to a chat, to Teams and by mail. Each row of needs_action is sent once, and again only if it was
 * gone in between, whatever fails or is killed. The truth is `needs_action` of the file that the same night published.
 */
import { readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { type ScriptedSurvey, scriptedProgress, scriptedSurveys } from '../support/api/scripted-api.js'
import type { Ended } from '../support/command/command.js'
import { openTrial, type Trial } from '../support/command/trial.js'
import { temporaryDirectory } from '../support/files/temporary.js'
import { cardProblems } from '../support/monitoring/adaptive-card.js'
import { makeCertificates } from '../support/servers/certificates.js'
import { type MailServer, startMailServer } from '../support/servers/mail-server.js'
import { type Receiver, startReceiver } from '../support/servers/receiver.js'
import { openBucketTrial } from '../support/storage/bucket-trial.js'
import { lacks } from '../support/suite/lacks.js'

const CHAT = '/hooks/T024BE7LD/xoxb-chat-secret'
const TEAMS = '/workflows/8d0f2c1e/teams-secret'
const REPORT_URL = 'https://files.example.com/fieldwork/report.html'
const SURVEYS = 8
const NIGHTS = 10

/** Whether a survey is paused in a night: each in a rhythm of its own, some in none, one in the first night. */
const isPaused = (id: number, night: number): boolean => id > 1 && (night * id + (id % 3)) % (id + 2) < 2

/** Each survey gains interviews every night, so that only a pause needs action. */
const change = (one: ScriptedSurvey, night: number, now: Date): void => {
  const { id } = one.survey
  const status = isPaused(id, night) ? 'deviating_from_specs' : 'fieldwork'
  one.progress = scriptedProgress(10 * (night + 1) + id)
  if (one.survey.status !== status)
    one.survey = { ...one.survey, status, updated_at: new Date(now.getTime() - 3_600_000).toISOString() }
}

const begin = (trial: Trial, night: number): void => {
  trial.api.now = new Date(Date.UTC(2026, 2, 1 + night, 2))
  for (const one of trial.api.surveys) change(one, night, trial.api.now)
}

const sync = (
  trial: Trial,
  night: number,
  settings: readonly string[],
  formats = 'duckdb',
): Promise<Ended> => {
  begin(trial, night)
  return trial.runWarm(['sync', '--log-level', 'warn', '--publish', formats, ...settings])
}

/** The lines of all rows that need action. */
const linesOf = async (trial: Trial): Promise<readonly string[]> => {
  const rows = await trial.rows('SELECT title, text FROM needs_action ORDER BY urgency, survey_id, kind')
  return rows.map(({ title, text }) => `${title} · ${text}`)
}

/** The addresses of surveys in a message, in its order: of the section of the report, and of the survey in the service. */
const addressesOf = async (trial: Trial, lines: readonly string[]): Promise<readonly string[]> => {
  const rows = await trial.rows('SELECT DISTINCT account, id, title, hashid FROM surveys')
  return lines.flatMap((line) => {
    const row = rows.find(({ title }) => line.startsWith(`${title} · `))
    return [`${REPORT_URL}#${row?.account}/${row?.id}`, `https://survey.example.com/surveys/${row?.hashid}`]
  })
}

/** The text of a chat without its links. */
const unlinked = (text: string): string =>
  text.replaceAll(/ · <[^|>]*\|open the survey>/g, '').replaceAll(/<[^|>]*\|([^>]*)>/g, '$1')
const linksIn = (text: string): readonly string[] =>
  [...text.matchAll(/<([^|>]*)\|/g)].flatMap(([, url]) => url ?? [])
/** The text of a mail without the lines of addresses. */
const withoutAddresses = (text: string): string => text.replaceAll(/^ {2}https:.*\n/gm, '')

/** A reason says how many days it has lasted, so it is recognized by its survey. */
const isAmong = (lines: readonly string[]) => (line: string) =>
  lines.some((other) => other.split(' · ')[0] === line.split(' · ')[0])

const bodyOf = (receiver: Receiver, path: string) =>
  receiver.received.filter((one) => one.path === path).map(({ body }) => JSON.parse(body))

const itemsIn = (text = ''): readonly string[] =>
  unlinked(text)
    .split('\n')
    .flatMap((line) => (line.startsWith('• ') ? [line.slice(2)] : []))

interface RichText {
  readonly type: string
  readonly inlines?: readonly { readonly text: string; readonly selectAction?: { readonly url: string } }[]
}
const textOf = ({ inlines = [] }: RichText): string => inlines.map(({ text }) => text).join('')
const linksOfCard = (body: readonly RichText[]): readonly string[] =>
  body.flatMap(({ inlines = [] }) => inlines.flatMap(({ selectAction }) => selectAction?.url ?? []))

const openDigests = async (
  context: Parameters<typeof openTrial>[0],
  mailServer: MailServer | null = null,
) => {
  const trial = await openTrial(context, scriptedSurveys(SURVEYS, {}, 1))
  const receiver = await startReceiver(context.onTestFinished)
  const settings = (digest: object = {}) =>
    trial.settings({
      report: { title: 'Acme Insights', survey_url: 'https://survey.example.com/surveys/{hashid}' },
      notify: {
        digest: {
          report_url: REPORT_URL,
          first: 'silent',
          chat: `${receiver.url}${CHAT}`,
          ...(mailServer === null ? {} : { mail: mailTo(mailServer) }),
          ...digest,
        },
      },
    })
  return { trial, receiver, settings }
}

const mailTo = ({ port }: Pick<MailServer, 'port'>) => ({
  smtp: `smtp://127.0.0.1:${port}`,
  from: 'Fieldwork <fieldwork@example.com>',
  to: ['ann@example.com', 'ben@example.com'],
})

test.concurrent('digests of many nights tell each item once, and again only if it went and came back', async (context) => {
  const mailServer = await startMailServer(context.onTestFinished)
  const { trial, receiver, settings } = await openDigests(context, mailServer)
  const config = await settings({ first: 'whole', teams: `${receiver.url}${TEAMS}` })
  let before: readonly string[] = []
  let told = 0
  for (let night = 0; night < NIGHTS; night += 1) {
    expect(await sync(trial, night, config, 'duckdb,report')).toMatchObject({ code: 0, stderr: '' })
    const lines = await linesOf(trial)
    const news = lines.filter((line) => !isAmong(before)(line))
    before = lines
    told += news.length
    const messages = [bodyOf(receiver, CHAT), bodyOf(receiver, TEAMS), mailServer.mails]
    expect(messages.map(({ length }) => length)).toEqual(Array(3).fill(Math.min(1, news.length)))
    const [chat] = bodyOf(receiver, CHAT)
    const [card] = bodyOf(receiver, TEAMS)
    const [mail] = mailServer.mails
    receiver.received.length = 0
    mailServer.mails.length = 0
    if (mail === undefined) continue
    const one = news.length === 1
    const newly = `survey${one ? ' newly needs' : 's newly need'} action (${lines.length} in all)`
    const all = `survey${one ? ' needs' : 's need'} action`
    const subject = `Acme Insights, ${night + 1} Mar 2026: ${news.length} ${news.length === lines.length ? all : newly}`
    const [totals] = await trial.rows(
      `SELECT count(*) || ' surveys in the field' || coalesce(', ' || (
          SELECT sum(gained) FROM progress_daily WHERE day = (SELECT max(progress_day) FROM freshness)
        ) || ' interviews on the last day', '') AS line
        FROM survey_pace WHERE status IN ('fieldwork', 'deviating_from_specs')`,
    )
    expect(unlinked(chat.text).split('\n')).toEqual([
      ...[subject, '', ...news.map((line) => `• ${line}`), ''],
      ...[totals?.line, `Report: ${REPORT_URL}`],
    ])
    const { content, contentType } = card.attachments[0]
    expect([card.type, contentType]).toEqual(['message', 'application/vnd.microsoft.card.adaptive'])
    expect(cardProblems(content)).toEqual([])
    expect(content.body.map(textOf).slice(0, news.length + 1)).toEqual([
      subject,
      ...news.map((line) => `${line} · open the survey`),
    ])
    const links = await addressesOf(trial, news)
    expect(linksOfCard(content.body)).toEqual(links)
    expect(linksIn(chat.text)).toEqual(links)
    expect(content.actions).toEqual([{ type: 'Action.OpenUrl', title: 'Open the report', url: REPORT_URL }])
    const { email, envelope } = mail
    expect(envelope).toEqual(['fieldwork@example.com', 'ann@example.com', 'ben@example.com'])
    expect(email).toMatchObject({ subject, from: { name: 'Fieldwork', address: 'fieldwork@example.com' } })
    const text = email.text?.trimEnd() ?? ''
    expect(withoutAddresses(text)).toBe(unlinked(chat.text))
    expect(text.match(/(?<=^ {2})https:.*/gm)).toEqual(links)
    // The state that the mail tells of is the one that is published next.
    expect(email.attachments).toMatchObject([{ filename: 'report.html', mimeType: 'text/html' }])
    const page = await readFile(join(trial.warehouse, 'report.html'), 'utf8')
    expect(email.attachments[0]?.content === page).toBe(true)
    const sections = links.flatMap((url) => url.split('#')[1] ?? [])
    expect(sections.filter((id) => !page.includes(`id="${id}"`))).toEqual([])
  }
  expect(told).toBeGreaterThan(SURVEYS)
})

test.concurrent('a first digest may be silent; what is new in the answers is said once, also after a failed delivery', async (context) => {
  const { trial, receiver, settings } = await openDigests(context)
  const config = await settings()
  const answer = (more: object) => {
    for (const one of trial.api.surveys) Object.assign(one.survey, more)
  }
  answer({ mood: 'sunny' })
  await sync(trial, 0, config)
  expect(receiver.received).toEqual([])
  answer({ priority: 1 })
  receiver.answer = (_, response) => response.writeHead(404).end()
  await sync(trial, 1, config)
  receiver.answer = (_, response) => response.end()
  answer({ status: 'archived', updated_at: trial.api.now.toISOString() })
  await trial.runWarm(['sync', ...config])
  const [failed, told, ...more] = bodyOf(receiver, CHAT).map(({ text }) =>
    text.split('\n').filter((line: string) => line.includes('new in')),
  )
  expect(failed).toEqual(['• new in the answers of the API: survey.\u200bpriority'])
  expect(told).toEqual([
    '• new in the answers of the API: survey.\u200bpriority, survey.\u200bstatus "archived"',
  ])
  expect(more).toEqual([])
  await sync(trial, 2, config)
  expect(
    bodyOf(receiver, CHAT)
      .slice(2)
      .map(({ text }) => text)
      .join(''),
  ).not.toContain('new in')
})

test.concurrent('a run that is killed after the delivery tells it again, and then no more', async (context) => {
  const { trial, receiver, settings } = await openDigests(context)
  const config = await settings()
  await sync(trial, 0, config)
  begin(trial, 1)
  const running = trial.start(['sync', ...config])
  receiver.answer = () => running.child.kill('SIGKILL')
  expect(await running.ended).toMatchObject({ signal: 'SIGKILL' })
  receiver.answer = (_, response) => response.end()
  const [first] = bodyOf(receiver, CHAT)
  expect(itemsIn(first?.text).length).toBeGreaterThan(0)
  await sync(trial, 1, config)
  await sync(trial, 1, config)
  expect(bodyOf(receiver, CHAT)).toEqual([first, first])
})

test
  .skipIf(lacks('openssl'))
  .concurrent(
    'a mail goes by TLS to a server of an authority that the environment names',
    async (context) => {
      const certificates = makeCertificates(await temporaryDirectory(context.onTestFinished), [
        'DNS:localhost',
      ])
      const { key, cert, caFile } = certificates
      const tls = { key, cert, secure: true, authOptional: false, disabledCommands: [] }
      const mailServer = await startMailServer(context.onTestFinished, {
        ...tls,
        onAuth: ({ username, password }, _, done) => done(null, { user: `${username}:${password}` }),
      })
      const { trial, settings } = await openDigests(context)
      // biome-ignore lint/suspicious/noTemplateCurlyInString: the settings file replaces it
      const password = '${SMTP_PASSWORD}'
      const smtp = `smtps://fieldwork@localhost:${mailServer.port}`
      const config = await settings({ mail: { ...mailTo(mailServer), smtp, password } })
      const env = { NODE_EXTRA_CA_CERTS: caFile, SMTP_PASSWORD: 'smtp-password-7c1f' }
      await sync(trial, 0, await settings({ mail: mailTo(mailServer) }))
      begin(trial, 1)
      const ended = await trial.run(['sync', '--log-level', 'debug', ...config], env)
      expect(ended.code).toBe(0)
      expect(`${ended.stdout}${ended.stderr}`).not.toContain(env.SMTP_PASSWORD)
      expect(mailServer.mails).toMatchObject([{ isSecure: true, user: `fieldwork:${env.SMTP_PASSWORD}` }])
    },
  )

test.concurrent('a channel that fails changes no exit code; it gets the items in the next run, and no other does', async (context) => {
  const mailServer = await startMailServer(context.onTestFinished)
  const { trial, receiver, settings } = await openDigests(context, mailServer)
  const config = await settings()
  await sync(trial, 0, config)
  receiver.answer = ({ path }, response) => response.writeHead(404).end(`no ${path}`)
  const failed = await sync(trial, 1, config)
  expect(failed.code).toBe(0)
  expect(failed.stderr).toMatch(
    /^\{"level":"warn",.*notify\.digest\.chat was not delivered: 127\.0\.0\.1:\d+ answered 404 \(response: no \[redacted\]\)\. The next run sends it"\}\n$/,
  )
  const lost = itemsIn(bodyOf(receiver, CHAT)[0]?.text)
  expect(itemsIn(mailServer.mails[0]?.email.text)).toEqual(lost)
  receiver.answer = (_, response) => response.end()
  receiver.received.length = 0
  expect(await sync(trial, 2, config)).toMatchObject({ code: 0, stderr: '' })
  const told = itemsIn(bodyOf(receiver, CHAT)[0]?.text)
  const lines = await linesOf(trial)
  const mailed = mailServer.mails.slice(1).flatMap(({ email }) => itemsIn(email.text))
  // What is no longer there is not told.
  expect(told).toEqual(lines.filter((line) => isAmong([...lost, ...mailed])(line)))
  expect(mailed.filter(isAmong(lost))).toEqual([])
  await sync(trial, 2, config)
  expect(receiver.received).toHaveLength(1)
})

test.concurrent('what was sent survives a lost work database', async (context) => {
  const { trial, receiver, settings } = await openDigests(context)
  const config = await settings()
  for (const night of [0, 1]) await sync(trial, night, config)
  await rm(join(trial.warehouse, 'work.duckdb'))
  expect((await sync(trial, 1, config)).stderr).toMatch(/the work database was lost and is rebuilt/)
  expect(receiver.received).toHaveLength(1)
})

test.concurrent('what was sent survives in a bucket from pod to pod', async (context) => {
  const trial = await openBucketTrial(context, scriptedSurveys(SURVEYS, {}, 1))
  const receiver = await startReceiver(context.onTestFinished)
  const config = await trial.settings({
    notify: { digest: { first: 'silent', chat: `${receiver.url}${CHAT}` } },
  })
  for (const night of [0, 1, 1]) {
    begin(trial, night)
    expect(await trial.runWarm(['sync', ...config], await trial.pod())).toMatchObject({ code: 0 })
  }
  expect(receiver.received).toHaveLength(1)
})
