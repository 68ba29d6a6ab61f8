/**
 * The way of a process to the store. A request takes time, and happens although its process died, stands still, or gave up waiting.
 */
import { readFileSync } from 'node:fs'
import { abortReason, throwIfAborted } from '../../../src/base/signals.js'
import { type ObjectStore, ObjectStoreError } from '../../../src/object-store/object-store.js'
import { never } from '../generation.js'
import { clientOn } from '../store.js'
import type { MemoryFiles } from './files.js'
import type { Machine } from './machine.js'

/** `late`: the client gives up, and the request happens after that. `repeated`: the client repeats it after a lost answer. */
const FAULTS = ['refused', 'unreachable', 'lost_answer', 'repeated', 'late'] as const

interface NetworkOptions {
  readonly machine: Machine
  readonly store: ObjectStore
  readonly files: MemoryFiles
  readonly faulty: number
  readonly outages: readonly { readonly fromMs: number; readonly toMs: number }[]
}

const TIMEOUT_MS = 10_000
const LATE_MS_MAX = 200_000

export const networkStore = (options: NetworkOptions): ObjectStore => {
  const { machine, store, files } = options
  return clientOn(store, {
    send: (what, signal, act) => requestOf(options, what, signal, act),
    copied: (part) => copiedBy(options, part),
    bytesIn: (file) => files.read(file) ?? readFileSync(file),
    keep: async (path, body) => {
      if (!machine.step(`write ${path}`)) {
        files.write(path, Buffer.from(body.slice(0, body.length / 2)))
        return await never()
      }
      await machine.settle()
      files.write(path, Buffer.from(body))
    },
  })
}

/** The store refuses a copy, or loses its bytes, and only its checksum says so. */
const copiedBy = ({ machine, faulty }: NetworkOptions, part: Buffer): Buffer => {
  const { random } = machine
  if (!random.chance(faulty)) return part
  if (random.chance(0.5)) throw new ObjectStoreError('a copy was refused (501)')
  machine.say('the store loses a copy')
  return part.fill('?')
}

const requestOf = async <Result>(
  { machine, faulty, outages }: NetworkOptions,
  what: string,
  signal: AbortSignal,
  act: () => Promise<Result>,
): Promise<Result> => {
  throwIfAborted(signal)
  const { random, schedule } = machine
  if (!machine.step(what)) {
    // The kill may come just after the request was sent.
    if (random.chance(0.5)) schedule.after(random.whole(0, LATE_MS_MAX), () => void act().catch(unheard))
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
      schedule.after(random.whole(TIMEOUT_MS, LATE_MS_MAX), () => void act().catch(unheard))
      return
    }
    const refuse = (error: unknown) => answer(backMs, () => reject(error))
    schedule.after(thereMs, () => {
      void act().then((result) => {
        if (fault === 'lost_answer') return fail(TIMEOUT_MS, 'the answer was lost')
        if (fault === 'repeated')
          return schedule.after(
            TIMEOUT_MS,
            () => void act().then((again) => answer(backMs, () => resolve(again)), refuse),
          )
        return answer(backMs, () => resolve(result))
      }, refuse)
    })
  })
}

/** Nobody waits for the answer of a store that refuses a late request. */
const unheard = (error: unknown): void => {
  if (!(error instanceof ObjectStoreError)) throw error
}
