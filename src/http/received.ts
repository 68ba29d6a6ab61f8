/**
 * Receives one answer from undici, by the events of its dispatcher. Its `request` would make a Node stream of each body, which nobody
 * needs for an answer that is read as a whole.
 */
import type { Dispatcher } from 'undici'
import { abortReason } from '../base/clock.js'

export interface Received {
  readonly status: number
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly body: AsyncIterable<Uint8Array>
}

/** Resolves when the response headers arrive. An abort ends the request, or the body; both reject with the signal's reason then. */
export const receive = (
  dispatcher: Dispatcher,
  request: Dispatcher.DispatchOptions,
  signal: AbortSignal,
): Promise<Received> =>
  new Promise((resolve, reject) => {
    if (signal.aborted) return reject(abortReason(signal))
    const answer = new Answer(resolve, reject)
    signal.addEventListener('abort', () => answer.abort(abortReason(signal)), { once: true })
    dispatcher.dispatch(request, answer)
  })

interface Waiting {
  readonly resolve: (result: IteratorResult<Uint8Array>) => void
  readonly reject: (error: Error) => void
}

const END = { done: true, value: undefined } as const

class Answer implements Dispatcher.DispatchHandler, AsyncIterableIterator<Uint8Array> {
  readonly #resolve: (received: Received) => void
  readonly #reject: (error: Error) => void
  #controller: Dispatcher.DispatchController | null = null
  readonly #chunks: Uint8Array[] = []
  #hasEnded = false
  #error: Error | null = null
  /** The reader, if it has read all chunks. */
  #reader: Waiting | null = null

  constructor(resolve: (received: Received) => void, reject: (error: Error) => void) {
    this.#resolve = resolve
    this.#reject = reject
  }

  /** While undici connects, it cannot end a request. The promise rejects at once nevertheless. */
  abort(reason: Error): void {
    if (this.#hasEnded) return
    this.#fail(reason)
    this.#controller?.abort(reason)
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller
    if (this.#error !== null) controller.abort(this.#error)
  }

  onResponseStart(_: unknown, status: number, headers: Received['headers']): void {
    // Informational answers come before the answer itself.
    if (status >= 200) this.#resolve({ status, headers, body: this })
  }

  onResponseData(_: unknown, chunk: Uint8Array): void {
    if (this.#reader === null) this.#chunks.push(chunk)
    else this.#answerReader((reader) => reader.resolve({ done: false, value: chunk }))
  }

  onResponseEnd(): void {
    // After this event undici schedules its own immediate, which frees the connection. A request before that would open another one.
    queueMicrotask(() => setImmediate(() => this.#end()))
  }

  onResponseError(_: unknown, error: Error): void {
    this.#fail(error)
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  next(): Promise<IteratorResult<Uint8Array>> {
    const chunk = this.#chunks.shift()
    if (chunk !== undefined) return Promise.resolve({ done: false, value: chunk })
    if (this.#error !== null) return Promise.reject(this.#error)
    if (this.#hasEnded) return Promise.resolve(END)
    return new Promise((resolve, reject) => {
      this.#reader = { resolve, reject }
    })
  }

  /** The rest is not needed: breaks the connection, unless the body has been read to its end. */
  return(): Promise<IteratorResult<Uint8Array>> {
    this.abort(NOT_NEEDED)
    return Promise.resolve(END)
  }

  #end(): void {
    this.#hasEnded = true
    this.#answerReader((reader) => reader.resolve(END))
  }

  #fail(error: Error): void {
    this.#error ??= error
    this.#reject(this.#error)
    this.#answerReader((reader) => reader.reject(error))
  }

  #answerReader(answer: (reader: Waiting) => void): void {
    const reader = this.#reader
    this.#reader = null
    if (reader !== null) answer(reader)
  }
}

const NOT_NEEDED = new Error('the rest of the body is not needed')
