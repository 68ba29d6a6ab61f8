/** What `day-one.test.ts` and its full companion share. */
import type { Arrival } from '../support/api/scripted-api.js'

export const RECONSTRUCT = { reconstruct: true }

export const isOfPast = ({ query }: Pick<Arrival, 'query'>): boolean =>
  query.has('started_before') && !query.has('started_after')
