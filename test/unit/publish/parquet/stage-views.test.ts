/** Views as Parquet: they are in the version of the tables, equal the views of the database, and nothing is restored from them. */
import { expect, test } from 'vitest'
import { VIEW_NAMES } from '../../../../src/model/publish-formats.js'
import { ALL_VIEWS } from '../../../../src/warehouse/views/all.js'

test('the names of views that settings may have are those of the views, in their order', () => {
  expect(ALL_VIEWS.map(({ name }) => name)).toEqual(VIEW_NAMES)
})
