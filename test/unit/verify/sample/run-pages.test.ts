import { expect, test } from 'vitest'
import { createListing } from '../../../../src/verify/sample/run.js'
import { survey } from '../../../support/warehouse/rows.js'

const PAGE_ROWS = 10

/** The service lists these ids, newest first; a survey is created at the moment of its id. */
const listingOf = (listed: readonly number[], stored: readonly number[]) => {
  const read: number[] = []
  const places = stored.map((id) => ({ id, createdAt: BigInt(id), refreshedAt: 0n }))
  const listing = createListing(
    (page) => {
      read.push(page)
      const rows = listed.slice((page - 1) * PAGE_ROWS, page * PAGE_ROWS)
      const total_pages = Math.max(1, Math.ceil(listed.length / PAGE_ROWS))
      return Promise.resolve({
        rows: rows.map((id) => survey(id, { created_at: BigInt(id) })),
        pagination: {
          ...{ current_page: page, prev_page: null, total_pages, total_count: listed.length },
          next_page: page < total_pages ? page + 1 : null,
        },
        ...{ readAt: 0n, serverDate: 0n, rejections: [], drift: [] },
      })
    },
    places,
    null,
  )
  const find = (id: number) => listing.find({ id, createdAt: BigInt(id), refreshedAt: 0n })
  return { find, read }
}

const down = (from: number, to: number) => Array.from({ length: from - to + 1 }, (_, place) => from - place)

const all = down(100, 1)
const without = (missing: number) => all.filter((id) => id !== missing)

test.each<{ what: string; listed: number[]; stored?: number[]; find: number[]; pages: number[] }>([
  { what: 'are found by their rank, each page once', listed: all, find: [55, 52, 98], pages: [1, 5] },
  { what: 'are found behind those that were created since', listed: down(125, 1), find: [55], pages: [1, 8] },
  {
    what: 'are found by created_at where others have gone since',
    listed: [...down(100, 81), ...down(65, 1)],
    find: [60, 1],
    pages: [1, 5, 4, 3, 9],
  },
  { what: 'not listed end at their neighbours', listed: without(55), find: [55], pages: [1, 5] },
  { what: 'not listed end at the border of a page', listed: without(90), find: [90], pages: [1, 2] },
  { what: 'that are older than all end at the last page', listed: down(100, 2), find: [1], pages: [1, 10] },
  { what: 'of an empty listing end at once', listed: [], stored: [3], find: [3], pages: [1] },
])('surveys $what', async ({ listed, stored = all, find: ids, pages }) => {
  const { find, read } = listingOf(listed, stored)
  const shown: number[] = []
  for (const id of ids) for (const { rows } of await find(id)) shown.push(...rows.map((row) => row.id))
  expect(read).toEqual(pages)
  expect(shown).toEqual(expect.arrayContaining(ids.filter((id) => listed.includes(id))))
})
