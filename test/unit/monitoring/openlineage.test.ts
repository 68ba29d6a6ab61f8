/** The events of a run follow the schemas of OpenLineage, and name what was published as other producers name it. */
import { expect, test } from 'vitest'
import { Secret } from '../../../src/base/secret.js'
import type { RunEnd } from '../../../src/model/monitoring.js'
import { surveys, surveysHistory } from '../../../src/model/tables.js'
import { endEvent, startEvent } from '../../../src/monitoring/openlineage.js'
import { readEvent } from '../../support/monitoring/openlineage.js'
import { runEnd } from '../../support/monitoring/run-ends.js'
import { runReport } from '../../support/warehouse/rows.js'

const target = {
  setting: 'notify.openlineage.url',
  url: new Secret('https://marquez.example.com/api/v1/lineage'),
  proxy: null,
  token: null,
  namespace: 'research',
}
const baseUrls = ['https://api.example/api/v1', 'https://api.example/api/v1']
const catalog = { relations: [surveys, surveysHistory], inFiles: [surveys] }
const sendingTo = (warehouse: string, redact = (text: string) => text) => ({
  target,
  baseUrls,
  warehouse,
  redact,
})
const endIn = (end: RunEnd, warehouse = '/data/fieldwork') =>
  readEvent(endEvent({ ...end, catalog }, sendingTo(warehouse)).body)
const published = (...formats: readonly (readonly [string, string])[]) => {
  const { report } = runEnd()
  if (report === null) throw new Error('it has a report')
  return runEnd({
    report: { ...report, published: formats.map(([format, path]) => ({ format, path, bytes: 1 })) },
  })
}
const placesIn = (end: RunEnd, warehouse: string) =>
  endIn(end, warehouse).outputs.map(({ namespace, name }) => `${namespace} ${name}`)

test('a start and an end belong to one run of one job', () => {
  const start = readEvent(startEvent(runEnd(), sendingTo('/data/fieldwork')).body)
  const end = endIn(runEnd())
  expect([...start.problems, ...end.problems]).toEqual([])
  expect([start.eventType, start.eventTime]).toEqual(['START', '2026-03-01T02:00:00.000Z'])
  expect([end.eventType, end.eventTime]).toEqual(['COMPLETE', '2026-03-01T02:13:02.500Z'])
  expect(start.run.runId).toBe(end.run.runId)
  expect(start.job).toEqual({ namespace: 'research', name: 'sync /data/fieldwork' })
  expect(end.job).toEqual(start.job)
  expect(end.inputs).toMatchObject([{ namespace: 'https://api.example', name: '/api/v1' }])
  expect(end.run.facets.processing_engine).toMatchObject({ name: 'fieldwork-sync', version: '0.1.0' })
})

test('the id of the run is the one that uuid5 of Python makes', () => {
  // python3 -c "import uuid; print(uuid.uuid5(uuid.NAMESPACE_OID, '20260301T020000Z-abc123'))"
  expect(endIn(runEnd({ runId: '20260301T020000Z-abc123' })).run.runId).toBe(
    '73cd90e6-d2bf-50ae-9600-c8714b06917e',
  )
})

test.each([
  [
    '/data/fieldwork',
    'duckdb',
    '/data/fieldwork/fieldwork.duckdb',
    'duckdb:///data/fieldwork/fieldwork.duckdb fieldwork.main.surveys',
    2,
  ],
  [
    '/data/fieldwork',
    'parquet',
    '/data/fieldwork/parquet/current',
    'file /data/fieldwork/parquet/current/surveys',
    1,
  ],
  [
    's3://research/fieldwork',
    'duckdb',
    's3://research/fieldwork/fieldwork.duckdb',
    'duckdb://s3://research/fieldwork/fieldwork.duckdb fieldwork.main.surveys',
    2,
  ],
  [
    's3://research/fieldwork',
    'delta',
    's3://research/fieldwork/data',
    's3://research fieldwork/data/surveys',
    1,
  ],
  ['s3://research', 'parquet', 's3://research/manifests/1.json', 's3://research data/surveys', 1],
])('in %s, the tables of %s have names', (warehouse, format, path, first, tables) => {
  const places = placesIn(published([format, path]), warehouse)
  expect([places[0], places.length]).toEqual([first, tables])
})

test('Parquet and Delta of a bucket are the same tables, and a report is none', () => {
  const end = published(
    ['parquet', 's3://research/manifests/1.json'],
    ['delta', 's3://research/data'],
    ['ducklake', 's3://research/fieldwork.ducklake'],
    ['report', 's3://research/report.html'],
  )
  expect(placesIn(end, 's3://research')).toEqual(['s3://research data/surveys'])
})

test('a table has its columns, and the number of rows that the run wrote where it is known', () => {
  const rowsByTable = { surveys: { added: 2, changed: 3, unchanged: 5 } }
  const { report } = published(['duckdb', '/data/fieldwork.duckdb'])
  const accounts = [runReport({ rowsByTable }), runReport({ rowsByTable })]
  const [one, history] = endIn(runEnd({ report: report && { ...report, accounts } })).outputs
  expect(one?.facets.schema?.fields).toMatchObject(
    surveys.columns.map(({ name, type, comment }) => ({ name, type, description: comment })),
  )
  expect(one?.outputFacets.outputStatistics).toMatchObject({ rowCount: 10 })
  expect(history?.outputFacets).toEqual({})
})

test.each([
  ['FAIL', 'rejected rows', runEnd({ exitCode: 5, status: 'failed' }), /failed \(exit 5\)/],
  [
    'FAIL',
    'an error',
    runEnd({
      ...{ exitCode: 6, status: 'failed', report: null },
      error: { code: 'warehouse_is_held', message: 'it is held', exit_code: 6 },
    }),
    /it is held/,
  ],
  [
    'ABORT',
    'a signal before the run began',
    runEnd({ exitCode: 3, status: 'partial', report: null }),
    /exit 3/,
  ],
] as const)('%s after %s, with the reason', (type, _, end, message) => {
  const { problems, eventType, run, outputs } = endIn(end)
  expect([problems, eventType]).toEqual([[], type])
  expect(run.facets.errorMessage?.message).toMatch(message)
  expect(outputs.length > 0).toBe(end.report !== null)
})

test('no secret is in an event', () => {
  const redact = (text: string) => text.replaceAll('s3cr3t', '[redacted]')
  const end = runEnd({
    ...{ exitCode: 4, status: 'failed', report: null },
    error: { code: 'credentials_refused', message: 'the token s3cr3t', exit_code: 4 },
  })
  expect(endEvent(end, sendingTo('/data/s3cr3t', redact)).body).not.toContain('s3cr3t')
})
