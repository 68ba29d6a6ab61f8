/**
 * DuckDB's client, a CommonJS package of 187 files. With `import`, Node searches all of them for exported names, which takes a fifth of the
 * CPU time of `status`. With `require`, it does not.
 */
import { createRequire } from 'node:module'

const client: typeof import('@duckdb/node-api') = createRequire(import.meta.url)('@duckdb/node-api')

export const {
  BIGINT,
  BOOLEAN,
  DATE,
  DOUBLE,
  DuckDBDataChunk,
  DuckDBDateValue,
  DuckDBInstance,
  DuckDBTimestampTZValue,
  TIMESTAMPTZ,
  VARCHAR,
} = client
