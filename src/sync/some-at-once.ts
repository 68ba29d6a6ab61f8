/** The requests of one bundle at the same time. */
import pLimit from 'p-limit'
import { isStop } from '../base/errors.js'

/** The most requests of one bundle at the same time. The client limits the requests of all bundles together. */
const REQUESTS_AT_ONCE = 8

/**
 * The results are in the order of `items`. When one item fails, items that still wait never start. A budget does not end work under way,
 * whose answers are kept.
 */
export const someAtOnce = async <Item, Result>(
  items: readonly Item[],
  work: (item: Item) => Promise<Result>,
): Promise<readonly Result[]> => {
  const atOnce = pLimit(REQUESTS_AT_ONCE)
  const underWay = new Set<Promise<Result>>()
  const workOrClear = (item: Item) => {
    const one = work(item).catch((error: unknown) => {
      atOnce.clearQueue()
      throw error
    })
    underWay.add(one)
    return one.finally(() => underWay.delete(one))
  }
  try {
    return await Promise.all(items.map((item) => atOnce(workOrClear, item)))
  } catch (error) {
    if (isStop(error)) await Promise.allSettled(underWay)
    throw error
  }
}
