/** Pages that are committed together leave the same warehouse as pages that are committed one by one. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { ListingPage } from '../../../../src/model/warehouse.js'
import { accountWarehouse } from '../../../../src/warehouse/account-warehouse.js'
import { cases } from '../../../support/suite/cases.js'
import { minute } from '../../../support/time/instants.js'
import {
  begin,
  bundle,
  listingPage,
  progress,
  rejection,
  source,
  survey,
} from '../../../support/warehouse/rows.js'
import { type TestWarehouse, testWarehouse } from '../../../support/warehouse/warehouse.js'

const TABLES = [
  'main.surveys',
  'main.surveys_history',
  'main.freshness',
  '_sync.pending_surveys',
  '_sync.listings',
  '_sync.listed_ids',
  '_sync.rejected_rows',
  '_sync.cursors',
  '_sync.tasks',
]
const SURVEY_IDS = [1, 2, 3, 4, 5]

interface Shown {
  /** The variant of each survey on the page. Surveys move between pages, so a survey may be on several. */
  readonly surveys: ReadonlyMap<number, number>
  readonly unreadable: number
  /** A page may announce itself again, or an earlier one. */
  readonly back: number
}

const shown: fc.Arbitrary<Shown> = fc.record({
  surveys: fc
    .uniqueArray(fc.tuple(fc.constantFrom(...SURVEY_IDS), fc.nat({ max: 2 })), { selector: ([id]) => id })
    .map((entries) => new Map(entries)),
  unreadable: fc.nat({ max: 2 }),
  back: fc.oneof({ weight: 5, arbitrary: fc.constant(0) }, fc.nat({ max: 2 })),
})

/** The pages of a listing, at minutes after `from`. The last one ends it, if `ends`. */
const pagesOf = (all: readonly Shown[], from: number, ends: boolean): readonly ListingPage[] => {
  let page = 1
  return all.map(({ surveys, unreadable, back }, place) => {
    const nextPage = ends && place === all.length - 1 ? null : Math.max(1, page + 1 - back)
    const read = listingPage(
      [...surveys].map(([id, variant]) => survey(id, { title: `Title ${variant}` })),
      minute(from + place),
      {
        page,
        nextPage,
        totalCount: 5 + place,
        rejections: Array.from({ length: unreadable }, (_, at) => rejection({ raw: `"${place}/${at}"` })),
      },
    )
    page = nextPage ?? page
    return read
  })
}

/** What a new account of the warehouse has after these listings. */
const accountAfter = async (
  warehouse: TestWarehouse,
  name: string,
  listings: readonly (readonly (readonly ListingPage[])[])[],
) => {
  const account = accountWarehouse(warehouse.database, name)
  // The sources and progress of two surveys are stored, so their changed rows wait.
  for (const [place, groups] of listings.entries()) {
    await begin(account, minute(place))
    for (const group of groups) await account.commitListingPages(group)
    if (place === 0)
      await account.commitBundles(
        [1, 2].map((id) => bundle(id, minute(90), [source(id)], progress(1))),
        'run-1',
      )
  }
  return await Promise.all(
    TABLES.map(async (table) => [
      table,
      await warehouse.rows(`SELECT * EXCLUDE (account) FROM ${table} WHERE account = '${name}' ORDER BY ALL`),
    ]),
  )
}

/** Splits pages into groups of the sizes. */
const grouped = <Page>(pages: readonly Page[], sizes: readonly number[]): readonly (readonly Page[])[] => {
  const groups: Page[][] = []
  for (let from = 0, place = 0; from < pages.length; place += 1) {
    const size = sizes[place % sizes.length] ?? 1
    groups.push(pages.slice(from, from + size))
    from += size
  }
  return groups
}

test('any pages in any groups leave the same rows, history, queue and position as single pages', async () => {
  const warehouse = await testWarehouse()
  let accounts = 0
  const after = (listings: Parameters<typeof accountAfter>[2]) => {
    accounts += 1
    return accountAfter(warehouse, `account ${accounts}`, listings)
  }
  await fc.assert(
    fc.asyncProperty(
      fc.array(shown, { minLength: 1, maxLength: 6 }),
      fc.array(shown, { minLength: 1, maxLength: 6 }),
      fc.array(fc.integer({ min: 1, max: 6 }), { minLength: 1, maxLength: 3 }),
      fc.boolean(),
      async (first, second, sizes, ends) => {
        const listings = [pagesOf(first, 0, true), pagesOf(second, 100, ends)]
        const oneByOne = await after(listings.map((pages) => pages.map((page) => [page])))
        expect(await after(listings.map((pages) => grouped(pages, sizes)))).toEqual(oneByOne)
      },
    ),
    cases(1, 200),
  )
})
