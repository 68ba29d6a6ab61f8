/** The lines for readers of Azure in `docs/how-to/object-storage.md`, on what the real command has published to Azurite. */
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { scriptedSurvey, startScriptedApi } from '../../support/api/scripted-api.js'
import { sync, withSettings } from '../../support/command/sync.js'
import { temporaryDirectory } from '../../support/files/temporary.js'
import { startAzurite } from '../../support/storage/azurite.js'
import { lacksEnvironment, runPython } from './python.js'

const SCRIPT = fileURLToPath(new URL('bucket_page.py', import.meta.url))
const page = readFileSync(new URL('../../../docs/how-to/object-storage.md', import.meta.url), 'utf8')
const blocksOf = (language: string): readonly string[] =>
  [...page.matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\`$`, 'gm'))].map(
    ([, code = '']) => code,
  )

const answer = z.object({
  sql: z.array(z.array(z.array(z.string()))),
  python: z.array(z.array(z.tuple([z.string(), z.number()]))),
})

test.skipIf(lacksEnvironment('delta') || lacksEnvironment('azurite'))(
  'DuckDB, polars and deltalake read the published tables, and DuckDB both addresses',
  async ({ onTestFinished }) => {
    const azurite = await startAzurite(onTestFinished)
    await azurite.createContainer('research')
    const surveys = [1, 2, 3].map((id) => scriptedSurvey(id, { status: 'fieldwork' }))
    const api = await startScriptedApi(surveys, onTestFinished)
    const account = { name: '007', base_url: api.baseUrl, id: 1, token: api.env.FIELDWORK_SYNC_API_TOKEN }
    const storage = { url: 'az://research/fieldwork' }
    const publish = ['duckdb', 'parquet', 'delta', 'ducklake']
    const ended = await sync({
      warehouse: await temporaryDirectory(onTestFinished),
      env: { AZURE_STORAGE_CONNECTION_STRING: azurite.connectionString },
      args: await withSettings({ accounts: [account], storage, publish }, onTestFinished),
    })
    expect(ended.code, ended.stderr).toBe(0)
    const secret = `CONNECTION_STRING '${azurite.connectionString}'`
    const [SQL = ''] = blocksOf('sql')
    const ready = (block: string) => block.replace(/PROVIDER credential_chain, ACCOUNT_NAME 'acme'/, secret)
    const [create = ''] = SQL.split(';\n')
    const counted = [
      'az://research/fieldwork/fieldwork.duckdb',
      'ducklake:az://research/fieldwork/fieldwork.ducklake',
    ].map(
      (address) =>
        `${create};\nATTACH '${address}' AS fieldwork (READ_ONLY);\nSELECT account, count(*) FROM fieldwork.surveys GROUP BY ALL`,
    )
    const { sql, python } = answer.parse(
      await runPython('delta', SCRIPT, {
        env: {
          AZURE_STORAGE_ACCOUNT_NAME: 'devstoreaccount1',
          AZURE_STORAGE_USE_EMULATOR: 'true',
          AZURITE_BLOB_STORAGE_URL: new URL(azurite.blobs).origin,
        },
        sql: [SQL, ...counted].map(ready),
        python: blocksOf('python'),
      }),
    )
    expect(sql).toEqual([[['fieldwork', '3']], [['007', '3']], [['007', '3']]])
    const rows = [1, 2, 3].map((id) => ['007', id])
    expect(python).toEqual([rows, rows])
  },
)
