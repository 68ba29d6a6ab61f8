/** What the settings say about the network of an account, and `http` goes by. */
import type { Secret } from './secret.js'

/** A cap on requests: at most `requests` in any `perMs` milliseconds (API document, "Limits"). */
export interface Rate {
  readonly requests: number
  readonly perMs: number
}

/** A cap that several processes share through Redis. */
export interface SharedRate {
  /** `redis://` or `rediss://`; may hold a password. */
  readonly url: Secret
  /** Requests of this process in a window while Redis is away; null: then the run ends. */
  readonly fallback: number | null
}

export interface HttpProxy {
  /** Scheme, host and port; no credentials. */
  readonly address: string
  /** The environment variable that names it, as it is written there. */
  readonly variable: string
  /** Value of the header Proxy-Authorization; null where the address has no user. */
  readonly authorization: Secret | null
  /** Whatever of its address must never be seen. */
  readonly secrets: readonly Secret[]
}
