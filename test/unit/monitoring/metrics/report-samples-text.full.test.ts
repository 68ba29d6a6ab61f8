/** The text format: what is written is read back, and promtool has no complaint about it. */
import { spawnSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { accountSamples, exposition, runSamples } from '../../../../src/monitoring/metrics/report.js'
import { accountState, runEnd } from '../../../support/monitoring/run-ends.js'
import { lacks } from '../../../support/suite/lacks.js'

const samples = [
  ...runSamples('/data/fieldwork', runEnd()),
  ...accountSamples('/data/fieldwork', [accountState()]),
]

test.skipIf(lacks('promtool'))('promtool finds nothing to criticize', async () => {
  const { status, stdout, stderr } = spawnSync('promtool', ['check', 'metrics'], {
    input: await exposition(samples),
  })
  expect(`${stdout}${stderr}`).toBe('')
  expect(status).toBe(0)
})
