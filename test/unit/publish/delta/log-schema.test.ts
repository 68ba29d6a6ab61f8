import { expect, test } from 'vitest'
import { partitionColumns, schemaString } from '../../../../src/publish/delta/log.js'
import { tableOf } from '../../../support/storage/manifests.js'

const column = (
  name: string,
  type: 'BIGINT' | 'VARCHAR' | 'DOUBLE' | 'BOOLEAN' | 'TIMESTAMPTZ' | 'DATE' | 'JSON',
) => ({ name, type, nullable: true, comment: `The ${name}` })

test('every type has its name in Delta, and the comment of its column', () => {
  const types = ['BIGINT', 'VARCHAR', 'DOUBLE', 'BOOLEAN', 'TIMESTAMPTZ', 'DATE', 'JSON'] as const
  const { fields } = JSON.parse(
    schemaString({ schema: '_sync', columns: types.map((type) => column(type.toLowerCase(), type)) }),
  )
  expect(fields.map(({ type }: { type: string }) => type)).toEqual([
    'long',
    'string',
    'double',
    'boolean',
    'timestamp',
    'date',
    'string',
  ])
  expect(fields[0]).toEqual({
    name: 'bigint',
    type: 'long',
    nullable: true,
    metadata: { comment: 'The bigint' },
  })
})

test('the month of a partitioned table is its last column', () => {
  const { fields } = JSON.parse(schemaString(tableOf({ files: {} })))
  expect(fields.map(({ name }: { name: string }) => name)).toEqual([
    'account',
    'id',
    'created_at',
    'created_month',
  ])
  expect(partitionColumns({ schema: 'main' })).toEqual(['account', 'created_month'])
  expect(partitionColumns({ schema: '_sync' })).toEqual([])
})
