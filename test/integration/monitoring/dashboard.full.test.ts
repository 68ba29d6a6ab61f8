/** The Grafana dashboard of config/monitoring has the shape of one, and Prometheus accepts its expressions. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { temporaryDirectory } from '../../support/files/temporary.js'
import { lacks } from '../../support/suite/lacks.js'
import { targets } from './dashboard-shared.js'
import { promtool } from './declared.js'

test.skipIf(lacks('promtool'))('Prometheus accepts every expression', async () => {
  const rules = targets.map(({ expr }, index) => ({
    record: `panel:${index}`,
    expr: expr.replaceAll(/\$(warehouse|account)/g, '.*'),
  }))
  const file = join(await temporaryDirectory(), 'panels.yaml')
  await writeFile(file, JSON.stringify({ groups: [{ name: 'panels', rules }] }))
  const success = expect.stringContaining(`SUCCESS: ${targets.length} rules`)
  expect(promtool('check', 'rules', file)).toEqual([success, 0])
})
