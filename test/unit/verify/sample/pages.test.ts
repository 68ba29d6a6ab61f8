import { expect, test } from 'vitest'
import { Listing } from '../../../../src/verify/sample/pages.js'
import { survey } from '../../../support/warehouse/rows.js'

const PAGE_ROWS = 10

/** The service lists these ids, newest first; a survey is created at the moment of its id. */
const listingOf = (listed: readonly number[], stored: readonly number[]) => {
  const read: number[] = []
  const places = stored.map((id) => ({ id, createdAt: BigInt(id), refreshedAt: 0n }))
  const listing = new Listing(
    (page) => {
      read.push(page)
      const rows = listed.slice((page - 1) * PAGE_ROWS, page * PAGE_ROWS)
      const total_pages = Math.max(1, Math.ceil(listed.length / PAGE_ROWS))
      return Promise.resolve({
        rows: rows.map((id) => survey(id, { created_at: BigInt(id) })),
        pagination: {
          current_page: page,
          next_page: page < total_pages ? page + 1 : null,
          prev_page: null,
          total_pages,
          total_count: listed.length,
        },
        readAt: 0n,
        serverDate: 0n,
        rejections: [],
        drift: [],
      })
    },
    places,
    null,
  )
  const find = (id: number) => listing.find({ id, createdAt: BigInt(id), refreshedAt: 0n })
  return { find, read }
}

const down = (from: number, to: number) => Array.from({ length: from - to + 1 }, (_, place) => from - place)

test('a survey is found by its rank, and each page is read once', async () => {
  const { find, read } = listingOf(down(100, 1), down(100, 1))
  expect((await find(55)).row?.id).toBe(55)
  expect((await find(52)).row?.id).toBe(52)
  expect((await find(98)).row?.id).toBe(98)
  expect(read).toEqual([1, 5])
})

test('surveys that were created since shift the pages', async () => {
  const { find, read } = listingOf(down(125, 1), down(100, 1))
  expect((await find(55)).row?.id).toBe(55)
  expect(read).toEqual([1, 8])
})

test('surveys that have gone since are noticed by created_at', async () => {
  const { find } = listingOf([...down(100, 81), ...down(65, 1)], down(100, 1))
  expect((await find(60)).row?.id).toBe(60)
  expect((await find(1)).row?.id).toBe(1)
})

test('a survey that is not listed is certain when its neighbours are shown', async () => {
  const listed = down(100, 1).filter((id) => id !== 55)
  expect(await listingOf(listed, down(100, 1)).find(55)).toMatchObject({ row: null, isCertain: true })
  const atBorder = down(100, 1).filter((id) => id !== 90)
  expect(await listingOf(atBorder, down(100, 1)).find(90)).toMatchObject({ row: null, isCertain: true })
  const oldest = down(100, 2)
  expect(await listingOf(oldest, down(100, 1)).find(1)).toMatchObject({ row: null, isCertain: true })
})

test('an empty listing ends at once', async () => {
  expect(await listingOf([], [3]).find(3)).toMatchObject({ row: null, isCertain: true })
})
