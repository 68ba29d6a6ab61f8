/** `--accounts` chooses accounts of the settings file and refuses unknown names. */
import { expect, test } from 'vitest'
import {
  ACCOUNT,
  ACCOUNT_ENV,
  anotherAccount,
  load,
  problemsOf,
} from '../../support/settings/settings-from-yaml.js'

const THREE = `${ACCOUNT}${anotherAccount('globex')}${anotherAccount('Initech', 19)}`

test.each([
  [undefined, ['acme', 'globex', 'Initech']],
  ['globex', ['globex']],
  ['Initech, acme', ['acme', 'Initech']],
])('--accounts %s chooses %j', async (accounts, names) => {
  expect((await load({ yaml: THREE, flags: { accounts } })).accounts.map(({ name }) => name)).toEqual(names)
})

test('the account from the environment has the name default', async () => {
  expect((await load({ env: ACCOUNT_ENV, flags: { accounts: 'default' } })).accounts).toMatchObject([
    { name: 'default' },
  ])
})

test('the token of an account that was not chosen is not read', async () => {
  const yaml = `${ACCOUNT}${anotherAccount('globex').replace(/token: .*/, 'token_file: /not/there')}`
  expect((await load({ yaml, flags: { accounts: 'acme' } })).accounts).toHaveLength(1)
  expect(await problemsOf({ yaml })).toHaveLength(1)
})

test.each(
  Object.entries({
    acne: '--accounts: "acne" is not an account in the settings; did you mean acme?',
    initech: '--accounts: "initech" is not an account in the settings; did you mean Initech?',
    'acme,umbrella':
      '--accounts: "umbrella" is not an account in the settings; give some of acme, globex, Initech',
    'acme,acme': '--accounts: names an account twice: acme,acme; give each account once',
    'acme,': '--accounts: has an empty name between commas; give some of acme, globex, Initech',
    '': '--accounts: is empty; give some of acme, globex, Initech',
  }),
)('--accounts %j is refused with its reason', async (accounts, problem) => {
  expect(await problemsOf({ yaml: THREE, flags: { accounts } })).toEqual([problem])
})

test('the environment cannot describe an account that --accounts chose from several', async () => {
  const env = { FIELDWORK_SYNC_API_ID: '9' }
  expect(await problemsOf({ yaml: THREE, env, flags: { accounts: 'acme' } })).toEqual([
    'FIELDWORK_SYNC_API_ID: cannot be used with the 3 accounts of the settings file; set it for each account in the file',
  ])
})

test('two names for one account are refused unless --accounts chooses one of them', async () => {
  const yaml = `${ACCOUNT}${anotherAccount('globex', 17)}`
  expect(await problemsOf({ yaml })).toEqual([
    'accounts: acme and globex have the same base_url and id; together they would exceed the cap of that account. Remove one, or choose one with --accounts',
  ])
  expect((await load({ yaml, flags: { accounts: 'globex' } })).accounts).toHaveLength(1)
})

test('two names for one account are refused for any spelling of the address, also in different shards', async () => {
  const twin = anotherAccount('globex', 17).replace(
    /base_url: .*/,
    'base_url: HTTPS://fieldwork.example.:443/api/v1/',
  )
  const problem =
    'accounts: acme and globex have the same base_url and id; together they would exceed the cap of that account. Remove one, or choose one with --accounts'
  const yaml = `${ACCOUNT}${twin}`
  expect(await problemsOf({ yaml })).toEqual([problem])
  // The shard count decides whether one shard has both names.
  const shards = [0, 1, 2, 3, 4, 5, 6].map((index) => `${index}/7`)
  const counts = (name: string) =>
    Promise.all(
      shards.map(async (shard) => (await load({ yaml, flags: { shard, accounts: name } })).accounts.length),
    )
  expect(await counts('acme')).not.toEqual(await counts('globex'))
  for (const shard of shards) expect(await problemsOf({ yaml, flags: { shard } })).toEqual([problem])
})
