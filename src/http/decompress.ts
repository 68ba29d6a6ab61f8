/** undici's decompression, for `Content-Encoding` headers as servers write them. */
import { type Dispatcher, interceptors } from 'undici'

export type HeaderFields = Readonly<Record<string, string | string[] | undefined>>

/** The name that `Content-Encoding` has in an answer as it came: undici removes the header of a body that it decompresses. */
export const DECLARED_CODINGS = 'declared-content-encoding'

/** More of them would only cost time, and undici throws. */
const CODINGS_MAX = 5
const READ: ReadonlySet<string> = new Set(['gzip', 'x-gzip', 'br', 'deflate'])

/** No codings, except for the first: charsets and transfer encodings that misconfigured servers send. They change no byte. */
const UNCHANGED = /^(?:identity|none|utf-?8|(?:us-)?ascii|iso-8859-1|7bit|8bit|binary)$/i

interface Codings {
  /** What changed bytes, in the order in which it was applied; empty for a body as it is. */
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
 * Keeps the header under another name, and leaves in it what undici can read: it throws for `constructor`. Informational answers end here,
 * because undici's handler accepts one answer only.
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

/** Sends through `dispatcher`, and decompresses what comes back, errors too, because messages quote them. */
export const decompress = (dispatcher: Dispatcher): Dispatcher =>
  dispatcher.compose(declareCodings, interceptors.decompress({ skipErrorResponses: false }))
