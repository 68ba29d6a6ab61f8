/** Wrong settings: each problem has a message and a source, and one error reports all of them. */
import { describe, expect, test } from 'vitest'
import { EXIT_CODES } from '../../../src/base/errors.js'
import { PUBLISH_FORMATS } from '../../../src/model/publish-formats.js'
import { SettingsError } from '../../../src/settings/problems.js'
import { ACCOUNT, ACCOUNT_ENV, load, problemsOf, TOKEN } from '../../support/settings/settings-from-yaml.js'

test('every problem of file, environment and flags is in one error of exit code 2', async () => {
  const situation = {
    yaml: `${ACCOUNT}refresh:\n  max_aeg: 7d\n  max_age: 30\nlimits:\n  attempts: 0\n`,
    env: { FIELDWORK_SYNC_LOG_LEVEL: 'loud' },
    flags: { 'max-duration': '55', 'max-requests': Number.NaN },
  }
  expect(await problemsOf(situation)).toEqual([
    'settings.yaml:7: refresh.max_aeg is not a setting; did you mean refresh.max_age?',
    'settings.yaml:8: refresh.max_age must be a duration: a whole number and a unit (ms, s, m, h or d), such as 30s, not 30',
    'settings.yaml:10: limits.attempts must be a whole number from 1 to 20, not 0',
    'FIELDWORK_SYNC_LOG_LEVEL: must be one of debug, info, warn, error, silent, not "loud"',
    '--max-requests: must be a whole number from 1 to 1000000000, not NaN',
    '--max-duration: must be a duration: a whole number and a unit (ms, s, m, h or d), such as 30s, not "55"',
  ])
  const thrown = await load(situation).catch((error: unknown) => error)
  expect(thrown).toBeInstanceOf(SettingsError)
  expect(thrown).toMatchObject({ code: 'settings_invalid', exitCode: EXIT_CODES.usage })
  expect(String(thrown)).toContain('6 problems in the settings; nothing was requested:\n  ')
})

test('a mistake in each of many accounts fits on a screen', async () => {
  const accounts = Array.from({ length: 1_022 }, (_, at) => `  - {name: a${at}, id: ${at + 1}, wieght: 2}\n`)
  const thrown = await load({ yaml: `accounts:\n${accounts.join('')}` }).catch((error: unknown) => error)
  const lines = String(thrown).split('\n')
  expect(lines).toHaveLength(22)
  expect(lines[1]).toMatch(/settings\.yaml:2: accounts\[0\]\.wieght is not a setting/)
  expect(lines.at(-1)).toMatch(/^ {2}and [\d,]+ more$/)
})

const NO_TEXT = (kind: string) => `must be text, but YAML reads it as ${kind}; put it in quotes`
const A_NUMBER = NO_TEXT('a number')
const A_BOOLEAN = NO_TEXT('true or false')
const LIST = `must be a list of ${PUBLISH_FORMATS.join(', ')}: at least one, none twice`
const ID = 'must be the identifier of the account: a whole number from 1'
const PLAIN_HTTP =
  'would send the token over plain http to another host; use https, or set allow_insecure_http: true in the settings file'

describe('the settings file', () => {
  test.each(
    Object.entries({
      'acounts: []': '1: acounts is not a setting; did you mean accounts?',
      'max_age: 7d': '1: max_age is not a setting; did you mean refresh.max_age?',
      'rate_limit: {requests: 9}': '1: rate_limit is not a setting; did you mean accounts[].rate_limit?',
      'colour: red': '1: colour is not a setting; remove it',
      'warehouse:\n  dir: x': '2: warehouse.dir is not a setting; remove it',
      'refresh: 7d': '1: refresh must be a section with keys such as max_age and weights, one per line',
      '- a': '1: the file must be a section with keys such as accounts and allow_insecure_http, one per line',
      'contract: evolve\ncontract: freeze': '2: is not valid YAML here: Map keys must be unique',
      'discover:\n  overlap: 2d': '2: discover.overlap must be from 0s to 1d, not "2d"',
      'publish: [duckdb, delta]':
        '1: publish can have delta only in a bucket; set storage.url, or remove delta',
      'publish: []': `1: publish ${LIST}, not []`,
      'publish:\n  formats: [csv]': `2: publish.formats ${LIST}, not ["csv"]`,
      'publish:\n  formts: [duckdb]': '2: publish.formts is not a setting; did you mean publish.formats?',
      'publish:\n  views: [surveys_today, survey_pase]':
        '2: publish.views must name known views, such as survey_pace, not ["surveys_today","survey_pase"]',
      'publish:\n  views: surveys_today':
        '2: publish.views must be a list of views, such as [survey_overview], or [], not "surveys_today"',
      'publish:\n  views: [survey_pace, survey_pace]':
        '2: publish.views must name nothing twice, not ["survey_pace","survey_pace"]',
      'publish: [duckdb, duckdb]': `1: publish ${LIST}, not ["duckdb","duckdb"]`,
      'allow_insecure_http: yes': '1: allow_insecure_http must be true or false, not "yes"',
      'warehouse:\n  directory: 7': `2: warehouse.directory ${A_NUMBER}`,
      'limits:\n  backoff_base: 1m\n  backoff_max: 1s':
        '3: limits.backoff_max must not be less than limits.backoff_base',
      'limits:\n  response_bytes_max: 32MiB':
        '2: limits.response_bytes_max must be a whole number from 1024 to 268435456, not "32MiB"',
      'contract: ${NOT_SET}': `1: contract needs the environment variable NOT_SET, which is not set; set it, or write $\${ for a plain \${`,
      'contract: ${ }': `1: contract has a \${ without the name of an environment variable and a }; write $\${ for a plain \${`,
    }),
  )('%j is refused: %s', async (yaml, problem) => {
    expect(await problemsOf({ yaml, env: ACCOUNT_ENV })).toEqual([`settings.yaml:${problem}`])
  })

  test('that does not exist is reported with the ways to name another', async () => {
    expect(await problemsOf({ env: ACCOUNT_ENV, flags: { config: 'no.yaml' } })).toEqual([
      'no.yaml: the settings file does not exist; see --config and FIELDWORK_SYNC_CONFIG',
    ])
  })

  test.each(
    Object.entries({
      'refers to itself endlessly': 'refresh: &a\n  max_age: *a',
      'stands for a million values': `a: &a [1,1,1,1,1,1,1,1,1]\n${[...'bcdefgh'].map((c) => `${c}: &${c} [${`*${String.fromCharCode(c.charCodeAt(0) - 1)},`.repeat(9)}]\n`).join('')}`,
    }),
  )('that %s is refused', async (_, yaml) => {
    expect(await problemsOf({ yaml, env: ACCOUNT_ENV })).toEqual([
      'settings.yaml:1: has more than 50000 values or 16 levels, including aliases; a settings file is smaller',
    ])
  })
})

describe('an account', () => {
  const withLine = (line: string) => ACCOUNT.replace(new RegExp(`${line.split(':')[0]}: .*`), line)

  test.each(
    Object.entries({
      'base_url: fieldwork.example':
        '3: accounts[0].base_url must be a URL such as https://host.example/api/v1',
      'base_url: ftp://x.example/api/v1': '3: accounts[0].base_url must begin with https:// or http://',
      'base_url: https://x.example/v1': '3: accounts[0].base_url must end with /api/v1',
      'base_url: https://u:pw@x.example/api/v1':
        '3: accounts[0].base_url must not contain a user or password; put the credentials into id and token',
      'base_url: https://x.example/api/v1?a=b':
        '3: accounts[0].base_url must not contain a query (?) or fragment (#)',
      'base_url: http://x.example/api/v1': `3: accounts[0].base_url ${PLAIN_HTTP}`,
      'id: -4': `4: accounts[0].id ${ID}`,
      'id: 9007199254740993': `4: accounts[0].id ${ID}`,
      'name: "a b"': '2: accounts[0].name must be 1 to 64 letters, digits, _ or -',
      'token: ""': '5: accounts[0].token is empty; it must be the secret token of the account',
      'name: 007': `2: accounts[0].name ${A_NUMBER}`,
      'name: 1e3': `2: accounts[0].name ${A_NUMBER}`,
      'name: 0x1F': `2: accounts[0].name ${A_NUMBER}`,
      'name: True': `2: accounts[0].name ${A_BOOLEAN}`,
      'token: 123456': `5: accounts[0].token ${A_NUMBER}`,
      'token: 0.50': `5: accounts[0].token ${A_NUMBER}`,
      'token: false': `5: accounts[0].token ${A_BOOLEAN}`,
      'token: !!binary aGVsbG8=': `5: accounts[0].token ${NO_TEXT('another type')}`,
      'name: 1.5': '2: accounts[0].name must be 1 to 64 letters, digits, _ or -',
      'name: null':
        '2: accounts[0].name must be text, but YAML reads it as null; put it in quotes, or remove the line',
      'token_flie: a': '1: accounts[0].token_flie is not a setting; did you mean accounts[0].token_file?',
    }),
  )('with %j is refused with its line', async (line, problem) => {
    const yaml = line.startsWith('token_flie')
      ? `accounts: [{ base_url: https://x.example/api/v1, id: 1, ${line} }]`
      : withLine(line)
    expect(await problemsOf({ yaml })).toEqual([`settings.yaml:${problem}`])
  })

  test('in YAML 1.1 has more values that are not text, such as dates and no', async () => {
    for (const [name, kind] of [
      ['2026-11-25', 'a date'],
      ['no', 'true or false'],
    ]) {
      const yaml = `%YAML 1.1\n---\n${ACCOUNT.replace('acme', name ?? '')}`
      expect(await problemsOf({ yaml })).toEqual([`settings.yaml:4: accounts[0].name ${NO_TEXT(kind ?? '')}`])
      const { accounts } = await load({ yaml: yaml.replace('%YAML 1.1\n---\n', '') })
      expect(accounts[0]?.name).toBe(name)
    }
  })

  test.each([
    ['warehouse:\n  directory: 2026', 'warehouse.directory', 'a number'],
    ['storage:\n  url: s3://research/p\n  region: 1', 'storage.region', 'a number'],
    ['metrics:\n  pushgateway_file: 0', 'metrics.pushgateway_file', 'a number'],
  ])('%j is refused as what YAML makes of it', async (text, key, kind) => {
    expect(await problemsOf({ yaml: `${ACCOUNT}${text}\n`, withReports: true })).toEqual([
      expect.stringContaining(`${key} ${NO_TEXT(kind)}`),
    ])
  })

  test.each([
    'http://localhost:8080/api/v1/',
    'http://127.0.0.1/api/v1',
    'http://127.8.9.10:1/api/v1',
    'http://[::1]:8080/api/v1',
  ])('at %s may use plain http, because the token stays on this host', async (url) => {
    expect((await load({ env: { ...ACCOUNT_ENV, FIELDWORK_SYNC_BASE_URL: url } })).accounts[0]?.baseUrl).toBe(
      url.replace(/\/$/, ''),
    )
  })

  test.each(['http://localhost.example/api/v1', 'http://127.0.0.1.example/api/v1', 'http://10.0.0.1/api/v1'])(
    'at %s may use plain http only with allow_insecure_http',
    async (url) => {
      const env = { ...ACCOUNT_ENV, FIELDWORK_SYNC_BASE_URL: url }
      expect(await problemsOf({ env })).toEqual([`FIELDWORK_SYNC_BASE_URL: ${PLAIN_HTTP}`])
      expect(await problemsOf({ env, yaml: 'allow_insecure_http: true' })).toEqual([])
    },
  )

  test('that is missing is reported with the three variables it needs', async () => {
    expect(await problemsOf({})).toEqual([
      'accounts: no account is configured. Run fieldwork-sync init: it asks for one, and writes ./fieldwork-sync.yaml. Or set FIELDWORK_SYNC_BASE_URL, FIELDWORK_SYNC_API_ID and FIELDWORK_SYNC_API_TOKEN or FIELDWORK_SYNC_API_TOKEN_FILE, or name a settings file that has one by --config',
    ])
  })

  test('that is incomplete is reported with its missing parts', async () => {
    expect(await problemsOf({ env: { FIELDWORK_SYNC_API_ID: '7' } })).toEqual([
      'FIELDWORK_SYNC_BASE_URL: is not set; set it, or give it in a settings file',
      'FIELDWORK_SYNC_API_TOKEN or FIELDWORK_SYNC_API_TOKEN_FILE: is not set; set it, or give it in a settings file',
    ])
    expect(await problemsOf({ yaml: 'accounts:\n  - name: a\n    id: 4\n' })).toEqual([
      'settings.yaml:2: accounts[0] has no base_url; add it',
      'settings.yaml:2: accounts[0] has no token or token_file; add it',
    ])
  })

  test('whose token file does not exist is reported without the path, which may be the token itself', async () => {
    const env = { ...ACCOUNT_ENV, FIELDWORK_SYNC_API_TOKEN: undefined, FIELDWORK_SYNC_API_TOKEN_FILE: 't' }
    expect(await problemsOf({ env })).toEqual([
      'FIELDWORK_SYNC_API_TOKEN_FILE: the token file that it names does not exist',
    ])
    expect(await problemsOf({ env, files: { [`${process.cwd()}/t`]: '\n' } })).toEqual([
      `FIELDWORK_SYNC_API_TOKEN_FILE: the token file ${process.cwd()}/t is empty; it must be the secret token of the account`,
    ])
  })

  test('has either a token or a token file', async () => {
    const env = { ...ACCOUNT_ENV, FIELDWORK_SYNC_API_TOKEN_FILE: 't' }
    expect(await problemsOf({ env, files: { [`${process.cwd()}/t`]: TOKEN } })).toEqual([
      'FIELDWORK_SYNC_API_TOKEN_FILE: cannot be set together with FIELDWORK_SYNC_API_TOKEN; remove one of them',
    ])
    expect(await problemsOf({ yaml: `${ACCOUNT}    token_file: t\n` })).toEqual([
      'settings.yaml:6: accounts[0].token_file cannot be set together with accounts[0].token; remove one of them',
    ])
  })

  test('has either a token or a token file in the settings file, even if the environment replaces the token', async () => {
    const env = { FIELDWORK_SYNC_API_TOKEN: 'tok-of-the-environment' }
    expect(await problemsOf({ yaml: `${ACCOUNT}    token_file: t\n`, env })).toEqual([
      'settings.yaml:6: accounts[0].token_file cannot be set together with accounts[0].token; remove one of them',
    ])
  })
})

test('two accounts of one name are refused', async () => {
  const yaml = `${ACCOUNT}${ACCOUNT.replace('accounts:\n', '')}`
  expect(await problemsOf({ yaml })).toEqual([
    'settings.yaml:6: accounts[1].name is "acme", the same as accounts[0].name; give it another name',
  ])
})

describe('an error does not contain a token that is given', () => {
  const withEnv = (env: Record<string, string>) => ({ env: { ...ACCOUNT_ENV, ...env } })
  test.each(
    Object.entries({
      'as the address': withEnv({ FIELDWORK_SYNC_BASE_URL: TOKEN }),
      'as the identifier': withEnv({ FIELDWORK_SYNC_API_ID: TOKEN }),
      'as the log level': withEnv({ FIELDWORK_SYNC_LOG_LEVEL: TOKEN }),
      'with a line break in it': withEnv({ FIELDWORK_SYNC_API_TOKEN: `${TOKEN}\nb` }),
      'with a control character in it': withEnv({ FIELDWORK_SYNC_API_TOKEN: `${TOKEN}\u0007b` }),
      'with a character outside ASCII': withEnv({ FIELDWORK_SYNC_API_TOKEN: `${TOKEN}\u00e9` }),
      'in another setting': { yaml: `contract: \${T}`, env: { ...ACCOUNT_ENV, T: TOKEN } },
      'in quotes that never end': { yaml: ACCOUNT.replace(TOKEN, `"${TOKEN}`) },
      'after an alias mark': { yaml: ACCOUNT.replace(TOKEN, `*${TOKEN}`) },
      'after a tag mark': { yaml: ACCOUNT.replace(TOKEN, `!${TOKEN} {}`) },
      'after a brace': { yaml: ACCOUNT.replace(TOKEN, `}${TOKEN}`) },
      'without a space after its colon': { yaml: `accounts: [{ token:${TOKEN} }]` },
      'as a list': { yaml: ACCOUNT.replace(TOKEN, `[${TOKEN}]`) },
      'in a token file of two lines': {
        yaml: ACCOUNT.replace(/token: .*/, 'token_file: t'),
        files: { '/etc/fs/t': `${TOKEN}\n${TOKEN}` },
      },
    }),
  )('%s', async (_, situation) => {
    const problems = await problemsOf(situation)
    expect(problems.length).toBeGreaterThan(0)
    expect(problems.join('\n')).not.toContain('SECRET')
  })
})
