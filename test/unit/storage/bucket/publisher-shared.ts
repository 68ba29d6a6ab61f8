/** What both test files of publisher use. */
import { onTestFinished } from 'vitest'
import type { PublishFormat } from '../../../../src/model/publish-formats.js'
import type { PublishReport } from '../../../../src/model/run.js'
import { pointerSchema } from '../../../../src/storage/bucket/documents.js'
import { acquireLease } from '../../../../src/storage/bucket/lease.js'
import { fencePointer } from '../../../../src/storage/bucket/pointer.js'
import { createBucketPublisher, createPagePublisher } from '../../../../src/storage/bucket/publisher.js'
import type { BucketPublishing } from '../../../../src/storage/bucket/upload.js'
import { testLog } from '../../../support/log/test-log.js'
import { DEFAULTS } from '../../../support/settings/settings-from-yaml.js'
import { holderNamed, NEVER } from '../../../support/storage/bucket.js'
import { type ModelFault, type ModelRequest, ModelStore } from '../../../support/storage/model-store.js'
import { some } from '../../../support/suite/cases.js'
import { minute } from '../../../support/time/instants.js'
import { testClock } from '../../../support/time/test-clock.js'
import { list, survey } from '../../../support/warehouse/rows.js'
import { copiesOf, type TestWarehouse, testWarehouse } from '../../../support/warehouse/warehouse.js'

type Fault = (request: ModelRequest) => ModelFault | null

export const DAY_MS = 24 * 3_600_000

export const ALL: readonly PublishFormat[] = ['duckdb', 'parquet', 'delta', 'ducklake']

/** As the program names runs. Clean-up leaves what no run has written. */
export const RUN = '20260301T000000Z-0000ab'

/** A run with a warehouse of two surveys, on a store that holds these objects. */
export const trial = async (
  formats: readonly PublishFormat[] = ALL,
  { warehouse, objects }: { warehouse?: TestWarehouse; objects?: ModelStore['objects'] } = {},
) => {
  const opened = warehouse ?? (await testWarehouse())
  if (warehouse === undefined) await list(opened.account, [survey(1), survey(2)], minute(0))
  const clock = testClock()
  const model = new ModelStore({ nowMs: clock.nowMs })
  for (const [key, { body }] of objects ?? []) model.write(key, body)
  const log = testLog()
  const decide: { fault: Fault } = { fault: () => null }
  const store = model.client({ fault: (request) => decide.fault(request) })
  // Its time stands still, so that it stays held.
  const held = { store, holder: holderNamed(RUN), clock: testClock(), log, signal: NEVER }
  const lease = await acquireLease(held)
  const release = () => lease.release({ ledgers: {}, signal: NEVER })
  onTestFinished(release)
  const pointer = await fencePointer({ store, lease, signal: NEVER })
  const publishing: BucketPublishing = {
    ...{ store, lease, pointer, formats, runId: RUN, clock, log },
    ...{ database: opened.database, directory: opened.directory },
    report: DEFAULTS.report,
    views: some(DEFAULTS.publish.views, 0),
  }
  const current = () =>
    pointerSchema.parse(JSON.parse(model.objects.get('current.json')?.body.toString() ?? 'null'))
  return {
    ...{
      warehouse: opened,
      model,
      clock,
      log,
      decide,
      store,
      pointer,
      publishing,
      current,
      release,
    },
    publish: (signal = NEVER, runId = RUN, given = formats) =>
      createBucketPublisher({ ...publishing, runId, formats: given }).publish(signal),
    publishPage: () => createPagePublisher(publishing).publish(NEVER),
  }
}

export const first: { objects: ModelStore['objects']; reports: readonly PublishReport[] } = {
  objects: new Map(),
  reports: [],
}
const publishedCopy = copiesOf(async (warehouse) => {
  await list(warehouse.account, [survey(1), survey(2)], minute(0))
  const { model, publish, release } = await trial(ALL, { warehouse })
  first.reports = await publish()
  await release()
  first.objects = model.objects
})

/** The next run after the first version, which was published once in all formats. */
export const nextTrial = async (formats: readonly PublishFormat[] = ALL) => {
  const warehouse = await testWarehouse(await publishedCopy())
  return trial(formats, { warehouse, objects: first.objects })
}

export const refusing =
  (match: RegExp): Fault =>
  ({ verb, key }) =>
    match.test(`${verb} ${key}`) ? 'refused' : null
