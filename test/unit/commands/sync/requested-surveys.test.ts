/** Which survey a name of `sync --surveys` means, or what to do about it. */
import { expect, test } from 'vitest'
import { surveyNameOf } from '../../../../src/commands/flags.js'
import { surveysByAccount } from '../../../../src/commands/sync/requested-surveys.js'
import { shardOf } from '../../../../src/settings/shards.js'
import { load } from '../../../support/settings/settings-from-yaml.js'

const accountsOf = (names: readonly string[], shard?: string) =>
  load({
    yaml: JSON.stringify({
      accounts: names.map((name, index) => ({
        name,
        base_url: 'https://api.example/api/v1',
        id: index + 1,
        token: 'tok-1',
      })),
    }),
    flags: shard === undefined ? {} : { shard },
  })

const KNOWN = ['acme', 'globex'].map((account) => ({
  account,
  surveyId: 1,
  missingSince: null,
  isTyped: true,
}))

const found = async (names: string, shard?: string) =>
  surveysByAccount(
    names.split(',').map((name) => surveyNameOf(name, 'sync', '--surveys')),
    KNOWN,
    await accountsOf(['acme', 'globex', 'initech'], shard),
  )

test('a name is a survey of one account, and every name counts once', async () => {
  expect(await found('acme/1,globex/1,acme/1')).toEqual(
    new Map([
      ['acme', [1]],
      ['globex', [1]],
    ]),
  )
})

test('a name of another shard says which shard to run, and an id is looked for in this one', async () => {
  const [own, other] = [shardOf('acme', 2), shardOf('initech', 2)]
  expect(other, 'the names are chosen for that').not.toBe(own)
  await expect(found('acme/1,initech/1', `${own}/2`)).rejects.toThrow(
    `"initech/1" is of no account of this run, which has acme, globex; among 2 shards, its account belongs to --shard ${other}/2`,
  )
  await expect(found('1,initech/7', `${other}/2`)).rejects.toThrow(
    '1 is not known: no listing of initech has shown it. A new survey comes with the next sync; initech/7 is not known: no listing of initech',
  )
})
