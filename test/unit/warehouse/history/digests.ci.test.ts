/** What is new for a channel: each row once, again after it was gone, and of what an account had at first all or nothing. */
import { expect, test } from 'vitest'
import { FIRST_DIGESTS } from '../../../../src/model/monitoring.js'
import type { AccountWarehouse } from '../../../../src/model/warehouse.js'
import { accountWarehouse } from '../../../../src/warehouse/account-warehouse.js'
import { readNews, rememberNews } from '../../../../src/warehouse/history/digests.js'
import { some } from '../../../support/suite/cases.js'
import { minute } from '../../../support/time/instants.js'
import { bundle, list, progress, RUN, survey } from '../../../support/warehouse/rows.js'
import { testWarehouse } from '../../../support/warehouse/warehouse.js'

const SURVEYS = [1, 2, 3]

interface Night {
  /** The paused surveys of acme. */
  readonly acme: readonly number[]
  /** Those of bolt, which is read from the third night on. */
  readonly bolt?: readonly number[]
  /** Channels whose delivery fails. */
  readonly fails?: readonly string[]
  /** What a new account has at first. */
  readonly first?: readonly string[]
  readonly chat: readonly string[]
  readonly mail?: readonly string[]
}

const NIGHTS: readonly Night[] = [
  { acme: [1], first: ['acme/1'], chat: [] },
  { acme: [1, 2], chat: ['acme/2'] },
  { acme: [1, 2], bolt: [1], first: ['bolt/1'], chat: [] },
  { acme: [2], bolt: [1, 3], chat: ['bolt/3'] },
  { acme: [1, 2], bolt: [1, 3], fails: ['chat'], chat: ['acme/1'] },
  // What was not delivered and is still there comes again, and only to the channel that failed.
  { acme: [1, 2, 3], bolt: [1, 3], fails: ['chat'], chat: ['acme/1', 'acme/3'], mail: ['acme/3'] },
  { acme: [1, 2], bolt: [1, 3], chat: ['acme/1'], mail: [] },
  { acme: [1, 2, 3], bolt: [1, 3], chat: ['acme/3'], mail: ['acme/3'] },
]

test.each(FIRST_DIGESTS)('each row is new once for each channel, with a %s first digest', async (first) => {
  const { database, account, rows } = await testWarehouse()
  const bolt = accountWarehouse(database, 'bolt')
  // The first three have what a new account has at first, and the first four each kind once, apart from a delivery that fails.
  const nights = some(NIGHTS, first === 'whole' ? 4 : 3)
  for (const [night, { acme: paused, bolt: ofBolt, fails = [], ...expected }] of nights.entries()) {
    const atFirst = first === 'whole' ? (expected.first ?? []) : []
    const chat = [...atFirst, ...expected.chat]
    const mail = [...atFirst, ...(expected.mail ?? expected.chat)]
    await read(account, paused, night)
    if (ofBolt !== undefined) await read(bolt, ofBolt, night)
    const news = await database.transaction((sql) => readNews(sql, ['chat', 'mail'], { runId: RUN, first }))
    expect(
      news.map(({ digest }) => digest.items.map(({ account: of, surveyId }) => `${of}/${surveyId}`)),
    ).toEqual([chat, mail])
    const all = [...paused, ...(ofBolt ?? [])]
    for (const one of news) {
      expect(one.digest).toMatchObject({ surveys: all.length, hasAccounts: ofBolt !== undefined })
      const told = { isTold: !fails.includes(one.channel), runId: RUN, at: minute(night) }
      await database.transaction((sql) => rememberNews(sql, one, told))
    }
  }
  expect(await rows('SELECT channel, account, since FROM _sync.digests ORDER BY ALL')).toEqual(
    ['chat', 'mail'].flatMap((channel) => [
      { channel, account: 'acme', since: '2026-03-01T00:00:00Z' },
      { channel, account: 'bolt', since: '2026-03-01T00:02:00Z' },
    ]),
  )
  expect(await rows('SELECT channel, account, survey_id, kind FROM _sync.digest_items ORDER BY ALL')).toEqual(
    await rows(
      `SELECT channel, account, survey_id, kind FROM needs_action, (VALUES ('chat'), ('mail')) c(channel) ORDER BY ALL`,
    ),
  )
})

const read = async (account: AccountWarehouse, paused: readonly number[], night: number): Promise<void> => {
  const at = minute(night * 1440)
  const statusOf = (id: number) => (paused.includes(id) ? 'deviating_from_specs' : 'fieldwork')
  const surveys = SURVEYS.map((id) => survey(id, { status: statusOf(id), updated_at: at }))
  await list(account, surveys, at, 'full')
  await account.commitBundles(
    SURVEYS.map((id) => bundle(id, at, [], progress(10 * (night + 1)))),
    RUN,
  )
}
