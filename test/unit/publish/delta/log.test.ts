/** Which actions lead from one manifest to the next, and which state a log describes. */
import { describe, expect, test } from 'vitest'
import type { Action } from '../../../../src/publish/delta/actions.js'
import {
  changesTo,
  checkpointActions,
  commitOf,
  type Projection,
  partitionColumns,
  schemaString,
  stateAfter,
  tableOfManifest,
} from '../../../../src/publish/delta/log.js'
import type { Manifest } from '../../../../src/publish/parquet/manifest.js'
import { COLUMNS, manifestKeyOf, manifestWith, tableOf } from '../../../support/storage/manifests.js'

const created = { id: 'id-1', nowMs: 1_000 }

const projectionOf = (manifest: Manifest): Projection => {
  const [table] = manifest.tables
  if (table === undefined) throw new Error('no table')
  return { manifest, manifestKey: manifestKeyOf(manifest), table, directory: 'data/surveys' }
}

const ONE = manifestWith(1, { files: { 'acme|2026-01|v1': 2, 'acme|2026-02|v1': 3 } })
const TWO = manifestWith(2, { files: { 'acme|2026-01|v1': 2, 'acme|2026-02|v2': 4 } })
const WIDER = manifestWith(3, {
  files: { 'acme|2026-01|v3': 2, 'acme|2026-02|v3': 4 },
  columns: [...COLUMNS, { name: 'title', type: 'VARCHAR', nullable: true, comment: '' }],
})

const kinds = (actions: readonly Action[] | null) =>
  actions?.map((action) => Object.keys(action).join()) ?? null
const pathsOf = (actions: readonly Action[] | null) =>
  actions?.map(({ add, remove }) => add?.path ?? remove?.path)

describe('the changes to a manifest', () => {
  test('begin a log with protocol, metadata and every file', () => {
    const actions = changesTo(projectionOf(ONE), null, created)
    expect(kinds(actions)).toEqual(['protocol', 'metaData', 'add', 'add'])
    expect(actions?.[0]).toEqual({ protocol: { minReaderVersion: 1, minWriterVersion: 2 } })
    expect(actions?.[1]?.metaData).toMatchObject({
      id: 'id-1',
      name: 'surveys',
      description: 'Surveys',
      format: { provider: 'parquet', options: {} },
      partitionColumns: ['account', 'created_month'],
      createdTime: 1_000,
    })
    expect(actions?.[2]).toEqual({
      add: {
        path: 'account=acme/created_month=2026-01/v1-run-0123456789abcdef.parquet',
        partitionValues: { account: 'acme', created_month: '2026-01' },
        size: 1002,
        modificationTime: Date.UTC(2026, 2, 1),
        dataChange: true,
        stats: '{"numRecords":2}',
      },
    })
  })

  test('are the removed and the added files', () => {
    const before = tableOfManifest(projectionOf(TWO), ONE)
    const actions = changesTo(projectionOf(TWO), before, created)
    expect(kinds(actions)).toEqual(['remove', 'add'])
    expect(actions?.[0]).toEqual({
      remove: {
        path: 'account=acme/created_month=2026-02/v1-run-0123456789abcdef.parquet',
        deletionTimestamp: 1_000,
        dataChange: true,
        extendedFileMetadata: true,
        partitionValues: { account: 'acme', created_month: '2026-02' },
        size: 1003,
      },
    })
  })

  test('are none between equal tables', () => {
    expect(changesTo(projectionOf(ONE), tableOfManifest(projectionOf(ONE), ONE), created)).toBeNull()
  })

  test('of a new column need the log, and keep the id of the table', () => {
    expect(tableOfManifest(projectionOf(WIDER), TWO)).toBeNull()
    const state = stateAfter(changesTo(projectionOf(TWO), null, created) ?? [])
    const actions = changesTo(projectionOf(WIDER), state, { id: 'id-2', nowMs: 2_000 })
    expect(kinds(actions)).toEqual(['metaData', 'remove', 'remove', 'add', 'add'])
    expect(actions?.[0]?.metaData).toMatchObject({ id: 'id-1', createdTime: 1_000 })
    expect(actions?.[0]?.metaData?.schemaString).toContain('"title"')
  })

  test('hold no file of an empty table', () => {
    const empty = manifestWith(2, { files: { 'none|unknown|v2': 0 } })
    expect(kinds(changesTo(projectionOf(empty), null, created))).toEqual(['protocol', 'metaData'])
    const emptied = changesTo(projectionOf(empty), tableOfManifest(projectionOf(empty), ONE), created)
    expect(kinds(emptied)).toEqual(['remove', 'remove'])
  })

  test.each([
    ['0042', '0042'],
    ['2026-01-01', '2026-01-01'],
    ['a b', 'a%2520b'],
    ['ü%1=x', '%25C3%25BC%25251%253Dx'],
  ])('encode the encoded path of account %s again', (account, encoded) => {
    const odd = manifestWith(1, { files: { [`${account}|2026-01|v1`]: 1 } })
    const actions = changesTo(projectionOf(odd), null, created)
    expect(pathsOf(actions)?.[2]).toBe(
      `account=${encoded}/created_month=2026-01/v1-run-0123456789abcdef.parquet`,
    )
    expect(actions?.[2]?.add?.partitionValues).toEqual({ account, created_month: '2026-01' })
  })
})

test('a commit names its manifest and the version of that', () => {
  const [info, txn, ...rest] = commitOf(projectionOf(TWO), [], 5)
  expect(info?.commitInfo).toMatchObject({ operationParameters: { manifest: manifestKeyOf(TWO) } })
  expect(txn).toEqual({ txn: { appId: 'fieldwork-sync', version: 2, lastUpdated: 5 } })
  expect(rest).toEqual([])
})

test('a log describes the files that were added and not removed, and the last metadata', () => {
  const first = commitOf(projectionOf(ONE), changesTo(projectionOf(ONE), null, created) ?? [], 1_000)
  const changes = changesTo(projectionOf(TWO), tableOfManifest(projectionOf(TWO), ONE), {
    id: 'x',
    nowMs: 2_000,
  })
  const state = stateAfter([...first, ...commitOf(projectionOf(TWO), changes ?? [], 2_000)])
  expect([...state.files.keys()]).toEqual([
    'account=acme/created_month=2026-01/v1-run-0123456789abcdef.parquet',
    'account=acme/created_month=2026-02/v2-run-0123456789abcdef.parquet',
  ])
  expect(state.txns.get('fieldwork-sync')?.version).toBe(2)

  const kept = checkpointActions(state, 2_500, 1_000)
  expect(kinds(kept)).toEqual(['protocol', 'metaData', 'txn', 'add', 'add', 'remove'])
  expect(stateAfter(kept).files.size).toBe(2)
  expect(kinds(checkpointActions(state, 3_001, 1_000))).not.toContain('remove')
})

test('every type has its name in Delta, and the comment of its column', () => {
  const types = ['BIGINT', 'VARCHAR', 'DOUBLE', 'BOOLEAN', 'TIMESTAMPTZ', 'DATE', 'JSON'] as const
  const columns = types.map((type) => ({ name: type, type, nullable: true, comment: `The ${type}` }))
  const { fields } = JSON.parse(schemaString({ columns, files: [] }))
  expect(fields.map(({ type }: { type: string }) => type).join(' ')).toBe(
    'long string double boolean timestamp date string',
  )
  const metadata = { comment: 'The BIGINT' }
  expect(fields[0]).toEqual({ name: 'BIGINT', type: 'long', nullable: true, metadata })
})

test('the month of a partitioned table is its last column', () => {
  const table = tableOf({ files: { 'acme|2026-01|v1': 1 } })
  const { fields } = JSON.parse(schemaString(table))
  expect(fields.map(({ name }: { name: string }) => name).join()).toBe('account,id,created_at,created_month')
  expect(partitionColumns(table)).toEqual(['account', 'created_month'])
  const whole = table.files.map((file) => ({ ...file, account: null, created_month: null }))
  expect(partitionColumns({ files: whole })).toEqual([])
})
