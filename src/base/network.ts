/** The network settings of an account and of a store, which `settings` reads and `http` and `object-store` apply. */
import type { Secret } from './secret.js'

/** A cap on requests: at most `requests` in any `perMs` milliseconds (API document, "Limits"). */
export interface Rate {
  readonly requests: number
  readonly perMs: number
}

/** Requests of an account so far, and how they are paced now. */
export interface RateUsage {
  /** Requests sent, retries included. */
  readonly requests: number
  readonly retries: number
  /** 429 answers. */
  readonly rateLimited: number
  /** Slots of the rate window in use: requests that the server may still be counting. */
  readonly slotsInUse: number
  readonly rate: Rate
  /** The end of the pause of all requests after a 429, wall-clock milliseconds; null without a pause. */
  readonly pausedUntilMs: number | null
  /** When the next slot of the window is free, wall-clock milliseconds; null if no request waits for one. */
  readonly slotFreeAtMs: number | null
  /**
   * When the first failed request is sent again, wall-clock milliseconds; null if no request waits for a retry, or other requests are under
   * way.
   */
  readonly retryAtMs: number | null
  /** An outage: since when the API answers nothing, and until when the run waits for it, wall-clock milliseconds; null without one. */
  readonly unanswered: { readonly sinceMs: number; readonly untilMs: number } | null
  /** Distance between requests, milliseconds, after the API refused bursts; null while they go in bursts. */
  readonly paceIntervalMs: number | null
}

/** A cap that several processes share through Redis. */
export interface SharedRate {
  /** `redis://` or `rediss://`; may hold a password. */
  readonly url: Secret
  /** Requests per window that this process may send while Redis is away; null: the run ends instead. */
  readonly fallback: number | null
}

export interface HttpProxy {
  /** Scheme, host and port; no credentials. */
  readonly address: string
  /** The environment variable that names the proxy, in its own upper or lower case. */
  readonly variable: string
  /** Value of the header Proxy-Authorization; null if the address has no user. */
  readonly authorization: Secret | null
  /** The parts of the proxy's address that must never be visible. */
  readonly secrets: readonly Secret[]
}

/** A bucket, or in Azure a container, and how its server is reached. */
export interface StoreAddress {
  readonly bucket: string
  /** The beginning of every key, without a slash at either end; empty for the whole bucket. */
  readonly prefix: string
  /** Origin of the server, such as `https://minio.internal:9000`; null for AWS. */
  readonly endpoint: string | null
  /** Null for the region that the SDK finds. */
  readonly region: string | null
  /** Whether the bucket is in the path of the address and not in its host. */
  readonly pathStyle: boolean
  /** The storage account of an address `az://`; null for S3. `endpoint` is then the address of its blobs. */
  readonly azure: AzureAccount | null
}

/** How a storage account of Azure is reached. With neither key nor SAS, the SDK finds an identity, such as a workload identity. */
export interface AzureAccount {
  readonly account: string
  /** Address of its blobs, such as `https://acme.blob.core.windows.net`, without a slash at its end. */
  readonly blobs: string
  readonly key: Secret | null
  /** A shared access signature. */
  readonly sas: Secret | null
}

/** Whether HTTP can carry `text` as the value of a header (RFC 9110, section 5.5): visible ASCII, blanks and tabs. */
export const canBeHeader = (text: string): boolean => /^[\t\x20-\x7e]*$/.test(text)
