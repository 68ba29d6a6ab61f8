/**
 * The JSON documents in the bucket, and the note in the local directory. A document that is written under a condition carries a
 * `token` of its own: so after a lost answer we see whether we wrote it.
 */
import { randomUUID } from 'node:crypto'
import { z } from 'zod'
import { manifestSchema as parquetManifestSchema } from '../parquet/manifest.js'

const format = z.literal(1)

const namedObjectSchema = z.object({ key: z.string(), bytes: z.number(), sha256: z.string() })
/** An object with what is needed to verify a copy of it. */
export type NamedObject = z.output<typeof namedObjectSchema>

/** `layout.json`: the division into shards. Null: the bucket is not divided. Never changed. */
export const layoutSchema = z.object({ format, shards: z.number().nullable() })

/**
 * `conditional-writes.json`: the store was proven to keep the conditions of writes. `store` names the server and the address that were
 * tried: in another store, a copy of the bucket proves nothing.
 */
export const proofSchema = z.object({ format, store: z.string() })

export const holderSchema = z.object({
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
  token: z.string(),
  state: z.enum(['held', 'free']),
  holder: holderSchema,
  /** Whether the holder uploaded its request ledgers before it released the lease. */
  ledgers_uploaded: z.boolean(),
  /** The uploaded ledgers by name, each with the `token` of its document. Null if nobody knows, as in a lease of an older version. */
  ledgers: z.record(z.string(), z.string()).nullable().catch(null),
})
export type LeaseDocument = z.output<typeof leaseSchema>

/** `current.json`: the pointer to the published version. Version 0 without a manifest: nothing is published yet. */
export const pointerSchema = z.object({
  format,
  token: z.string(),
  version: z.number(),
  manifest: z.string().nullable(),
  /** Key of the version's database, for readers. */
  database: z.string().nullable(),
  /** Manifests of the versions that were published before, newest first. */
  earlier: z.array(z.string()),
  run: z.string().nullable(),
  published_at: z.string().nullable(),
  /** A newer state of the work database than the version's. */
  snapshot: namedObjectSchema.nullable(),
})
export type PointerDocument = z.output<typeof pointerSchema>
export type PointerContents = Omit<PointerDocument, 'format' | 'token'>

export const NOTHING_PUBLISHED: PointerContents = Object.freeze({
  version: 0,
  manifest: null,
  database: null,
  earlier: [],
  run: null,
  published_at: null,
  snapshot: null,
})

/** Identifies the state that a work database is derived from. */
export const stateOf = ({ snapshot, manifest }: PointerContents): string =>
  snapshot?.key ?? manifest ?? STATE_NOTHING
export const STATE_NOTHING = 'nothing'

/** `versions/…`: what is in a version. The `path` of a file is its key. */
export const manifestSchema = parquetManifestSchema.extend({ database: namedObjectSchema })
export type BucketManifest = z.output<typeof manifestSchema>

/** `ledger/…`: a request ledger. */
export const ledgerSchema = z.object({
  format,
  token: z.string(),
  /** Wall clock of the writer, milliseconds since 1970. */
  written_at_ms: z.number(),
  text: z.string(),
})

/** `bucket.json` in the local directory: what the local work database is derived from. */
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

export const newToken = (): string => randomUUID()

export const documentBody = (document: object): Buffer =>
  Buffer.from(`${JSON.stringify(document, null, 1)}\n`)

/** Null if `body` is not such a document. */
export const parseDocument = <Document>(schema: z.ZodType<Document>, body: Uint8Array): Document | null => {
  try {
    return schema.safeParse(JSON.parse(Buffer.from(body).toString('utf8'))).data ?? null
  } catch {
    return null
  }
}
