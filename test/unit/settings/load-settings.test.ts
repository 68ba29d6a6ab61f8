/** Loading settings: defaults, the order of file, environment and flags, and the environment alone. */
import { describe, expect, test } from 'vitest'
import { PUBLISH_FORMATS, PUBLISHED_VIEWS } from '../../../src/model/publish-formats.js'
import { ACCOUNT, ACCOUNT_ENV, load, problemsOf, TOKEN } from '../../support/settings/settings-from-yaml.js'

const tokenOf = async (situation: Parameters<typeof load>[0]) =>
  (await load(situation)).accounts[0]?.token.reveal()

describe('the environment alone', () => {
  test('describes an account, and everything else has its default', async () => {
    const settings = await load({ env: ACCOUNT_ENV })
    expect(settings.accounts.map(({ token, ...rest }) => ({ ...rest, token: token.reveal() }))).toEqual([
      {
        name: 'default',
        baseUrl: 'https://fieldwork.example/api/v1',
        id: 17,
        token: TOKEN,
        rate: { requests: 60, perMs: 60_000 },
        shared: null,
        proxy: null,
        exclude: { status: [], surveys: [], projects: [] },
      },
    ])
    expect({ ...settings, accounts: [] }).toMatchObject({
      accounts: [],
      accountNames: ['default'],
      metrics: null,
      notify: null,
      warehouseDirectory: `${process.cwd()}/warehouse`,
      storage: null,
      shard: null,
      publish: { formats: ['duckdb'], views: PUBLISHED_VIEWS },
      alarms: { drop_out: 0.3, incidence: 0.1, quota_full: 0.4, rejected: 0.15 },
      contract: 'evolve',
      discover: { overlap: 300_000, full_listing_every: 604_800_000 },
      refresh: {
        max_age: 31_536_000_000,
        weights: { fieldwork: 4, active: 2, other: 1 },
        recheck_sources_after: 604_800_000,
        daily_windows: null,
      },
      history: { progress_keep_all_for: null },
      report: { title: 'Fieldwork report', time_zone: 'UTC', locale: 'en-GB' },
      limits: {
        request_timeout: 30_000,
        attempts: 6,
        patience: 900_000,
        backoff_base: 500,
        backoff_max: 60_000,
        response_bytes_max: 33_554_432,
        rejected_rows_max: 0,
        consecutive_failures_max: 5,
      },
      log_level: 'info',
      budget: { requests_max: null, duration_max: null },
      full: false,
      json: false,
      settingsFile: null,
    })
  })

  test('gives the token from a file, without its last line break', async () => {
    const { FIELDWORK_SYNC_API_TOKEN: _, ...env } = ACCOUNT_ENV
    const ofFile = { ...env, FIELDWORK_SYNC_API_TOKEN_FILE: 'secrets/token' }
    expect(
      await tokenOf({ env: ofFile, files: { [`${process.cwd()}/secrets/token`]: `${TOKEN}\r\n` } }),
    ).toBe(TOKEN)
  })

  test('sets the warehouse, the rate and the log level', async () => {
    const more = { WAREHOUSE: 'data/w', RATE_LIMIT: '120/30s', LOG_LEVEL: 'debug' }
    const variables = Object.entries(more).map(([name, value]) => [`FIELDWORK_SYNC_${name}`, value])
    const settings = await load({ env: { ...ACCOUNT_ENV, ...Object.fromEntries(variables) } })
    const accounts = [{ rate: { requests: 120, perMs: 30_000 } }]
    expect(settings).toMatchObject({
      warehouseDirectory: `${process.cwd()}/data/w`,
      accounts,
      log_level: 'debug',
    })
  })
})

describe('the layers', () => {
  const yaml = `${ACCOUNT}warehouse:\n  directory: from-file\npublish: [duckdb]\n`

  test('a file can set everything that the environment can', async () => {
    const settings = await load({ yaml })
    expect(settings.accounts).toMatchObject([{ name: 'acme', id: 17 }])
    expect(settings.warehouseDirectory).toBe(`${process.cwd()}/from-file`)
    expect(settings.settingsFile).toBe('/etc/fs/settings.yaml')
  })

  test('the environment wins over the file, value by value', async () => {
    const settings = await load({
      yaml,
      env: { FIELDWORK_SYNC_API_ID: '99', FIELDWORK_SYNC_WAREHOUSE: 'from-env' },
    })
    expect(settings.accounts).toMatchObject([
      { name: 'acme', id: 99, baseUrl: 'https://fieldwork.example/api/v1' },
    ])
    expect(settings.accounts[0]?.token.reveal()).toBe(TOKEN)
    expect(settings.warehouseDirectory).toBe(`${process.cwd()}/from-env`)
  })

  test('a token file of the environment wins over a token of the settings file', async () => {
    const env = { FIELDWORK_SYNC_API_TOKEN_FILE: '/run/token' }
    const files = { '/run/token': 'the-other-token' }
    expect(await tokenOf({ yaml, env, files })).toBe('the-other-token')
  })

  test('flags win over both', async () => {
    const settings = await load({
      yaml,
      env: { FIELDWORK_SYNC_WAREHOUSE: 'from-env', FIELDWORK_SYNC_LOG_LEVEL: 'debug' },
      flags: {
        warehouse: 'from-flag',
        'log-level': 'error',
        'max-requests': '100',
        'max-duration': '55m',
        publish: 'duckdb, parquet',
        full: true,
        json: true,
      },
    })
    expect(settings).toMatchObject({
      warehouseDirectory: `${process.cwd()}/from-flag`,
      log_level: 'error',
      budget: { requests_max: 100, duration_max: 3_300_000 },
      publish: { formats: ['duckdb', 'parquet'], views: PUBLISHED_VIEWS },
      full: true,
      json: true,
    })
  })

  test('publish has a short form, and the flag leaves the views of either as they are', async () => {
    const published = async (publish: string, flags = {}) =>
      (await load({ yaml: `${ACCOUNT}publish: ${publish}\n`, flags })).publish
    expect(await published('[parquet]')).toEqual({ formats: ['parquet'], views: PUBLISHED_VIEWS })
    expect(await published('duckdb, report')).toEqual({
      formats: ['duckdb', 'report'],
      views: PUBLISHED_VIEWS,
    })
    const section = '{ formats: [duckdb], views: [survey_pace, survey_overview] }'
    expect(await published(section, { publish: 'parquet' })).toEqual({
      formats: ['parquet'],
      views: ['survey_pace', 'survey_overview'],
    })
    expect(await published('{ views: [] }')).toEqual({ formats: ['duckdb'], views: [] })
  })

  test('FIELDWORK_SYNC_CONFIG names the file, and --config wins over it', async () => {
    const files = {
      [`${process.cwd()}/a.yaml`]: 'contract: freeze',
      [`${process.cwd()}/b.yaml`]: 'contract: evolve',
    }
    const env = { ...ACCOUNT_ENV, FIELDWORK_SYNC_CONFIG: 'a.yaml' }
    expect((await load({ env, files })).contract).toBe('freeze')
    expect((await load({ env, files, flags: { config: 'b.yaml' } })).contract).toBe('evolve')
  })
})

describe('the settings file', () => {
  test(`reads \${NAME} from the environment, also as a number or boolean, and $\${ as plain \${`, async () => {
    const settings = await load({
      yaml: [
        'accounts:',
        `  - base_url: https://\${HOST}/api/v1`,
        `    id: \${ID}`,
        `    token: "a$\${b}-\${TOKEN}"`,
        'refresh:',
        `  reconstruct: \${RECONSTRUCT}`,
        `# \${NOT_SET} in a comment is nothing`,
      ].join('\n'),
      env: { HOST: 'fieldwork.example', ID: '5', TOKEN, RECONSTRUCT: 'false' },
    })
    expect(settings.accounts).toMatchObject([{ baseUrl: 'https://fieldwork.example/api/v1', id: 5 }])
    expect(settings.accounts[0]?.token.reveal()).toBe(`a\${b}-${TOKEN}`)
    expect(settings.refresh.reconstruct).toBe(false)
  })

  test('keeps its structure whatever a variable contains', async () => {
    const yaml = ACCOUNT.replace(TOKEN, `\${TOKEN}`)
    expect(await tokenOf({ yaml, env: { TOKEN: 'x: y #z' } })).toBe('x: y #z')
  })

  test('names a token file relative to its own directory', async () => {
    const yaml = ACCOUNT.replace(/token: .*/, 'token_file: secrets/token')
    expect(await tokenOf({ yaml, files: { '/etc/fs/secrets/token': `${TOKEN}\n` } })).toBe(TOKEN)
  })

  test('may be empty, and a key without a value counts as missing', async () => {
    expect((await load({ yaml: '', env: ACCOUNT_ENV })).contract).toBe('evolve')
    expect(
      (await load({ yaml: 'accounts:\nlimits:\n  # attempts: 3\n', env: ACCOUNT_ENV })).limits.attempts,
    ).toBe(6)
  })

  test('may use anchors and aliases', async () => {
    const settings = await load({
      yaml: [
        'accounts:',
        '  - &first',
        '    name: a',
        '    base_url: &url https://fieldwork.example/api/v1',
        '    id: 1',
        '    token: first-token',
        '    rate_limit: &rate { requests: 30, per: 1m }',
        '  - { name: b, base_url: *url, id: 2, token: second-token, rate_limit: *rate }',
      ].join('\n'),
    })
    expect(settings.accounts.map(({ name, rate }) => [name, rate.requests])).toEqual([
      ['a', 30],
      ['b', 30],
    ])
  })
})

describe('a command that needs the warehouse only', () => {
  test('runs without an account and reads no tokens', async () => {
    expect((await load({ requireAccounts: false })).accounts).toEqual([])
    const settings = await load({
      yaml: `${ACCOUNT.replace(TOKEN, `\${NOT_SET}`)}    token_file: nowhere\nwarehouse: { directory: /data }\n`,
      env: { FIELDWORK_SYNC_API_TOKEN: '' },
      requireAccounts: false,
    })
    expect(settings.accounts).toEqual([])
    expect(settings.warehouseDirectory).toBe('/data')
  })

  test('still checks all other settings', async () => {
    expect(await problemsOf({ yaml: 'contract: maybe', requireAccounts: false })).toEqual([
      'settings.yaml:1: contract must be one of evolve, freeze, not "maybe"',
    ])
  })
})

test('settings are immutable at every depth', async () => {
  const settings = await load({ env: ACCOUNT_ENV })
  const { accounts, limits } = settings
  const parts: readonly unknown[] = [settings, accounts, accounts[0], accounts[0]?.rate, limits]
  expect(parts.filter((part) => !Object.isFrozen(part))).toEqual([])
})

describe('a value that another source replaces', () => {
  test('is still checked in the file, because it counts once the other is removed', async () => {
    expect(await problemsOf({ yaml: `${ACCOUNT}publish: [csv]\n`, flags: { publish: 'duckdb' } })).toEqual([
      `settings.yaml:6: publish must be a list of ${PUBLISH_FORMATS.join(', ')}: at least one, none twice, not ["csv"]`,
    ])
  })

  test.each([
    [
      'warehouse: /data',
      { FIELDWORK_SYNC_WAREHOUSE: '/w' },
      'warehouse must be a section with keys such as directory, one per line',
    ],
    ['accounts: {}', ACCOUNT_ENV, 'accounts must be a list of accounts'],
  ])('is still checked if it has no place for the other: %j', async (yaml, env, problem) => {
    const found = await problemsOf({ yaml, env: { ...ACCOUNT_ENV, ...env } })
    expect(found).toEqual([expect.stringContaining(`settings.yaml:1: ${problem}`)])
  })

  test('is no problem where the file has none', async () => {
    expect(await problemsOf({ yaml: 'accounts: []', env: ACCOUNT_ENV })).toEqual([])
  })

  test('is still checked in a variable', async () => {
    const env = { ...ACCOUNT_ENV, FIELDWORK_SYNC_LOG_LEVEL: 'loud', FIELDWORK_SYNC_WAREHOUSE: '' }
    expect(await problemsOf({ env, flags: { 'log-level': 'error', warehouse: 'w' } })).toEqual([
      'FIELDWORK_SYNC_WAREHOUSE: is set but empty; give it a value or unset it',
      'FIELDWORK_SYNC_LOG_LEVEL: must be one of debug, info, warn, error, silent, not "loud"',
    ])
  })

  test('is not read from a variable of the account that a flag replaces', async () => {
    const env = { ...ACCOUNT_ENV, FIELDWORK_SYNC_API_ID: '', FIELDWORK_SYNC_API_TOKEN: '' }
    const flags = { id: '5', 'token-file': 't' }
    const [account] = (await load({ env, flags, oneAccount: true, files: { [`${process.cwd()}/t`]: TOKEN } }))
      .accounts
    expect(account?.id).toBe(5)
    expect(account?.token.reveal()).toBe(TOKEN)
  })
})

test('the file does not accept keys in another spelling, nor settings that are flags only', async () => {
  const yaml = `${ACCOUNT}publishFormats: [csv]\nlimits:\n  requestTimeout: 5\n  attemptsMax: 3\nlog_level: debug\nbudget: { requests_max: 5 }\nfull: true\n`
  expect(await problemsOf({ yaml })).toEqual([
    'settings.yaml:6: publishFormats is not a setting; remove it',
    'settings.yaml:8: limits.requestTimeout is not a setting; did you mean limits.request_timeout?',
    'settings.yaml:9: limits.attemptsMax is not a setting; did you mean limits.attempts?',
    'settings.yaml:10: log_level is not a setting; remove it',
    'settings.yaml:11: budget is not a setting; remove it',
    'settings.yaml:12: full is not a setting; remove it',
  ])
})
