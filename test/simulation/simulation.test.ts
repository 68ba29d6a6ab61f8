import { expect, test } from 'vitest'
import { ALL_CASES } from '../support/suite/cases.js'
import { createBucketSimulation } from './bucket/simulate.js'

const seedsTo = (last: number) => Array.from({ length: last }, (_, place) => place + 1)

/** `npm test` plays those of the first 29 that catch a mutation of `bucket/mutations.ts` that no earlier one catches. */
const BUCKET_SEEDS = ALL_CASES ? seedsTo(5_000) : [1, 2, 4, 5, 6, 10, 11, 15, 19, 29]

test('breaks no promise of the bucket in any seed', async () => {
  using simulation = createBucketSimulation()
  for (const seed of BUCKET_SEEDS) {
    const { violations } = await simulation.run(seed, false)
    expect(violations, `replay it with  npm run simulate:bucket -- --seed ${seed}`).toEqual([])
  }
})
