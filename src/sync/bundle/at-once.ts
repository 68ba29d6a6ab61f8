/** Requests of one bundle, some at once; the client bounds those of all bundles. */
import pLimit from 'p-limit'

const REQUESTS_AT_ONCE = 8

/** In the order of `items`. When one fails the rest is given up: those that wait never start. */
export const someAtOnce = <Item, Result>(
  items: readonly Item[],
  work: (item: Item) => Promise<Result>,
): Promise<readonly Result[]> => {
  const atOnce = pLimit(REQUESTS_AT_ONCE)
  return Promise.all(
    items.map((item) =>
      atOnce(async () => {
        try {
          return await work(item)
        } catch (error) {
          atOnce.clearQueue()
          throw error
        }
      }),
    ),
  )
}
