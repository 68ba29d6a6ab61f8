/** The client of Azure Blob Storage keeps the contract of the port over Azurite. */
import { beforeAll, describe, expect, test } from 'vitest'
import { Secret } from '../../../src/base/secret.js'
import { requireConditionalWrites } from '../../../src/storage/bucket/preconditions.js'
import { atEndOfFile, type Finished } from '../../support/files/temporary.js'
import { AZURITE, type Azurite, openAzure, startAzurite } from '../../support/storage/azurite.js'
import { NEVER } from '../../support/storage/bucket.js'
import { keysOf, objectStoreContract, textOf } from '../../support/storage/contract.js'
import { SLOW } from '../../support/suite/slow.js'

const finished = atEndOfFile()

describe.skipIf(!SLOW || !AZURITE)('the client over Azurite', () => {
  let azurite: Azurite
  beforeAll(async () => {
    azurite = await startAzurite(finished)
  })
  const open = async (onFinished: Finished) =>
    await openAzure(onFinished, azurite, { bucket: await azurite.createContainer() })

  objectStoreContract({ open, writersAtOnce: 200 })

  test('its conditional writes hold', async ({ onTestFinished }) => {
    const store = await open(onTestFinished)
    await requireConditionalWrites(store, NEVER)
    expect(await keysOf(store, '')).toEqual([])
  })

  test('what was written outlives a SIGKILL of the server', async ({ onTestFinished }) => {
    const own = await startAzurite(onTestFinished)
    const store = await openAzure(onTestFinished, own, { bucket: await own.createContainer() })
    await store.putIfAbsent('a', Buffer.from('x'), NEVER)
    await own.kill()
    await expect(store.get('a', NEVER)).rejects.toThrow('cannot be reached (ECONNREFUSED)')
    await own.start()
    expect(await textOf(store, 'a')).toBe('x')
    expect(await store.putIfAbsent('a', Buffer.from('y'), NEVER)).toEqual({ kind: 'lost' })
  })

  test('a wrong key, a wrong SAS and a missing container are named', async ({ onTestFinished }) => {
    const bucket = await azurite.createContainer()
    const refused = async (account: Partial<Azurite>, of = bucket) =>
      await expect(
        (await openAzure(onTestFinished, { ...azurite, ...account }, { bucket: of })).get('a', NEVER),
      ).rejects
    const key = new Secret(Buffer.from('another key').toString('base64'))
    await (await refused({ key })).toThrow('the credentials were refused (403 AuthenticationFailed)')
    const sas = new Secret('sv=2024-11-04&sr=c&sp=rwdl&se=2099-01-01T00%3A00%3A00Z&sig=d3Jvbmc%3D')
    await (await refused({ key: null, sas })).toThrow(/refused \(403 Auth\w+\); check/)
    await (await refused({}, 'no-such-container')).toThrow('there is no such container; create it')
  })
})
