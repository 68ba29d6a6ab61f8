/**
 * The run events of OpenLineage (https://openlineage.io/spec/2-0-2/OpenLineage.json), which demands two for a run: START, and then COMPLETE,
 * FAIL or ABORT. The API is the input. The published tables and views are the outputs, with their columns.
 */
import { createHash } from 'node:crypto'
import { basename, extname } from 'node:path'
import type { Catalog, OpenLineageTarget, RunEnd } from '../model/monitoring.js'
import { addCounts, NO_ROWS, type PublishReport } from '../model/run.js'
import type { Delivery } from './deliver.js'
import { endText, isSuccess, JSON_TYPE, type RunStart } from './notify.js'

const REPOSITORY = 'https://github.com/fieldwork-sync/fieldwork-sync'
const SPEC = 'https://openlineage.io/spec'

interface Sending {
  readonly target: OpenLineageTarget
  /** The addresses of the API. */
  readonly baseUrls: readonly string[]
  /** Directory of the warehouse or address of its bucket. */
  readonly warehouse: string
  readonly redact: (text: string) => string
}

export const startEvent = (run: RunStart, sending: Sending): Delivery =>
  event('START', run.startedMs, run, sending, {})

/** What is a success for `notify.success` is complete. A run that a signal stopped before it had a report is aborted. */
export const endEvent = (end: RunEnd, sending: Sending): Delivery => {
  const isAborted = end.report === null && end.status === 'partial'
  const type = isSuccess(end) ? 'COMPLETE' : isAborted ? 'ABORT' : 'FAIL'
  const { facet } = facetsOf(end)
  const message = sending.redact(endText(end))
  return event(type, end.endedMs, end, sending, {
    outputs: outputsOf(end, sending.warehouse),
    ...(type !== 'COMPLETE' && {
      errorMessage: facet('1-0-1/ErrorMessageRunFacet', { message, programmingLanguage: 'TypeScript' }),
    }),
  })
}

const event = (
  eventType: string,
  atMs: number,
  run: RunStart,
  { target, baseUrls, warehouse, redact }: Sending,
  { outputs = [], ...facets }: { readonly outputs?: readonly object[]; readonly errorMessage?: object },
): Delivery => {
  const { producer, facet } = facetsOf(run)
  const engine = facet('1-1-1/ProcessingEngineRunFacet', { name: 'fieldwork-sync', version: run.version })
  const body = {
    eventType,
    eventTime: new Date(atMs).toISOString(),
    run: { runId: uuidOf(run.runId), facets: { processing_engine: engine, ...facets } },
    job: { namespace: target.namespace, name: `${run.command} ${warehouse}` },
    inputs: [...new Set(baseUrls)].map((url) => ({
      namespace: new URL(url).origin,
      name: new URL(url).pathname,
    })),
    outputs,
    producer,
    schemaURL: `${SPEC}/2-0-2/OpenLineage.json#/$defs/RunEvent`,
  }
  return { target, method: 'POST', contentType: JSON_TYPE, body: redact(JSON.stringify(body)) }
}

const facetsOf = ({ version }: Pick<RunStart, 'version'>) => {
  const producer = `${REPOSITORY}/tree/v${version}`
  /** `kind` is version and name of the facet's schema. */
  const facet = (kind: string, content: object) => ({
    _producer: producer,
    _schemaURL: `${SPEC}/facets/${kind}.json#/$defs/${basename(kind)}`,
    ...content,
  })
  return { producer, facet }
}

const NAMESPACE_OID = Buffer.from('6ba7b8129dad11d180b400c04fd430c8', 'hex')

/** The UUID of version 5 for the id of a run (RFC 9562, section 5.5). */
const uuidOf = (runId: string): string => {
  const bytes = createHash('sha1').update(NAMESPACE_OID).update(runId).digest().subarray(0, 16)
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x50
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
}

const outputsOf = (end: RunEnd, warehouse: string): readonly object[] => {
  const { facet } = facetsOf(end)
  const { catalog, report } = end
  if (catalog === null || report === null) return []
  const datasets = report.published.flatMap((published) => placesOf(published, catalog, warehouse))
  const byPlace = new Map(datasets.map((dataset) => [`${dataset.namespace} ${dataset.name}`, dataset]))
  return [...byPlace.values()].map(({ namespace, name, relation }) => {
    const fields = relation.columns.map(({ name, type, comment }) => ({ name, type, description: comment }))
    const counts = report.accounts.flatMap((run) => run.rowsByTable[relation.name] ?? [])
    const { added, changed } = counts.reduce(addCounts, NO_ROWS)
    return {
      ...{ namespace, name, facets: { schema: facet('1-2-0/SchemaDatasetFacet', { fields }) } },
      ...(counts.length > 0 && {
        outputFacets: {
          outputStatistics: facet('1-0-2/OutputStatisticsOutputDatasetFacet', { rowCount: added + changed }),
        },
      }),
    }
  })
}

/** The tables and views of a published format, named as other producers of OpenLineage name them. */
const placesOf = ({ format, path }: PublishReport, { relations, inFiles }: Catalog, warehouse: string) => {
  if (format === 'duckdb') {
    const database = basename(path, extname(path))
    return relations.map((relation) => ({
      ...{ namespace: `duckdb://${path}`, name: `${database}.main.${relation.name}`, relation },
    }))
  }
  if (format !== 'parquet' && format !== 'delta') return []
  // In a bucket, Parquet and Delta tables are the same directories.
  const root = warehouse.includes('://') ? `${warehouse}/data` : path
  return inFiles.map((relation) => ({ ...placeOf(`${root}/${relation.name}`), relation }))
}

const placeOf = (path: string) => {
  const [, namespace, name] = /^(\w+:\/\/[^/]+)\/(.*)$/.exec(path) ?? []
  return namespace === undefined || name === undefined
    ? { namespace: 'file', name: path }
    : { namespace, name }
}
