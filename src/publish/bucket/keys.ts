/**
 * The keys in the bucket, relative to its prefix. Everything below `versions`, `data`, `duckdb` and `snapshots` is written once; its
 * keys hold the run's id, so two writers never use the same key.
 */

/** At the root of the bucket's prefix, also with shards. */
export const LAYOUT_KEY = 'layout.json'
export const POINTER_KEY = 'current.json'
export const LEASE_KEY = 'lease.json'
export const PROOF_KEY = 'conditional-writes.json'

export const VERSIONS = 'versions/'
export const DATA = 'data/'
const DATABASES = 'duckdb/'
const SNAPSHOTS = 'snapshots/'
/** What clean-up sweeps. */
export const SWEPT_PREFIXES: readonly string[] = [VERSIONS, DATA, DATABASES, SNAPSHOTS]

/** Enough digits that the keys of versions sort by number. */
const VERSION_DIGITS = 6
const SHA_LENGTH = 16

const padded = (version: number): string => String(version).padStart(VERSION_DIGITS, '0')

export const manifestKey = (version: number, run: string): string =>
  `${VERSIONS}${padded(version)}-${run}.json`

export const databaseKey = (version: number, run: string): string =>
  `${DATABASES}${padded(version)}-${run}.duckdb`

/** `version` is the version that the run will publish; `number` counts the run's snapshots from 1. */
export const snapshotKey = (version: number, run: string, number: number): string =>
  `${SNAPSHOTS}${padded(version)}-${run}-${number}.duckdb`

/** `directory` is the table's directory with its partition, such as `surveys/account=a/created_month=2026-01`. */
export const dataKey = (directory: string, version: number, run: string, sha256: string): string =>
  `${DATA}${directory}/v${version}-${run}-${sha256.slice(0, SHA_LENGTH)}.parquet`

export const LEDGERS = 'ledger/'
/** `name` is the name of the local file. */
export const ledgerKey = (name: string): string => `${LEDGERS}${name}`

/** Where a run leaves a trace before its first request to the API. */
export const TRACES: readonly string[] = [POINTER_KEY, PROOF_KEY, LEDGERS, VERSIONS]

/** Whether a run, or a check, wrote the object, which is listed below one of `TRACES`. */
export const isTrace = (key: string): boolean =>
  key === POINTER_KEY || key === PROOF_KEY || isManifest(key) || LEDGER.test(key)

const LEDGER = new RegExp(`^${LEDGERS}[^/]+\\.ndjson$`)

/** The id of a run, as `newRunId` makes it. */
const RUN = String.raw`\d{8}T\d{6}Z-[0-9a-f]{6}`
const VERSION = String.raw`\d{${VERSION_DIGITS},}`
const MANIFEST = new RegExp(`^${VERSIONS}${VERSION}-${RUN}\\.json$`)
const WRITTEN_ONCE: readonly RegExp[] = [
  MANIFEST,
  new RegExp(`^${DATABASES}${VERSION}-${RUN}\\.duckdb$`),
  new RegExp(`^${SNAPSHOTS}${VERSION}-${RUN}-\\d+\\.duckdb$`),
  new RegExp(`^${DATA}.+/v\\d+-${RUN}-[0-9a-f]{${SHA_LENGTH}}\\.parquet$`),
]

export const isManifest = (key: string): boolean => MANIFEST.test(key)

/** Whether a run wrote the object, and no other run writes it again. The placeholder of a folder, or a person's notes, are not ours. */
export const isWrittenOnce = (key: string): boolean => WRITTEN_ONCE.some((form) => form.test(key))
