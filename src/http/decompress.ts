/** undici's decompression, for `Content-Encoding` headers as servers write them. */
import { type Dispatcher, interceptors } from 'undici'

export type HeaderFields = Readonly<Record<string, string | string[] | undefined>>

/** The name under which we keep the server's `Content-Encoding`: undici removes that header from a body that it decompresses. */
export const DECLARED_CODINGS = 'declared-content-encoding'

/** undici throws for more codings. */
const CODINGS_MAX = 5
const READ: ReadonlySet<string> = new Set(['gzip', 'x-gzip', 'br', 'deflate'])

/** Values that change no byte: `identity`, and charsets and transfer encodings that misconfigured servers send. */
const UNCHANGED = /^(?:identity|none|utf-?8|(?:us-)?ascii|iso-8859-1|7bit|8bit|binary)$/i

interface Codings {
  /** The codings that changed bytes, in the order in which they were applied; empty for an uncompressed body. */
  readonly codings: readonly string[]
  /** Why the body cannot be decompressed; null if it can. It may quote the header. */
  readonly problem: string | null
}

/** Reads the codings of an answer that came through `decompress`. */
export const declaredCodings = (headers: HeaderFields): Codings => codingsOf(headers[DECLARED_CODINGS])

const codingsOf = (header: HeaderFields[string]): Codings => {
  const codings = String(header ?? '')
    .split(',')
    .map((coding) => coding.trim())
    .filter((coding) => coding !== '' && !UNCHANGED.test(coding))
  const unknown = codings.find((coding) => !READ.has(coding.toLowerCase()))
  if (unknown !== undefined)
    return { codings, problem: `it has the content encoding "${unknown}", which was not requested` }
  const isTooMany = codings.length > CODINGS_MAX
  return { codings, problem: isTooMany ? `it is compressed more than ${CODINGS_MAX} times` : null }
}

/**
 * Copies the header to another name, and leaves only the codings that undici can read: undici throws for `constructor`. Informational
 * answers end here, because undici's handler accepts one answer only.
 */
const declareCodings: Dispatcher.DispatcherComposeInterceptor = (dispatch) => (options, handler) =>
  dispatch(options, {
    onRequestStart: (...event) => handler.onRequestStart?.(...event),
    onResponseStart: (controller, status, { 'content-encoding': declared, ...headers }, message) => {
      if (status < 200) return
      const { codings, problem } = codingsOf(declared)
      if (declared !== undefined) headers[DECLARED_CODINGS] = declared
      if (codings.length > 0 && problem === null) headers['content-encoding'] = codings.join(', ')
      handler.onResponseStart?.(controller, status, headers, message)
    },
    onResponseData: (...event) => handler.onResponseData?.(...event),
    onResponseEnd: (...event) => handler.onResponseEnd?.(...event),
    onResponseError: (...event) => handler.onResponseError?.(...event),
  })

/** Sends through `dispatcher`, and decompresses the answers, also error bodies, because messages quote them. */
export const decompress = (dispatcher: Dispatcher): Dispatcher =>
  dispatcher.compose(declareCodings, interceptors.decompress({ skipErrorResponses: false }))
