/** Sends some requests of one bundle at the same time. The client limits the requests of all bundles together. */
import pLimit from 'p-limit'

const REQUESTS_AT_ONCE = 8

/** The results are in the order of `items`. When one item fails, those that still wait never start. */
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
