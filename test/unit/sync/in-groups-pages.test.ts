/** The pages of a listing are committed in groups while the next pages are read, and none behind a failed commit. */
import { expect, test } from 'vitest'
import type { AccountWarehouse, ListingPage } from '../../../src/model/warehouse.js'
import { PageCommits } from '../../../src/sync/in-groups.js'
import { createRunState } from '../../../src/sync/run-state.js'
import { memorySource } from '../../support/api/memory-source.js'
import { minute } from '../../support/time/instants.js'
import { begin, listingPage, survey } from '../../support/warehouse/rows.js'
import { runDependencies } from '../../support/warehouse/run-dependencies.js'
import { testWarehouse } from '../../support/warehouse/warehouse.js'

const page = (number: number): ListingPage =>
  listingPage([survey(number)], minute(0), { page: number, nextPage: number + 1 })
const pagination = (number: number) => ({
  current_page: number,
  next_page: number + 1,
  prev_page: null,
  total_pages: 9,
  total_count: 9,
})

/** A warehouse whose commits of pages are recorded, and fail from the group with page `failsAt` on. */
const recorded = async (failsAt = Number.POSITIVE_INFINITY) => {
  const warehouse = await testWarehouse()
  const groups: number[][] = []
  const account: AccountWarehouse = {
    ...warehouse.account,
    commitListingPages: async (pages) => {
      groups.push(pages.map((one) => one.page))
      if (pages.some((one) => one.page === failsAt)) throw new Error('disk full')
      return await warehouse.account.commitListingPages(pages)
    },
  }
  const reported: number[] = []
  const dependencies = runDependencies({ ...warehouse, account }, memorySource())
  const observer = {
    ...dependencies.observer,
    listed: ({ page: number }: { page: number }) => reported.push(number),
  }
  const state = createRunState()
  await begin(account, minute(0))
  return {
    commits: new PageCommits({ ...dependencies, observer, state }),
    warehouse,
    groups,
    reported,
    state,
  }
}

test('pages that arrive during a commit are committed together, in order, and at most eight or as many as were committed', async () => {
  const { commits, groups, reported, state, warehouse } = await recorded()
  const numbers = Array.from({ length: 60 }, (_, at) => at + 1)
  for (const number of numbers) await commits.add(page(number), pagination(number))
  await commits.allEnd()
  expect(groups.flat()).toEqual(numbers)
  let committed = 0
  for (const group of groups) {
    expect(group.length).toBeLessThanOrEqual(Math.max(8, committed))
    committed += group.length
  }
  expect(groups.length).toBeLessThan(30)
  expect(reported).toEqual(numbers)
  expect(state.counts.surveysListed).toBe(60)
  expect(state.rows.surveys).toEqual({ added: 60, changed: 0, unchanged: 0 })
  await warehouse.expectRows('SELECT next_page FROM _sync.listings', [[61]])
})

test('after a failed commit no later page is committed, so the next run begins at the gap', async () => {
  const { commits, groups, warehouse, state } = await recorded(3)
  const adding = async () => {
    for (let number = 1; number <= 9; number += 1) await commits.add(page(number), pagination(number))
  }
  await expect(adding()).rejects.toThrow('disk full')
  await expect(commits.allEnd()).rejects.toThrow('disk full')
  await expect(commits.hasTasks()).rejects.toThrow('disk full')
  expect(groups.at(-1)).toContain(3)
  expect(state.counts.surveysListed).toBe(2)
  await warehouse.expectRows('SELECT next_page FROM _sync.listings', [[3]])
})

test('whether surveys are queued is answered after the pages that wait', async () => {
  const { commits } = await recorded()
  expect(await commits.hasTasks()).toBe(false)
  const added = commits.add(page(1), pagination(1))
  expect(await commits.hasTasks()).toBe(true)
  await added
})
