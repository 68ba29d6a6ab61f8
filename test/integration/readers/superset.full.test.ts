/** Apache Superset opens the published file as the page about BI tools says, lists its tables and views, and draws what its SQL says. */
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { DuckDBInstance } from '@duckdb/node-api'
import { expect, test } from 'vitest'
import { ALL_TABLES } from '../../../src/model/sync-tables.js'
import { ALL_VIEWS } from '../../../src/warehouse/views/all.js'
import { scriptedSurvey, startScriptedApi } from '../../support/api/scripted-api.js'
import { publishedFile, sync } from '../../support/command/sync.js'
import { temporaryDirectory } from '../../support/files/temporary.js'
import { lacksEnvironment, runPython } from './python.js'

const SCRIPT = fileURLToPath(new URL('superset_chart.py', import.meta.url))
const PAGE = readFileSync(new URL('../../../docs/how-to/bi-tools.md', import.meta.url), 'utf8')
/** What the page says to type. */
const [, uri = '', parameters = ''] =
  /^ {4}(duckdb:\/{4}\S+)\n[\s\S]*?^ {4}(\{"connect_args".+\})$/m.exec(PAGE) ?? []

const namesOf = (relations: readonly { readonly schema: string; readonly name: string }[]) =>
  relations.flatMap(({ schema, name }) => (schema === 'main' ? name : [])).toSorted()

test.skipIf(lacksEnvironment('superset'))(
  'Superset lists the tables and views of the published file, and a chart shows what its SQL says',
  async () => {
    const warehouse = await temporaryDirectory()
    const surveys = [scriptedSurvey(1), scriptedSurvey(2), scriptedSurvey(3, { status: 'complete' })]
    const api = await startScriptedApi(surveys)
    expect(await sync({ warehouse, env: api.env })).toMatchObject({ code: 0 })
    const file = publishedFile(warehouse)
    const interviews = { expressionType: 'SQL', sqlExpression: 'sum(interviews_count)', label: 'interviews' }
    const shown = await runPython('superset', SCRIPT, {
      uri: uri.replace('/data/fieldwork/fieldwork.duckdb', file),
      parameters: JSON.parse(parameters),
      table: 'surveys_today',
      chart: { columns: ['status'], metrics: [interviews], orderby: [['status', true]], row_limit: 100 },
    })
    expect(shown).toMatchObject({ table: namesOf(ALL_TABLES), view: namesOf(ALL_VIEWS) })
    const { rows, sql } = shown as { readonly rows: unknown; readonly sql: string }
    const database = await DuckDBInstance.create(file, { access_mode: 'READ_ONLY' })
    const reader = await (await database.connect()).runAndReadAll(sql)
    expect(rows).toEqual(
      reader.getRowObjects().map((row) => ({ ...row, interviews: Number(row.interviews) })),
    )
    expect(rows).toHaveLength(2)
  },
)
