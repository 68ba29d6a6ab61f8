/** The model of tests and simulation keeps the contract of the port. */
import { describe } from 'vitest'
import { objectStoreContract } from '../../support/storage/contract.js'
import { ModelStore } from '../../support/storage/model-store.js'

describe('the model', () => {
  objectStoreContract({ open: async () => new ModelStore().client(), writersAtOnce: 50 })
})
