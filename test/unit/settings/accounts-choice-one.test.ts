/** Commands for one account: its flags replace environment and file, and --account chooses one of several. */
import { expect, test } from 'vitest'
import {
  ACCOUNT,
  ACCOUNT_ENV,
  anotherAccount,
  load,
  problemsOf,
  TOKEN,
} from '../../support/settings/settings-from-yaml.js'

const FLAGS = {
  'base-url': 'https://other.example/api/v1',
  id: '5',
  token: 'tok-of-the-flag',
  'rate-limit': '9/1s',
}
const BOTH = `${ACCOUNT}${anotherAccount('beta')}`
const one = { oneAccount: true } as const

test('flags alone describe an account, and replace environment and file', async () => {
  for (const situation of [
    {},
    { env: ACCOUNT_ENV },
    { yaml: ACCOUNT },
    { yaml: ACCOUNT, env: ACCOUNT_ENV },
  ]) {
    const [account] = (await load({ ...one, ...situation, flags: FLAGS })).accounts
    expect(account).toMatchObject({ baseUrl: FLAGS['base-url'], id: 5, rate: { requests: 9, perMs: 1_000 } })
    expect(account?.token.reveal()).toBe(FLAGS.token)
  }
  const [account] = (await load({ ...one, env: ACCOUNT_ENV, flags: { id: '5' } })).accounts
  expect(account).toMatchObject({ baseUrl: ACCOUNT_ENV.FIELDWORK_SYNC_BASE_URL, id: 5 })
})

test('a token or token file of the command line replaces either in the environment', async () => {
  const files = { [`${process.cwd()}/t`]: 'tok-of-the-file\n' }
  const token = async (env: Record<string, string | undefined>, flags: object) =>
    (await load({ ...one, env: { ...ACCOUNT_ENV, ...env }, flags, files })).accounts[0]?.token.reveal()
  expect(await token({}, { 'token-file': 't' })).toBe('tok-of-the-file')
  const fileOnly = { FIELDWORK_SYNC_API_TOKEN: undefined, FIELDWORK_SYNC_API_TOKEN_FILE: 't' }
  expect(await token(fileOnly, { token: 'tok-of-the-flag' })).toBe('tok-of-the-flag')
})

test('--account chooses one of several accounts, and flags replace its values', async () => {
  expect(
    (await load({ ...one, yaml: BOTH, flags: { account: 'beta' } })).accounts.map(({ name }) => name),
  ).toEqual(['beta'])
  const flags = { account: 'acme', id: '9' }
  expect((await load({ ...one, yaml: BOTH, flags })).accounts).toMatchObject([{ name: 'acme', id: 9 }])
})

const env = ACCOUNT_ENV

test.each([
  [{ yaml: BOTH }, '--account: is needed: the settings file has 2 accounts; give one of acme, beta'],
  [
    { yaml: BOTH, flags: { account: 'gamma' } },
    '--account: does not name an account in the settings file; give one of acme, beta',
  ],
  [
    { env, flags: { account: 'acme' } },
    '--account: does not name an account in the settings file; give a settings file with accounts',
  ],
  [
    {},
    'accounts: no account is configured. Run fieldwork-sync init: it asks for one, and writes ./fieldwork-sync.yaml. Or give --base-url, --id and --token-file, or set FIELDWORK_SYNC_BASE_URL, FIELDWORK_SYNC_API_ID and FIELDWORK_SYNC_API_TOKEN or FIELDWORK_SYNC_API_TOKEN_FILE, or name a settings file that has one by --config',
  ],
  [
    { env: { ...ACCOUNT_ENV, FIELDWORK_SYNC_API_ID: undefined } },
    '--id or FIELDWORK_SYNC_API_ID: is not set; set it, or give it in a settings file',
  ],
  [{ env, flags: { id: 'x' } }, '--id: must be the identifier of the account: a whole number from 1'],
  [
    { env, flags: { 'base-url': '' } },
    '--base-url: is empty; it must be a URL such as https://host.example/api/v1',
  ],
  [
    { env, flags: { 'base-url': 'http://x.example/api/v1' } },
    '--base-url: would send the token over plain http to another host; use https, or set allow_insecure_http: true in the settings file',
  ],
  [{ env, flags: { 'rate-limit': '60' } }, '--rate-limit: must be requests per duration, such as 60/60s'],
  [
    { env, flags: { token: 'tok-of-the-flag', 'token-file': 't' } },
    '--token-file: cannot be set together with --token; remove one of them',
  ],
  [{ env, flags: { 'token-file': TOKEN } }, '--token-file: the token file that it names does not exist'],
])('%j is refused with its reason', async (situation, problem) => {
  expect(await problemsOf({ ...one, ...situation })).toEqual([problem])
})
