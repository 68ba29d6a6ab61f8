/** A put whose error leaves open whether the object was written: the caller reads the object back to find out. */
import { ObjectStoreError } from './errors.js'
import type { PutOutcome } from './object-store.js'

/** Returns the store's error. Throws any other error. */
export const attemptPut = async (put: () => Promise<PutOutcome>): Promise<PutOutcome | ObjectStoreError> => {
  try {
    return await put()
  } catch (error) {
    if (error instanceof ObjectStoreError) return error
    throw error
  }
}
