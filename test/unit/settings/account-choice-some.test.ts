/** `--accounts` chooses accounts of the settings file and refuses unknown names. */
import { expect, test } from 'vitest'
import { ACCOUNT, ACCOUNT_ENV, load, problemsOf } from '../../support/settings/settings-from-yaml.js'

const more = (name: string, id: number) =>
  ACCOUNT.replace('accounts:\n', '').replace('acme', name).replace('id: 17', `id: ${id}`)
const THREE = `${ACCOUNT}${more('globex', 18)}${more('Initech', 19)}`

test.each([
  [undefined, ['acme', 'globex', 'Initech']],
  ['globex', ['globex']],
  ['Initech, acme', ['acme', 'Initech']],
])('--accounts %s chooses %j', (accounts, names) => {
  expect(load({ yaml: THREE, flags: { accounts } }).accounts.map(({ name }) => name)).toEqual(names)
})

test('the account from the environment has the name default', () => {
  expect(load({ env: ACCOUNT_ENV, flags: { accounts: 'default' } }).accounts).toMatchObject([
    { name: 'default' },
  ])
})

test('the token of an account that was not chosen is not read', () => {
  const yaml = `${ACCOUNT}${more('globex', 18).replace(/token: .*/, 'token_file: /not/there')}`
  expect(load({ yaml, flags: { accounts: 'acme' } }).accounts).toHaveLength(1)
  expect(problemsOf({ yaml })).toHaveLength(1)
})

test.each([
  ['acne', '--accounts: "acne" is not an account in the settings; did you mean acme?'],
  ['initech', '--accounts: "initech" is not an account in the settings; did you mean Initech?'],
  [
    'acme,umbrella',
    '--accounts: "umbrella" is not an account in the settings; give some of acme, globex, Initech',
  ],
  ['acme,acme', '--accounts: names an account twice: acme,acme; give each account once'],
  ['acme,', '--accounts: has an empty name between commas; give some of acme, globex, Initech'],
  ['', '--accounts: is empty; give some of acme, globex, Initech'],
])('--accounts %j is refused with its reason', (accounts, problem) => {
  expect(problemsOf({ yaml: THREE, flags: { accounts } })).toEqual([problem])
})

test('the environment cannot describe an account that --accounts chose from several', () => {
  const env = { FIELDWORK_SYNC_API_ID: '9' }
  expect(problemsOf({ yaml: THREE, env, flags: { accounts: 'acme' } })).toEqual([
    'FIELDWORK_SYNC_API_ID: cannot be used with the 3 accounts of the settings file; set it for each account in the file',
  ])
})

test('two names for one account are refused unless --accounts chooses one of them', () => {
  const yaml = `${ACCOUNT}${more('globex', 17)}`
  expect(problemsOf({ yaml })).toEqual([
    'accounts: acme and globex have the same base_url and id; together they would exceed the cap of that account. Remove one, or choose one with --accounts',
  ])
  expect(load({ yaml, flags: { accounts: 'globex' } }).accounts).toHaveLength(1)
})

test('two names for one account are refused for any spelling of the address, also in different shards', () => {
  const twin = more('globex', 17).replace(/base_url: .*/, 'base_url: HTTPS://fieldwork.example.:443/api/v1/')
  const problem =
    'accounts: acme and globex have the same base_url and id; together they would exceed the cap of that account. Remove one, or choose one with --accounts'
  const yaml = `${ACCOUNT}${twin}`
  expect(problemsOf({ yaml })).toEqual([problem])
  // The shard count decides whether one shard has both names.
  const shards = [0, 1, 2, 3, 4, 5, 6].map((index) => `${index}/7`)
  const shardsOf = (name: string) =>
    shards.filter((shard) => {
      const { accounts } = load({ yaml, flags: { shard, accounts: name } })
      return accounts.length === 1
    })
  expect(shardsOf('acme')).not.toEqual(shardsOf('globex'))
  for (const shard of shards) expect(problemsOf({ yaml, flags: { shard } })).toEqual([problem])
})
