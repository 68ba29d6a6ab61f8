/** A whole listing, for callers that need all of it before they go on. */
import type { ListedObject, ObjectStore } from './object-store.js'

/** The objects whose keys begin with `prefix`, in the order of their keys. */
export const listAll = async (
  store: ObjectStore,
  prefix: string,
  signal: AbortSignal,
): Promise<readonly ListedObject[]> => {
  const objects: ListedObject[] = []
  for await (const object of store.list(prefix, signal)) objects.push(object)
  return objects
}
