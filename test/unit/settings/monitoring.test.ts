/** The settings `metrics` and `notify`: what is refused, which proxy is used, and what counts as a secret. */
import { expect, test } from 'vitest'
import { createRedactor } from '../../../src/base/secret.js'
import { SettingsError } from '../../../src/settings/problems.js'
import { secretsOf } from '../../../src/settings/settings.js'
import { shardOf } from '../../../src/settings/shards.js'
import { ACCOUNT, load, problemsOf } from '../../support/settings/settings-from-yaml.js'

const withSection = (section: string) => ({ yaml: `${ACCOUNT}${section}`, withReports: true })

test('without these sections nothing is reported', async () => {
  expect(await load(withSection(''))).toMatchObject({ metrics: null, notify: null })
  expect(await load(withSection('notify:\n'))).toMatchObject({ notify: null })
})

test('the file is relative to the working directory, and each shard has its own', async () => {
  const given = withSection('metrics:\n  file: out/fieldwork_sync.prom\n')
  expect((await load(given)).metrics).toMatchObject({
    file: `${process.cwd()}/out/fieldwork_sync.prom`,
    pushgateway: null,
  })
  const index = shardOf('acme', 4)
  expect((await load({ ...given, flags: { shard: `${index}/4` } })).metrics?.file).toBe(
    `${process.cwd()}/out/fieldwork_sync.shard-${index}-of-4.prom`,
  )
})

test('an address has the proxy of its scheme, unless NO_PROXY names its host', async () => {
  const given = {
    ...withSection(
      'metrics:\n  pushgateway: http://pushgateway:9091\nnotify:\n  success: https://ping.example/a\n  failure: https://ping.internal/b\n',
    ),
    env: { HTTPS_PROXY: 'http://proxy:3128', HTTP_PROXY: 'http://plain:3128', NO_PROXY: '.internal' },
  }
  const { metrics, notify } = await load(given)
  expect(metrics?.pushgateway?.proxy?.address).toBe('http://plain:3128')
  expect(notify?.success?.proxy?.address).toBe('http://proxy:3128')
  expect(notify?.failure?.proxy).toBeNull()
  // As in a replay.
  expect((await load({ ...given, requireAccounts: false })).notify?.success?.proxy?.address).toBe(
    'http://proxy:3128',
  )
})

test.each([
  [
    'a plain address of another host',
    'notify:\n  success: http://ping.example/secret-a\n',
    'notify.success would send',
  ],
  [
    'a password for a plain Pushgateway of another host',
    'metrics:\n  pushgateway: http://me:pass-word@gateway:9091\n',
    'metrics.pushgateway would send',
  ],
  [
    'a group of a Pushgateway without a value for a label',
    'metrics:\n  pushgateway: http://gateway:9091/metrics/job/a/instance\n',
    'metrics.pushgateway must end with the address, or with /metrics/job/NAME followed by pairs of /LABEL/VALUE',
  ],
  [
    'an address and a file that holds it',
    'notify:\n  start: https://ping.example/a\n  start_file: /a\n',
    'notify.start_file cannot be set together with notify.start; remove one of them',
  ],
  [
    'a token of OpenLineage without its address',
    'notify:\n  openlineage:\n    token: abc\n',
    'notify.openlineage.url is missing: the token is for this address',
  ],
  ['a file that is not there', 'notify:\n  start_file: /a\n', 'notify.start_file names a file that '],
  ['a key that is none', 'notify:\n  sucess: https://ping.example/a\n', 'did you mean notify.success?'],
])('%s is refused', async (_, section, problem) => {
  const [found, ...more] = await problemsOf(withSection(section))
  expect(found).toContain(problem)
  expect(more).toEqual([])
})

test('a plain address is allowed for this machine, for a Pushgateway without password, and by allow_insecure_http', async () => {
  for (const section of [
    'notify:\n  success: http://127.0.0.1:8000/ping/a\n',
    'metrics:\n  pushgateway: http://gateway:9091/metrics/job/a/instance/b/\n',
    'metrics:\n  pushgateway: http://gateway:9091/prefix\n',
    'allow_insecure_http: true\nnotify:\n  success: http://ping.example/a\n',
  ])
    expect(await problemsOf(withSection(section))).toEqual([])
})

test('a secret address of this machine that would go to a plain proxy of another names the proxy', async () => {
  const given = withSection('notify:\n  success: http://127.0.0.1:8000/ping/a\n')
  const [problem] = await problemsOf({ ...given, env: { HTTP_PROXY: 'http://plain:3128' } })
  expect(problem).toContain('over plain http to the proxy of HTTP_PROXY; name the host in NO_PROXY, or set')
})

test('everything behind the host of an address is redacted, and the password of a Pushgateway', async () => {
  const settings = await load({
    ...withSection(
      'metrics:\n  pushgateway: https://me:pass-word@gateway:9091/metrics/job/nightly\nnotify:\n  webhook_file: hook\n  success: https://ping.example/8d0f2c1e-76a1?key=long-enough\n  openlineage:\n    url: https://marquez.example/api/v1/lineage\n    token_file: bearer\n',
    ),
    files: {
      '/etc/fs/hook': 'https://hooks.example/services/T024BE7LD/xoxb-1234567890\n',
      '/etc/fs/bearer': 'lineage-token\n',
    },
  })
  expect(settings.notify?.openlineage?.namespace).toBe('fieldwork-sync')
  const redact = createRedactor(secretsOf(settings))
  expect(redact('Bearer lineage-token')).toBe('Bearer [redacted]')
  expect(redact('https://hooks.example/services/T024BE7LD/xoxb-1234567890')).toBe('[redacted]')
  expect(redact('unknown hook xoxb-1234567890 of T024BE7LD')).toBe('unknown hook [redacted] of T024BE7LD')
  expect(redact('POST /8d0f2c1e-76a1?key=long-enough; 8d0f2c1e-76a1')).toBe('POST [redacted]; [redacted]')
  expect(redact('me:pass-word@gateway:9091/metrics/job/nightly')).toBe(
    '[redacted]gateway:9091/metrics/job/nightly',
  )
  // A gateway may echo the headers.
  const sent = Buffer.from('me:pass-word').toString('base64')
  expect(redact(`bad request: authorization: Basic ${sent}`)).toBe(
    'bad request: authorization: Basic [redacted]',
  )
})

test.each([
  ['the bucket', 'storage:\n  url: bucket/prefix\n', {}],
  ['the directory', 'warehouse:\n  directory: 7\n', {}],
  ['the shard', '', { shard: '4/4' }],
])(
  'if %s is wrong, no metrics and events are reported under a name that no later run replaces',
  async (_, section, flags) => {
    const reports =
      'metrics:\n  pushgateway: http://gateway:9091\nnotify:\n  failure: https://ping.example/a\n  openlineage:\n    url: https://marquez.example/a\n'
    const given = { ...withSection(`${reports}${section}`), flags }
    expect(await monitoringOf(given)).toMatchObject({
      ...{ metrics: null, notify: { failure: {}, openlineage: null } },
    })
    expect((await monitoringOf(withSection(`${reports}contract: maybe\n`)))?.metrics).not.toBeNull()
  },
)

const monitoringOf = async (given: Parameters<typeof load>[0]) => {
  try {
    await load(given)
  } catch (error) {
    if (error instanceof SettingsError) return error.monitoring
    throw error
  }
  throw new Error('these settings are right')
}

test('a command that reports nothing needs neither the variables nor the files of these sections', async () => {
  // biome-ignore lint/suspicious/noTemplateCurlyInString: the settings file replaces it
  const section = 'metrics:\n  file: a\nnotify:\n  success_file: /gone\n  start: ${NOT_SET}\n'
  const given = { ...withSection(section), withReports: false }
  expect(await load(given)).toMatchObject({ metrics: null, notify: null })
  expect((await load({ ...given, requireAccounts: false })).notify).toBeNull()
  expect(await problemsOf(withSection(section))).toHaveLength(3)
})

const MAIL =
  '    mail:\n      smtp: smtps://me%40example.com@mail.example\n      password: pass-word\n      from: Fieldwork <a@example.com>\n      to: [b@example.com, "Cé <c@example.com>"]\n'
const digest = (section: string) => withSection(`notify:\n  digest:\n${section}`)

test('a digest has its addresses, and a mail server with the port of its scheme', async () => {
  const settings = await load(digest(`    report_url: https://files.example/a?b=c\n${MAIL}`))
  expect(settings.notify).toMatchObject({
    webhook: null,
    digest: {
      ...{ chat: null, teams: null, reportUrl: 'https://files.example/a?b=c', first: 'whole' },
      mail: {
        ...{ host: 'mail.example', port: 465, tls: 'always', login: { user: 'me@example.com' } },
        from: { name: 'Fieldwork', address: 'a@example.com' },
        to: [
          { name: '', address: 'b@example.com' },
          { name: 'Cé', address: 'c@example.com' },
        ],
      },
    },
  })
  const redact = createRedactor(secretsOf(settings))
  const sent = Buffer.from('\0me@example.com\0pass-word').toString('base64')
  expect(redact(`535 pass-word ${sent}`)).toBe('535 [redacted] [redacted]')
  expect(await load(digest('    report_url: https://files.example/\n'))).toMatchObject({ notify: null })
})

test.each([
  ['smtp://mail.example', '', { port: 587, tls: 'starttls' }],
  ['smtp://mail.example:25', 'allow_insecure_http: true\n', { port: 25, tls: 'if offered' }],
  ['smtp://localhost:25', '', { host: 'localhost', tls: 'none' }],
  ['smtp://[::1]', '', { host: '::1', tls: 'none' }],
  ['smtps://[::1]:4650', '', { host: '::1', port: 4_650, tls: 'always' }],
] as const)('%s is used as its scheme and host say', async (smtp, section, expected) => {
  const { yaml, ...given } = digest(MAIL.replace(/smtp: .*/, `smtp: ${smtp}`).replace(/ +password:.*\n/, ''))
  expect((await load({ ...given, yaml: `${yaml}${section}` })).notify?.digest?.mail).toMatchObject(expected)
})

test.each([
  [
    'a mail without a sender',
    MAIL.replace(/ +from:.*\n/, ''),
    'notify.digest.mail.from is missing: mail needs smtp, from and to',
  ],
  [
    'a user without a password',
    MAIL.replace(/ +password:.*\n/, ''),
    'notify.digest.mail.smtp names a user, but there is no password; set password or password_file',
  ],
  [
    'a password without a user',
    MAIL.replace('me%40example.com@', ''),
    'notify.digest.mail.smtp names no user for the password; write it as smtps://user@host',
  ],
  [
    'a password in the address',
    MAIL.replace('@mail', ':pass-word@mail'),
    'notify.digest.mail.smtp must not contain the password; put it into password or password_file',
  ],
  [
    'another scheme',
    MAIL.replace('smtps:', 'https:'),
    'notify.digest.mail.smtp must begin with smtps:// or smtp://',
  ],
  [
    'a path',
    MAIL.replace('mail.example\n', 'mail.example/x\n'),
    'notify.digest.mail.smtp must have only user, host and port',
  ],
  [
    'a line break in the sender',
    MAIL.replace(/from:.*/, 'from: "A\\r\\nBcc: x <a@example.com>"'),
    'notify.digest.mail.from must be a mail address, such as',
  ],
  [
    'two addresses in one',
    MAIL.replace('[b@example.com', '["b@example.com,d@example.com"'),
    'notify.digest.mail.to must be a list of 1 to 50 mail addresses',
  ],
  [
    'an empty list',
    MAIL.replace(/to:.*/, 'to: []'),
    'notify.digest.mail.to must be a list of 1 to 50 mail addresses',
  ],
  ['another first digest', '    first: loud\n', 'notify.digest.first must be one of whole, silent'],
  [
    'a password for all readers',
    '    report_url: https://me:pass-word@files.example\n',
    'notify.digest.report_url must not contain a password',
  ],
  [
    'a plain address of another host',
    '    chat: http://hooks.example/secret-a\n',
    'notify.digest.chat would send a secret address over plain http',
  ],
])('%s is refused', async (_, section, problem) => {
  const [found, ...more] = await problemsOf(digest(section))
  expect(found).toContain(problem)
  expect(found).not.toContain('pass-word')
  expect(more).toEqual([])
})

test.each([
  ['ftp://survey.example/{hashid}', 'must begin with https:// or http://'],
  ['survey.example/{hashid}', 'must be a URL, such as https://survey.example.com/surveys/{hashid}'],
  ['https://survey.example/{id}', 'must have {hashid} in its path, such as'],
  ['https://{hashid}.example/x', 'must have {hashid} in its path, such as'],
  ['https://a:b@survey.example/{hashid}', 'must not contain credentials'],
  ['"https://survey.example/ {hashid}"', 'must not contain white space'],
])('the address of a survey %s is refused', async (url, problem) => {
  const [found, ...more] = await problemsOf(withSection(`report:\n  survey_url: ${url}\n`))
  expect(found).toContain(`report.survey_url ${problem}`)
  expect(more).toEqual([])
})

test('the address of a survey is kept as it is written', async () => {
  const survey_url = 'https://survey.example/#/surveys/{hashid}?tab=1'
  expect((await load(withSection(`report:\n  survey_url: "${survey_url}"\n`))).report).toMatchObject({
    survey_url,
  })
})
