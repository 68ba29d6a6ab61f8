/** An object store in memory, with the faults of real ones. `fault` decides per request, so a test or a simulation chooses where. */
import { readFile, writeFile } from 'node:fs/promises'
import { throwIfAborted } from '../../../src/base/signals.js'
import {
  type FileBody,
  type ListedObject,
  type ObjectBody,
  type ObjectStore,
  ObjectStoreError,
  type PutOutcome,
} from '../../../src/object-store/object-store.js'
import { partsOf, sendParts } from '../../../src/object-store/parts.js'

export interface ModelRequest {
  readonly verb: 'get' | 'getToFile' | 'putIfAbsent' | 'putIfMatch' | 'list' | 'delete'
  readonly key: string
}

/**
 * `refused` and `unreachable`: nothing happens. `lost_answer`: it happens, and the caller gets an error. `repeated`: it happens, the
 * answer is lost, and the client repeats the request by itself, as SDKs do.
 */
export type ModelFault = 'refused' | 'unreachable' | 'lost_answer' | 'repeated'

interface ModelObject {
  readonly body: Buffer
  readonly etag: string
  readonly writtenMs: number
}

interface ModelStoreOptions {
  readonly nowMs?: () => number
  /** Called before each request; may wait. */
  readonly fault?: (request: ModelRequest) => Promise<ModelFault | null> | ModelFault | null
}

export class ModelStore {
  /** Verbs whose condition this store does not know. */
  readonly ignored = new Set<'putIfAbsent' | 'putIfMatch'>()
  readonly objects = new Map<string, ModelObject>()
  readonly requests: ModelRequest[] = []
  readonly #nowMs: () => number
  #writes = 0

  constructor({ nowMs = Date.now }: { readonly nowMs?: () => number } = {}) {
    this.#nowMs = nowMs
  }

  /** One client. Several clients of one store are several processes. */
  client({ fault = () => null }: Pick<ModelStoreOptions, 'fault'> = {}): ObjectStore {
    const request = async <Result>(
      asked: ModelRequest,
      signal: AbortSignal,
      act: () => Result | Promise<Result>,
    ): Promise<Result> => {
      throwIfAborted(signal)
      const happens = await fault(asked)
      throwIfAborted(signal)
      this.requests.push(asked)
      if (happens === 'refused') throw new ObjectStoreError(`${asked.verb} ${asked.key}: refused (403)`)
      if (happens === 'unreachable') throw new ObjectStoreError(`${asked.verb} ${asked.key}: no answer`)
      const result = await act()
      if (happens === 'lost_answer')
        throw new ObjectStoreError(`${asked.verb} ${asked.key}: the answer was lost`)
      return happens === 'repeated' ? await act() : result
    }
    const write = async (
      verb: 'putIfAbsent' | 'putIfMatch',
      key: string,
      body: ObjectBody,
      holds: (found: ModelObject | undefined) => boolean,
    ): Promise<PutOutcome> => {
      // Read first: the check and the write are one step.
      const bytes = await this.#bytesOf(body)
      if (!(this.ignored.has(verb) || holds(this.objects.get(key)))) return { kind: 'lost' }
      return { kind: 'written', etag: this.write(key, bytes) }
    }
    return {
      address: 's3://model/test',
      get: (key, signal) =>
        request({ verb: 'get', key }, signal, () => {
          const found = this.objects.get(key)
          return found === undefined
            ? null
            : { body: found.body, etag: found.etag, ageMs: this.#ageMs(found) }
        }),
      getToFile: (key, path, signal) =>
        request({ verb: 'getToFile', key }, signal, async () => {
          const found = this.objects.get(key)
          if (found !== undefined) await writeFile(path, found.body, { flag: 'wx' })
          return found !== undefined
        }),
      putIfAbsent: (key, body, signal) =>
        request({ verb: 'putIfAbsent', key }, signal, () =>
          write('putIfAbsent', key, body, (found) => found === undefined),
        ),
      putIfMatch: (key, body, etag, signal) =>
        request({ verb: 'putIfMatch', key }, signal, () =>
          write('putIfMatch', key, body, (found) => found?.etag === etag),
        ),
      list: (prefix, signal) =>
        this.#list(prefix, () => request({ verb: 'list', key: prefix }, signal, () => undefined)),
      delete: (keys, signal) =>
        request({ verb: 'delete', key: keys.join(' ') }, signal, () => {
          for (const key of keys) this.objects.delete(key)
        }),
      [Symbol.asyncDispose]: async () => undefined,
    }
  }

  /** A page of the keys below `prefix` after the key `after`, in the order of S3: by their bytes. */
  page(prefix: string, after: string): { readonly keys: readonly string[]; readonly more: boolean } {
    const keys = [...this.objects.keys()]
      .filter((key) => key.startsWith(prefix) && byBytes(key, after) > 0)
      .sort(byBytes)
    return { keys: keys.slice(0, PAGE), more: keys.length > PAGE }
  }

  nowMs(): number {
    return this.#nowMs()
  }

  /** Writes an object without any condition, as somebody else would. Returns its ETag. */
  write(key: string, body: Buffer | string): string {
    this.#writes += 1
    const etag = `"${this.#writes}"`
    this.objects.set(key, { body: Buffer.from(body), etag, writtenMs: this.#nowMs() })
    return etag
  }

  async #bytesOf(body: ObjectBody): Promise<Buffer> {
    if ('file' in body)
      return await assembled(await readFile(body.file), body, async (key) => this.objects.get(key)?.body)
    if (!('copyOf' in body)) return Buffer.from(body)
    const found = this.objects.get(body.copyOf)?.body
    if (found?.length === body.bytes) return found
    throw new ObjectStoreError(`${body.copyOf} cannot be copied: it has ${found?.length} bytes`)
  }

  #ageMs({ writtenMs }: ModelObject): number {
    return Math.max(0, this.#nowMs() - writtenMs)
  }

  async *#list(prefix: string, page: () => Promise<void>): AsyncIterable<ListedObject> {
    let after = ''
    for (;;) {
      await page()
      const { keys, more } = this.page(prefix, after)
      for (const key of keys) {
        const found = this.objects.get(key)
        if (found !== undefined)
          yield { key, bytes: found.body.length, etag: found.etag, ageMs: this.#ageMs(found) }
      }
      if (!more) return
      after = keys.at(-1) ?? ''
    }
  }
}

/** What arrives of a file whose equal parts the store copies. `fault` may change a copy, or throw. */
export const assembled = async (
  file: Buffer,
  body: Pick<FileBody, 'base' | 'onSent'>,
  bytesOf: (key: string) => Promise<Uint8Array | undefined>,
  fault: (copy: Buffer) => Buffer = (copy) => copy,
): Promise<Buffer> => {
  const opened = {
    read: async (buffer: Buffer, offset: number, length: number, position: number) => ({
      bytesRead: file.copy(buffer, offset, position, position + length),
    }),
  }
  const parts = partsOf(file.length, Math.max(1, Math.ceil(file.length / PARTS)))
  const sent = await sendParts(
    opened,
    parts,
    body,
    {
      send: async (_, bytes) => Buffer.from(bytes),
      copy: async ({ position, bytes }, _, copyOf) => {
        const copy = (await bytesOf(copyOf))?.subarray(position, position + bytes)
        if (copy?.length !== bytes) throw new ObjectStoreError(`${copyOf} cannot be copied`)
        return fault(Buffer.from(copy))
      },
      isProved: (answer, bytes) => answer.equals(bytes),
    },
    new AbortController().signal,
  )
  return Buffer.concat(sent)
}

const PARTS = 20

const byBytes = (a: string, b: string): number => Buffer.compare(Buffer.from(a), Buffer.from(b))

const PAGE = 1_000
