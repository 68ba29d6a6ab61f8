import { expect, test } from 'vitest'
import { partitionColumns, schemaString } from '../../../../src/publish/delta/log.js'
import { tableOf } from '../../../support/storage/manifests.js'

test('every type has its name in Delta, and the comment of its column', () => {
  const types = ['BIGINT', 'VARCHAR', 'DOUBLE', 'BOOLEAN', 'TIMESTAMPTZ', 'DATE', 'JSON'] as const
  const columns = types.map((type) => ({ name: type, type, nullable: true, comment: `The ${type}` }))
  const { fields } = JSON.parse(schemaString({ schema: '_sync', columns }))
  expect(fields.map(({ type }: { type: string }) => type).join(' ')).toBe(
    'long string double boolean timestamp date string',
  )
  const metadata = { comment: 'The BIGINT' }
  expect(fields[0]).toEqual({ name: 'BIGINT', type: 'long', nullable: true, metadata })
})

test('the month of a partitioned table is its last column', () => {
  const { fields } = JSON.parse(schemaString(tableOf({ files: {} })))
  expect(fields.map(({ name }: { name: string }) => name).join()).toBe('account,id,created_at,created_month')
  expect(partitionColumns({ schema: 'main' })).toEqual(['account', 'created_month'])
  expect(partitionColumns({ schema: '_sync' })).toEqual([])
})
