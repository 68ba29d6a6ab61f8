/** The end of a run whose warehouse is a bucket. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { StoppedError } from '../../../../src/base/errors.js'
import { abortReason } from '../../../../src/base/signals.js'
import type { ObjectStore } from '../../../../src/object-store/object-store.js'
import type { OpenStore } from '../../../../src/object-store/open.js'
import { bucketStorage } from '../../../../src/storage/bucket/bucket-storage.js'
import { temporaryDirectory } from '../../../support/files/temporary.js'
import { testLog } from '../../../support/log/test-log.js'
import { ACCOUNT_ENV, load } from '../../../support/settings/settings-from-yaml.js'
import { ModelStore } from '../../../support/storage/model-store.js'

/** A store that does not answer while `isSilent`. Like the real client, it rejects when the signal aborts. */
const silentWhile = (isSilent: () => boolean, store: ObjectStore, onRequest: () => void): ObjectStore => ({
  ...store,
  get: (key, signal) => {
    if (!isSilent()) return store.get(key, signal)
    onRequest()
    return new Promise((_, reject) => {
      signal.addEventListener('abort', () => reject(abortReason(signal)), { once: true })
    })
  },
})

test('a signal ends a release that waits for a silent store, long before its minute has passed', async () => {
  const warehouse = await temporaryDirectory()
  await writeFile(join(warehouse, 'sent-requests-a.ndjson'), '')
  const bucket = { FIELDWORK_SYNC_STORAGE_URL: 's3://model/test', FIELDWORK_SYNC_WAREHOUSE: warehouse }
  const settings = await load({ env: { ...ACCOUNT_ENV, ...bucket } })
  if (settings.storage === null) throw new Error('the settings name no bucket')
  const stop = new AbortController()
  const log = testLog()
  const model = new ModelStore()
  const stopSoon = () => void setImmediate(() => stop.abort(new StoppedError('stopped by SIGTERM')))
  let isReleasing = false
  const openStore: OpenStore = () => Promise.resolve(silentWhile(() => isReleasing, model.client(), stopSoon))
  const held = { settings, command: 'check', runId: 'run-1', log, signal: stop.signal, openStore } as const
  const opened = await bucketStorage(held, settings.storage)
  await opened.tryOut()
  isReleasing = true
  await opened[Symbol.asyncDispose]()
  expect(stop.signal.aborted).toBe(true)
  expect(log.lines.map(({ message }) => message)).toContain(
    'the request ledgers could not be uploaded: the first requests of the next run may wait for a window',
  )
})
