/**
 * An analyst's session: nothing but the address of the bucket, and the lines of `docs/how-to/read-from-a-bucket.md`. The real command has
 * published two nights to a real server.
 */
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { scriptedSurvey, startScriptedApi } from '../../support/api/scripted-api.js'
import { sync, withSettings } from '../../support/command/sync.js'
import { type Finished, temporaryDirectory } from '../../support/files/temporary.js'
import { STORAGE_CREDENTIALS } from '../../support/storage/credentials.js'
import { startVersitygw, VERSITYGW } from '../../support/storage/versitygw.js'
import { lacks } from '../../support/suite/lacks.js'
import { ADDRESSES, answer, DELTA, EARLIER, PYTHON, TIME_TRAVEL } from './bucket-page-shared.js'
import { lacksEnvironment, runPython } from './python.js'

const SCRIPT = fileURLToPath(new URL('bucket_page.py', import.meta.url))

const ACCOUNTS = ['007', '2026-03-01']

/** The address is that of the page, so that its lines run as they are. */
const twoNights = async (finished: Finished) => {
  const server = await startVersitygw(finished)
  const api = await startScriptedApi(
    [1, 2, 3].map((id) => scriptedSurvey(id, { status: 'fieldwork' })),
    finished,
  )
  const accounts = ACCOUNTS.map((name, index) => ({
    name,
    base_url: api.baseUrl,
    id: index + 1,
    token: api.env.FIELDWORK_SYNC_API_TOKEN,
  }))
  const storage = { url: 's3://research/fieldwork', endpoint: server.endpoint }
  const args = await withSettings(
    { accounts, storage, publish: ['duckdb', 'parquet', 'delta', 'ducklake'] },
    finished,
  )
  const night = async () => {
    // Each night has an empty disk.
    const ended = await sync({
      warehouse: await temporaryDirectory(finished),
      env: STORAGE_CREDENTIALS,
      args,
    })
    expect(ended.code, ended.stderr).toBe(0)
  }
  await night()
  api.surveys[0] = scriptedSurvey(1, { status: 'complete', updated_at: '2026-03-01T12:00:00Z' })
  const between = new Date().toISOString()
  await night()
  return { server, between }
}

test.skipIf(lacksEnvironment('delta') || lacks('versitygw', VERSITYGW !== null))(
  'the lines of the page show the last night, each row once, and an earlier night',
  async ({ onTestFinished }) => {
    const { server, between } = await twoNights(onTestFinished)
    const secret = `PROVIDER credential_chain, ENDPOINT '${new URL(server.endpoint).host}', URL_STYLE 'path', USE_SSL false`
    const ready = (block: string): string =>
      `${block.includes('CREATE SECRET') ? '' : 'CREATE SECRET (TYPE s3, PROVIDER credential_chain);\n'}${block}`
        .replaceAll('PROVIDER credential_chain', secret)
        .replace('2026-03-02 06:00:00+00', between)
    const glob = `SELECT count(*) FROM read_parquet('s3://research/fieldwork/data/surveys/**/*.parquet')`
    const earlier = 'SELECT account, id, status FROM surveys_before ORDER BY ALL'
    const blocks = [
      `${DELTA.trimEnd().slice(0, -1)} ORDER BY ALL`,
      `${ADDRESSES}SELECT account, id, status FROM fieldwork.surveys ORDER BY ALL`,
      `${ADDRESSES}SELECT account, id, status FROM fieldwork_lake.surveys ORDER BY ALL`,
      TIME_TRAVEL.replace('interviews_count', 'status'),
      `${EARLIER}${earlier}`,
      glob,
    ]
    const { sql, python } = answer.parse(
      await runPython('delta', SCRIPT, {
        env: {
          ...STORAGE_CREDENTIALS,
          AWS_REGION: 'us-east-1',
          AWS_ENDPOINT_URL: server.endpoint,
          AWS_ALLOW_HTTP: 'true',
        },
        sql: blocks.map(ready),
        python: PYTHON,
      }),
    )
    const rowsOf = (statuses: readonly string[]) =>
      ACCOUNTS.flatMap((account) => statuses.map((status, index) => [account, String(index + 1), status]))
    expect(sql[0]).toEqual([
      ['complete', '2'],
      ['fieldwork', '4'],
    ])
    const [newest, before] = [
      rowsOf(['complete', 'fieldwork', 'fieldwork']),
      rowsOf(['fieldwork', 'fieldwork', 'fieldwork']),
    ]
    expect([sql[1], sql[2]]).toEqual([newest, newest])
    expect([sql[3]?.toSorted(), sql[4]]).toEqual([before, before])
    // The page warns of this: the files of both nights are there.
    expect(Number(sql[5]?.[0]?.[0])).toBe(2 * ACCOUNTS.length * 3)
    const rows = ACCOUNTS.flatMap((account) => [1, 2, 3].map((id) => [account, id]))
    expect(python).toEqual([rows, rows])
  },
)
