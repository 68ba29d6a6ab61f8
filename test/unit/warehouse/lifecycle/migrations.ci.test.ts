/** Migration of older files to this version. */
import { expect, test } from 'vitest'
import { SCHEMA_VERSION } from '../../../../src/model/sync-tables.js'
import { migrate } from '../../../../src/warehouse/lifecycle/migrations.js'
import { minute } from '../../../support/time/instants.js'
import { testClock } from '../../../support/time/test-clock.js'
import { list, survey } from '../../../support/warehouse/rows.js'
import { type TestWarehouse, testWarehouse } from '../../../support/warehouse/warehouse.js'

type Schema = NonNullable<Parameters<typeof migrate>[2]>

/** Steps that a later version could have. Each changes a table and fills it. */
const steps: Schema['migrations'] = [
  {
    version: SCHEMA_VERSION + 1,
    description: 'Surveys have a colour',
    statements: [
      'ALTER TABLE main.surveys_history ADD COLUMN colour VARCHAR',
      "UPDATE main.surveys_history SET colour = 'red'",
    ],
  },
  {
    version: SCHEMA_VERSION + 2,
    description: 'And another one',
    statements: ["UPDATE main.surveys_history SET colour = concat(colour, 'dish')"],
  },
]

const versions = ({ rows }: TestWarehouse) =>
  rows('SELECT version, description FROM _sync.schema_version ORDER BY version')

test('each step is one transaction with its record: a failed step leaves no trace, and the next run repeats it', async () => {
  const warehouse = await testWarehouse()
  await list(warehouse.account, [survey(1)], minute(0), 'full')
  const built = { version: SCHEMA_VERSION, description: 'Built from the declarations' }
  const [first, second] = steps
  const failing = [first, { ...second, statements: [...(second?.statements ?? []), 'SELECT * FROM nowhere'] }]
  const schema = { version: SCHEMA_VERSION + 2, migrations: failing as Schema['migrations'] }
  await expect(migrate(warehouse.database, testClock(), schema)).rejects.toThrow('nowhere')
  expect(await versions(warehouse)).toEqual([
    built,
    { version: SCHEMA_VERSION + 1, description: 'Surveys have a colour' },
  ])
  await warehouse.expectRows('SELECT colour FROM surveys_history', [['red']])

  for (const _ of ['the next run', 'one more run, which has nothing to do']) {
    await migrate(warehouse.database, testClock(), { version: SCHEMA_VERSION + 2, migrations: steps })
    await warehouse.expectRows('SELECT colour FROM surveys_history', [['reddish']])
    expect((await versions(warehouse)).map(({ version }) => version)).toEqual([
      SCHEMA_VERSION,
      SCHEMA_VERSION + 1,
      SCHEMA_VERSION + 2,
    ])
  }
})

test('a new file needs no step: it is built with the newest schema', async () => {
  const warehouse = await testWarehouse()
  await warehouse.run('DELETE FROM _sync.schema_version')
  await migrate(warehouse.database, testClock(), { version: SCHEMA_VERSION + 2, migrations: steps })
  expect(await versions(warehouse)).toEqual([
    { version: SCHEMA_VERSION + 2, description: 'Built from the declarations' },
  ])
})

test('a file of a version that no release had is refused, and stays as it is', async () => {
  const warehouse = await testWarehouse()
  await warehouse.run('UPDATE _sync.schema_version SET version = 1')
  await expect(migrate(warehouse.database, testClock())).rejects.toMatchObject({
    exitCode: 7,
    message: expect.stringContaining('has schema version 1, which no release had'),
  })
  expect(await versions(warehouse)).toMatchObject([{ version: 1 }])
})
