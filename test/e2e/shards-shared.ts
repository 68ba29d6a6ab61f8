/** What both test files of shards use. */
import { scriptedSurvey, startScriptedApi } from '../support/api/scripted-api.js'
import type { Ended } from '../support/command/command.js'
import { withSettings } from '../support/command/sync.js'
import { runWarm } from '../support/command/warm.js'
import { temporaryDirectory } from '../support/files/temporary.js'
import { query } from '../support/warehouse/duckdb.js'

export const open = async () => {
  const root = await temporaryDirectory()
  const names = ['acme', 'globex', 'initech']
  const apis = await Promise.all(
    names.map((name) => startScriptedApi([1, 2].map((id) => scriptedSurvey(id, { title: `of ${name}` }, 1)))),
  )
  const accounts = names.map((name, index) => ({
    name,
    base_url: apis[index]?.baseUrl,
    id: index + 1,
    token: `tok-of-account-${name}`,
    rate_limit: { requests: 1000, per: '1s' },
  }))
  const publish = { formats: ['duckdb', 'parquet'], views: [] }
  const args = await withSettings({ accounts, publish, refresh: { reconstruct: false } })
  const place = [...args, '--warehouse', root]
  const command = (name: string, ...more: readonly string[]): Promise<Ended> =>
    runWarm([name, ...place, ...more])
  const surveys = () =>
    query(
      ':memory:',
      `SELECT shard, account, count(*)::INTEGER AS surveys, min(title) AS title
        FROM read_parquet('${root}/shard=*/parquet/current/surveys/**/*.parquet', hive_partitioning = true)
        GROUP BY ALL ORDER BY ALL`,
    )
  return { root, apis, place, command, surveys }
}

export const ALL = [
  { shard: '0-of-2', account: 'acme', surveys: 2, title: 'of acme' },
  { shard: '0-of-2', account: 'globex', surveys: 2, title: 'of globex' },
  { shard: '1-of-2', account: 'initech', surveys: 2, title: 'of initech' },
]
