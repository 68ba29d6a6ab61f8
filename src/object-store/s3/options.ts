/** What a store with the protocol of S3 is opened with. */
export interface S3Options {
  readonly bucket: string
  /** Without a slash at either end; empty for the whole bucket. */
  readonly prefix: string
  /** Origin of the server, such as `https://minio.internal:9000`; null for AWS. */
  readonly endpoint: string | null
  /** Null for the region that the SDK finds. */
  readonly region: string | null
  /** Whether the bucket is in the path of the address and not in its host. */
  readonly pathStyle: boolean
  /** How often a request is sent before it has failed. */
  readonly attemptsMax?: number
  /** A connection without any byte for this long has failed. */
  readonly silenceMsMax?: number
}
