/**
 * The content of the bucket: its keys, relative to the prefix, and its JSON documents. Also the note in the local directory. Everything
 * below `versions`, `data`, `duckdb` and `snapshots` is written once. The keys contain the run's id, so two writers never use the same key.
 */
import { z } from 'zod'
import { ADDRESSES } from '../../model/publish-formats.js'
import { manifestSchema as parquetManifestSchema, pathBelow } from '../../publish/parquet/manifest.js'

/** At the root of the bucket's prefix, also with shards. */
export const LAYOUT_KEY = 'layout.json'
export const POINTER_KEY = 'current.json'
export const LEASE_KEY = 'lease.json'
export const PROOF_KEY = 'conditional-writes.json'
/** The prefix of ledgers, followed by the name of the local file. */
export const LEDGERS = 'ledger/'
export const VERSIONS = 'versions/'
export const DATA = 'data/'
const DATABASES = 'duckdb/'
const SNAPSHOTS = 'snapshots/'
/** The prefixes that clean-up sweeps. The last one has the addresses of formats that are no longer published. */
export const SWEPT_PREFIXES: readonly string[] = [VERSIONS, DATA, DATABASES, SNAPSHOTS, 'fieldwork.']
/** Keys and prefixes below which a run leaves a trace before its first request to the API. */
export const TRACES: readonly string[] = [POINTER_KEY, PROOF_KEY, LEDGERS, VERSIONS]

/** Enough digits that the keys of versions sort by number. */
const VERSION_DIGITS = 6
/** Enough for a version a minute for 1,900 years. */
const VERSION_MAX = 999_999_999
const SHA_LENGTH = 16

const padded = (version: number): string => String(version).padStart(VERSION_DIGITS, '0')

export const manifestKey = (version: number, run: string): string =>
  `${VERSIONS}${padded(version)}-${run}.json`

export const databaseKey = (version: number, run: string): string =>
  `${DATABASES}${padded(version)}-${run}.duckdb`

/** `version` is the version that the run will publish; `number` counts the run's snapshots from 1. */
export const snapshotKey = (version: number, run: string, number: number): string =>
  `${SNAPSHOTS}${padded(version)}-${run}-${number}.duckdb`

/** The id of a run, as `newRunId` makes it. */
const RUN = String.raw`\d{8}T\d{6}Z-[0-9a-f]{6}`
const VERSION = String.raw`\d{${VERSION_DIGITS},}`
const LEDGER = new RegExp(`^${LEDGERS}[^/]+\\.ndjson$`)
const MANIFEST = new RegExp(`^${VERSIONS}${VERSION}-${RUN}\\.json$`)
const WRITTEN_ONCE: readonly RegExp[] = [
  MANIFEST,
  new RegExp(`^${DATABASES}${VERSION}-${RUN}\\.duckdb$`),
  new RegExp(`^${SNAPSHOTS}${VERSION}-${RUN}-\\d+\\.duckdb$`),
  new RegExp(`^${DATA}.+/v\\d+-${RUN}-[0-9a-f]{${SHA_LENGTH}}\\.parquet$`),
]

export const isManifest = (key: string): boolean => MANIFEST.test(key)

export const versionOf = (manifest: string): number => Number.parseInt(manifest.slice(VERSIONS.length), 10)

/** Whether readers find the newest version at this key. Each run replaces the object. */
export const isAddress = (key: string): boolean => Object.values<string>(ADDRESSES).includes(key)

/** Whether a run wrote the object, and no other run writes it again. The placeholder of a folder, or notes of a person, are not ours. */
export const isWrittenOnce = (key: string): boolean => WRITTEN_ONCE.some((form) => form.test(key))

/** Whether a run, or a check, wrote the object, which is listed below one of `TRACES`. */
export const isTrace = (key: string): boolean =>
  key === POINTER_KEY || key === PROOF_KEY || isManifest(key) || LEDGER.test(key)

const format = z.literal(1)
/** Each version of a document that is replaced has its own `token`, by which we see after a lost answer whether we wrote it. */
const token = z.string()

const namedObjectSchema = z.object({ key: pathBelow, bytes: z.number(), sha256: z.string() })
/** An object, with the size and checksum that verify a copy. */
export type NamedObject = z.output<typeof namedObjectSchema>

/** `layout.json`: the division into shards. Null: the bucket is not divided. Never changed. */
export const layoutSchema = z.object({ format, shards: z.number().nullable() })

/**
 * `conditional-writes.json`: the proof that the store checks the conditions of writes. `store` names the tested server and address, so that
 * a copy of the bucket in another store proves nothing.
 */
export const proofSchema = z.object({ format, store: z.string() })

const holderSchema = z.object({
  /** New for each start of the program. */
  id: z.string(),
  host: z.string(),
  pid: z.number(),
  command: z.string(),
  since: z.string(),
})
export type LeaseHolder = z.output<typeof holderSchema>

/** `lease.json`. A free lease names its last holder. */
export const leaseSchema = z.object({
  format,
  token,
  state: z.enum(['held', 'free']),
  holder: holderSchema,
  /** Whether the holder uploaded its request ledgers before it released the lease. */
  ledgers_uploaded: z.boolean(),
  /** The uploaded ledgers by name, each with the `token` of its document. Null if unknown, as in a lease of an older version. */
  ledgers: z.record(z.string(), z.string()).nullable().catch(null),
})
export type LeaseDocument = z.output<typeof leaseSchema>

/** `current.json`: the pointer to the published version. Version 0 without a manifest: nothing is published yet. */
const pointerShape = z.object({
  format,
  token,
  version: z.int().min(0).max(VERSION_MAX),
  manifest: pathBelow.nullable(),
  /** Key of the version's database, for readers. */
  database: pathBelow.nullable(),
  /** Manifests of earlier published versions, newest first. */
  earlier: z.array(pathBelow),
  /** The versions that a catalog shows, the current one included, newest first: the last of each day, and the newest three. */
  shown: z.array(z.object({ manifest: pathBelow, published_at: z.string() })).default([]),
  run: z.string().nullable(),
  published_at: z.string().nullable(),
  /** A newer state of the work database than the version's. */
  snapshot: namedObjectSchema.nullable(),
})
/** The version must be the manifest's version, because later versions are counted from it. */
export const pointerSchema = pointerShape.refine(
  ({ version, manifest }) => version === (manifest === null ? 0 : versionOf(manifest)),
)
export type PointerDocument = z.output<typeof pointerSchema>
export type PointerContents = Omit<PointerDocument, 'format' | 'token'>

export const NOTHING_PUBLISHED: PointerContents = Object.freeze({
  version: 0,
  manifest: null,
  database: null,
  earlier: [],
  shown: [],
  run: null,
  published_at: null,
  snapshot: null,
})

/** Identifies the state that a work database is derived from. */
export const stateOf = ({ snapshot, manifest }: PointerContents): string =>
  snapshot?.key ?? manifest ?? STATE_NOTHING
export const STATE_NOTHING = 'nothing'

/** `versions/…`: the content of a version. The `path` of a file is its key. */
export const manifestSchema = parquetManifestSchema.extend({ database: namedObjectSchema })
export type BucketManifest = z.output<typeof manifestSchema>

/** `ledger/…`: a request ledger. `written_at_ms` is the wall clock of the writer, milliseconds since 1970. */
export const ledgerSchema = z.object({ format, token, written_at_ms: z.number(), text: z.string() })

/** `bucket.json` in the local directory: the state from which the local work database is derived. */
export const noteSchema = z.object({
  format,
  /** Address of the bucket and prefix. */
  storage: z.string(),
  /** As `stateOf`; another text while the work database is being replaced. */
  state: z.string(),
  /** `id` of the lease's holder that used the directory last. */
  holder: z.string(),
})
export type BucketNote = z.output<typeof noteSchema>
