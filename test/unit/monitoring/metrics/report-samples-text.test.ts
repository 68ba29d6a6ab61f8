/** The text format: what is written is read back, and promtool has no complaint about it. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { ACCOUNT_METRICS, RUN_METRICS } from '../../../../src/monitoring/metrics/metrics.js'
import {
  accountSamples,
  exposition,
  parseExposition,
  runSamples,
} from '../../../../src/monitoring/metrics/report.js'
import { accountState, runEnd } from '../../../support/monitoring/run-ends.js'
import { cases } from '../../../support/suite/cases.js'

const samples = [
  ...runSamples('/data/fieldwork', runEnd()),
  ...accountSamples('/data/fieldwork', [accountState()]),
]

test('every metric has a help, a type and its declared labels', async () => {
  const lines = (await exposition(samples)).split('\n')
  for (const [common, metrics] of [
    ['command', RUN_METRICS],
    ['account', ACCOUNT_METRICS],
  ] as const)
    for (const { name, help, labels = [] } of metrics) {
      expect(lines).toContain(`# HELP ${name} ${help}`)
      expect(lines).toContain(`# TYPE ${name} gauge`)
      const own = samples.filter((sample) => sample.name === name)
      expect(own.length).toBeGreaterThan(0)
      for (const sample of own) expect(Object.keys(sample.labels)).toEqual(['warehouse', common, ...labels])
    }
})

test('a metric without samples is left out, with its help', async () => {
  const text = await exposition(runSamples('/data', runEnd({ waitMs: null })))
  expect(text).not.toContain('warehouse_wait')
  expect(text).toMatch(/^# HELP fieldwork_sync_build_info /)
})

test('the samples are read back as they were written', async () => {
  expect(parseExposition(await exposition(samples))).toEqual(samples)
})

test('labels with any text are read back', async () => {
  const unit = fc.constantFrom('a', '"', '\\', '\n', '\r', '\u2028', ',', '=', '{', '}', ' ', 'é', '😀')
  const readBack = fc.asyncProperty(fc.string({ unit }), fc.integer(), async (warehouse, value) => {
    const sample = { name: 'fieldwork_sync_run_exit_code', labels: { warehouse, command: 'sync' }, value }
    expect(parseExposition(await exposition([sample]))).toEqual([sample])
  })
  await fc.assert(readBack, cases(200))
})

test('a text that is none gives no samples', () => {
  expect(parseExposition('')).toEqual([])
  expect(parseExposition('fieldwork_sync_x{ 1\nfieldwork_sync_x{a="b"} none\n\0\n{} 1')).toEqual([])
})
