/**
 * Finds surveys in the listing, which is the only place that shows their rows. A survey's rank in the warehouse says on which page it
 * lies; surveys that were created or have gone since shift it, and `created_at` on the page says in which direction. Each page is
 * read once.
 */
import type { Survey } from '../../model/fields.js'
import type { Instant } from '../../model/instant.js'
import type { Page } from '../../model/survey-source.js'
import type { StoredSurveyPlace } from './stored.js'

type ReadPage = (page: number) => Promise<Page<Survey>>

/** How far from its expected page a survey is looked for. */
const STEPS_MAX = 4

/** `surveys` are in the order of the listing. */
export const createListing = (
  readPage: ReadPage,
  surveys: readonly StoredSurveyPlace[],
  pageRows: number | null,
) => {
  const pages = new Map<number, Page<Survey>>()
  const pagesAgain = new Map<number, Promise<Page<Survey>>>()
  const ranks = new Map(surveys.map(({ id }, rank) => [id, rank]))
  const pageAt = async (number: number, read: Page<Survey>[]): Promise<Page<Survey>> => {
    const known = pages.get(number)
    if (known !== undefined) return known
    const page = await readPage(number)
    pages.set(number, page)
    read.push(page)
    return page
  }
  return {
    /** Looks for the page that shows the survey, or its neighbours. Returns the pages that were read now, and not before. */
    find: async ({ id, createdAt }: StoredSurveyPlace): Promise<readonly Page<Survey>[]> => {
      const read: Page<Survey>[] = []
      const first = await pageAt(1, read)
      const isAlone = first.pagination.next_page === null
      const rows = isAlone ? (pageRows ?? first.rows.length) : first.rows.length
      const shift = first.pagination.total_count - ranks.size
      let number = Math.floor(((ranks.get(id) ?? 0) + Math.max(0, shift)) / Math.max(1, rows)) + 1
      const seen = new Set<number>()
      for (let step = 0; step < STEPS_MAX; step += 1) {
        number = Math.min(Math.max(1, number), Math.max(1, first.pagination.total_pages))
        if (seen.has(number)) break
        seen.add(number)
        const page = await pageAt(number, read)
        const direction = page.rows.some((row) => row.id === id) ? 0 : directionOf(page, createdAt)
        if (direction === 0) break
        number += direction
      }
      return read
    },
    /** The row on the page that showed it, read anew and once; null if that page no longer shows it. */
    again: async (id: number): Promise<Survey | null> => {
      const [number] = [...pages].find(([, { rows }]) => rows.some((row) => row.id === id)) ?? []
      if (number === undefined) return null
      const page = pagesAgain.get(id) ?? readPage(number)
      pagesAgain.set(id, page)
      return (await page).rows.find((row) => row.id === id) ?? null
    },
  }
}

/** 1: the survey is older than every row of the page, so it comes later. -1: it is newer. 0: it lies between its rows. */
const directionOf = ({ rows }: Page<Survey>, createdAt: Instant): -1 | 0 | 1 => {
  const [newest, oldest] = [rows.at(0)?.created_at, rows.at(-1)?.created_at]
  if (newest === undefined || oldest === undefined) return -1
  // Surveys that were created at the same moment may be on either page.
  if (createdAt <= oldest) return 1
  return createdAt >= newest ? -1 : 0
}
