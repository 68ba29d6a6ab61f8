/**
 * The way of a process to the store. A request takes time, and happens although its process died, stands still, or gave up waiting.
 */
import { readFileSync } from 'node:fs'
import { abortReason } from '../../../src/base/clock.js'
import {
  type ObjectBody,
  type ObjectStore,
  ObjectStoreError,
} from '../../../src/object-store/object-store.js'
import type { MemoryFiles } from './files.js'
import { type Machine, never } from './machine.js'

/** `late`: the client gives up, and the request happens after that. `repeated`: the client repeats it after a lost answer. */
type Fault = 'refused' | 'unreachable' | 'lost_answer' | 'repeated' | 'late'
const FAULTS: readonly Fault[] = ['refused', 'unreachable', 'lost_answer', 'repeated', 'late']

export interface NetworkOptions {
  readonly machine: Machine
  /** A client without faults. */
  readonly store: ObjectStore
  readonly files: MemoryFiles
  /** Probability of a fault per request. */
  readonly faulty: number
  /** During these times the store cannot be reached. */
  readonly outages: readonly { readonly fromMs: number; readonly toMs: number }[]
}

/** The client gives up after so long. */
const TIMEOUT_MS = 10_000
const LATE_MS_MAX = 200_000
const NEVER = new AbortController().signal

export const networkStore = (options: NetworkOptions): ObjectStore => {
  const { machine, store, files } = options
  const bytesOf = (body: ObjectBody): Uint8Array =>
    'file' in body ? (files.read(body.file) ?? readFileSync(body.file)) : body
  const request = <Result>(what: string, signal: AbortSignal, act: () => Promise<Result>) =>
    requestOf(options, what, signal, act)
  return {
    address: store.address,
    get: (key, signal) => request(`get ${key}`, signal, () => store.get(key, NEVER)),
    getToFile: async (key, path, signal) => {
      const found = await request(`getToFile ${key}`, signal, () => store.get(key, NEVER))
      if (found === null) return false
      if (!machine.step(`write ${path}`)) {
        files.write(path, found.body.slice(0, found.body.length / 2) as Buffer)
        return never()
      }
      await machine.settle()
      files.write(path, found.body as Buffer)
      return true
    },
    putIfAbsent: (key, body, signal) => {
      const bytes = bytesOf(body)
      return request(`putIfAbsent ${key}`, signal, () => store.putIfAbsent(key, bytes, NEVER))
    },
    putIfMatch: (key, body, etag, signal) => {
      const bytes = bytesOf(body)
      return request(`putIfMatch ${key}`, signal, () => store.putIfMatch(key, bytes, etag, NEVER))
    },
    list: async function* (prefix, signal) {
      yield* await request(`list ${prefix}`, signal, async () => {
        const listed = []
        for await (const object of store.list(prefix, NEVER)) listed.push(object)
        return listed
      })
    },
    delete: (keys, signal) =>
      request(`delete ${keys.length} objects`, signal, () => store.delete(keys, NEVER)),
    close: async () => undefined,
  }
}

const requestOf = async <Result>(
  { machine, faulty, outages }: NetworkOptions,
  what: string,
  signal: AbortSignal,
  act: () => Promise<Result>,
): Promise<Result> => {
  if (signal.aborted) throw abortReason(signal)
  const { random, schedule } = machine
  if (!machine.step(what)) {
    // The kill may come just after the request was sent.
    if (random.chance(0.5)) schedule.after(random.whole(0, LATE_MS_MAX), () => void act())
    return never()
  }
  await machine.settle()
  const isOut = outages.some(({ fromMs, toMs }) => schedule.nowMs >= fromMs && schedule.nowMs < toMs)
  const fault = isOut ? 'unreachable' : random.chance(faulty) ? random.pick(FAULTS) : null
  machine.say(fault === null ? what : `${what}  [${fault}]`)
  const thereMs = random.whole(5, 150)
  const backMs = random.whole(5, 150)
  return await new Promise<Result>((resolve, reject) => {
    const onAbort = () => reject(abortReason(signal))
    signal.addEventListener('abort', onAbort, { once: true })
    const answer = (afterMs: number, settle: () => void) => {
      machine.after(afterMs, () => {
        signal.removeEventListener('abort', onAbort)
        if (machine.step(`answer of ${what}`)) void machine.settle().then(settle)
      })
    }
    const fail = (afterMs: number, why: string) =>
      answer(afterMs, () => reject(new ObjectStoreError(`${what}: ${why}`)))
    if (fault === 'refused') return fail(backMs, 'refused (403)')
    if (fault === 'unreachable') return fail(random.chance(0.5) ? backMs : TIMEOUT_MS, 'no answer')
    if (fault === 'late') {
      fail(TIMEOUT_MS, 'no answer yet')
      schedule.after(random.whole(TIMEOUT_MS, LATE_MS_MAX), () => void act())
      return
    }
    schedule.after(thereMs, () => {
      void act().then((result) => {
        if (fault === 'lost_answer') return fail(TIMEOUT_MS, 'the answer was lost')
        if (fault === 'repeated')
          return schedule.after(
            TIMEOUT_MS,
            () => void act().then((again) => answer(backMs, () => resolve(again))),
          )
        return answer(backMs, () => resolve(result))
      })
    })
  })
}
