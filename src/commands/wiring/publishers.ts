/** What the settings say is published. */
import type { Clock } from '../../base/clock.js'
import type { Log } from '../../base/log.js'
import type { Publisher } from '../../model/warehouse.js'
import { createDuckdbPublisher } from '../../publish/duckdb.js'
import { createParquetPublisher } from '../../publish/parquet/publisher.js'
import type { Settings } from '../../settings/settings.js'
import type { Database } from '../../warehouse/connection/database.js'

export interface Publishing {
  readonly settings: Pick<Settings, 'publish' | 'warehouseDirectory'>
  readonly database: Database
  readonly clock: Clock
  readonly log: Log
}

export const publishersOf = ({ settings, database, clock, log }: Publishing): readonly Publisher[] =>
  settings.publish.map((format) =>
    format === 'duckdb'
      ? createDuckdbPublisher(database, settings.warehouseDirectory, log)
      : createParquetPublisher({ database, directory: settings.warehouseDirectory, clock, log }),
  )
