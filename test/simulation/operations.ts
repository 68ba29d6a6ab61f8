/**
 * Replaces time, files and databases of this process with those of the simulation, for good. Every file operation and every database
 * statement of the process under simulation is a step: the process may be killed before or after it, or the operation may fail.
 */
import fs from 'node:fs'
import promises from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'
import { DuckDBConnection, DuckDBInstance } from '@duckdb/node-api'
import { createDatabases, type Databases } from './databases.js'
import { CrashedError, type Generation, generations, never } from './generation.js'
import { VirtualTime } from './virtual-time.js'

// The command loads it only with `storage`. Loading is not counted as a step, so it happens now.
import '../../src/storage/bucket/bucket-storage.js'

type Call = (...given: unknown[]) => unknown
type Holder = Record<string, unknown>

export interface TakenOver {
  readonly time: VirtualTime
  readonly databases: Databases
}

export const takeOver = async (): Promise<TakenOver & Disposable> => {
  // The code under test reads its version from the file two directories above its own.
  fs.copyFileSync(
    new URL('../../../package.json', import.meta.url),
    new URL('../../package.json', import.meta.url),
  )
  // No process has this identifier. So a run that was killed does not count as running.
  Object.defineProperty(process, 'pid', { value: 2 ** 30 })
  const time = new VirtualTime()
  time.install()
  const databases = await createDatabases()
  wrapAsync(promises as unknown as Holder, ASYNCHRONOUS, '', time)
  wrapSync()
  wrapCallbacks(time)
  const handle = await promises.open('/dev/null', 'r')
  wrapAsync(Object.getPrototypeOf(handle), ['writeFile', 'write', 'sync', 'read', 'stat'], 'file.', time)
  await handle.close()
  wrapDuckDB(time, databases)
  syncBuiltinESMExports()
  return { time, databases, [Symbol.dispose]: () => databases[Symbol.dispose]() }
}

/** Functions of `node:fs/promises`, and of `node:fs` the synchronous ones and those that streams use. */
const ASYNCHRONOUS = [
  ...['open', 'mkdir', 'rm', 'rename', 'stat', 'access', 'readFile', 'writeFile', 'readdir', 'unlink'],
  ...['lstat', 'readlink', 'link', 'symlink', 'copyFile', 'chmod'],
]
const SYNCHRONOUS = [
  ...['openSync', 'writeSync', 'closeSync', 'renameSync', 'rmSync', 'mkdirSync', 'readSync', 'fstatSync'],
]
const OF_STREAMS = ['open', 'write', 'writev', 'close']

const detailOf = (given: readonly unknown[]): string =>
  given
    .filter((value) => typeof value === 'string')
    .map((value) => String(value).replaceAll(/\s+/g, ' ').slice(0, 90))
    .join(' ')

const take = async (
  time: VirtualTime,
  generation: Generation,
  name: string,
  detail: string,
  run: (isTorn: boolean) => Promise<unknown>,
): Promise<unknown> => {
  const verdict = generation.step(name, detail)
  if (verdict === 'dead') return never()
  if (verdict instanceof Error) throw verdict
  if (verdict === 'crash_before') {
    generation.die()
    return never()
  }
  try {
    return await time.underWay(() => run(verdict === 'crash_torn'))
  } finally {
    if (verdict !== 'go') generation.die()
    if (generation.dead) await never()
  }
}

interface Called {
  readonly name: string
  readonly generation: Generation
  readonly given: readonly unknown[]
  /** The original, on the same object. */
  readonly call: Call
}

/** Replaces functions for the process under simulation. Others still call the originals. */
const replace = (holder: Holder, names: readonly string[], act: (called: Called) => unknown): void => {
  for (const name of names) {
    const original = holder[name] as Call
    holder[name] = function (this: unknown, ...given: unknown[]) {
      const generation = generations.getStore()
      const call: Call = (...args) => Reflect.apply(original, this, args)
      return generation === undefined ? call(...given) : act({ name, generation, given, call })
    }
  }
}

const wrapAsync = (holder: Holder, names: readonly string[], prefix: string, time: VirtualTime): void =>
  replace(holder, names, ({ name, generation, given, call }) =>
    take(time, generation, `${prefix}${name}`, detailOf(given), async () => {
      const result = await (call(...given) as Promise<unknown>)
      if (name === 'open') wrapHandle(result as OpenHandle, generation, time)
      return result
    }),
  )

type OpenHandle = { fd: number; close: Call }

/** `close` is a property of each handle, not of its class. */
const wrapHandle = (handle: OpenHandle, generation: Generation, time: VirtualTime): void => {
  const { fd, close } = handle
  generation.handles.add(close as () => Promise<void>)
  handle.close = () =>
    take(time, generation, 'file.close', String(fd), async () => {
      generation.handles.delete(close as () => Promise<void>)
      await close()
    })
}

const wrapSync = (): void => {
  const { writeSync } = fs
  replace(fs as unknown as Holder, SYNCHRONOUS, ({ name, generation, given, call }) =>
    takeNow(generation, name, given, writeSync, () => {
      const result = call(...given)
      if (name === 'openSync') generation.descriptors.add(Number(result))
      if (name === 'closeSync') generation.descriptors.delete(Number(given[0]))
      return result
    }),
  )
}

const takeNow = (
  generation: Generation,
  name: string,
  given: readonly unknown[],
  write: typeof fs.writeSync,
  run: () => unknown,
): unknown => {
  const verdict = generation.step(name, detailOf(given))
  if (verdict instanceof Error) throw verdict
  if (verdict === 'crash_torn' && name === 'writeSync') writeHalf(write, given)
  if (verdict === 'crash_before' || verdict === 'crash_torn') generation.die()
  if (generation.dead) throw new CrashedError(name)
  const result = run()
  if (verdict !== 'crash_after') return result
  generation.die()
  throw new CrashedError(name)
}

const writeHalf = (write: typeof fs.writeSync, [descriptor, text]: readonly unknown[]): void => {
  const bytes = Buffer.from(typeof text === 'string' ? text : (text as Uint8Array))
  write(Number(descriptor), bytes.subarray(0, Math.ceil(bytes.length / 2)))
}

const wrapCallbacks = (time: VirtualTime): void =>
  replace(fs as unknown as Holder, OF_STREAMS, ({ name, generation, given, call }) => {
    const callback = given.at(-1)
    if (typeof callback !== 'function') return call(...given)
    const run = () =>
      new Promise<unknown[]>((resolve, reject) => {
        const end = (error: Error | null, ...results: unknown[]) =>
          error === null ? resolve(results) : reject(error)
        call(...given.slice(0, -1), end)
      })
    const step = take(time, generation, `stream.${name}`, detailOf(given), run) as Promise<unknown[]>
    step.then(
      (results) => callback(null, ...results),
      (error: unknown) => callback(error),
    )
    return undefined
  })

/** An instance of the code under test is a file of `databases`, and its connections begin in that file. */
const wrapDuckDB = (time: VirtualTime, databases: Databases): void => {
  const create = DuckDBInstance.create.bind(DuckDBInstance)
  DuckDBInstance.create = async (path, options) => {
    const generation = generations.getStore()
    if (generation === undefined) return create(path, options)
    const isReadOnly = options?.access_mode === 'READ_ONLY'
    const opened = await take(time, generation, 'database.open', String(path), () =>
      generations.exit(async () => {
        // Another process has one open. Killing this one is a way to keep them apart.
        if (!isReadOnly && databases.holdsWork()) return generation.die()
        const file = await databases.open(String(path), isReadOnly)
        generation.closers.push(file.abandon)
        return {
          connect: () =>
            take(time, generation, 'database.connect', '', () => generations.exit(() => file.connect())),
          closeSync: () => {
            const verdict = generation.step('database.close', '')
            if (verdict === 'crash_before' || verdict === 'dead') generation.die()
            if (generation.dead) throw new CrashedError('close')
            file.close()
            if (verdict !== 'go' && !(verdict instanceof Error)) {
              generation.die()
              throw new CrashedError('close')
            }
          },
        }
      }),
    )
    return opened as DuckDBInstance
  }
  const connections = DuckDBConnection.prototype as unknown as Holder
  const methods = ['run', 'runAndReadAll', 'stream', 'createAppender']
  replace(connections, methods, ({ name, generation, given, call }) => {
    if (nested.has(generation)) return call(...given)
    const sql = String(given[0])
    const { commitMs } = generation.plan
    const kind = sql === 'COMMIT' || sql === 'CHECKPOINT' ? sql : `sql.${name}`
    const run = (isTorn: boolean) => {
      if (generation.plan.isHeld && sql.startsWith('ATTACH ') && sql.includes('/fieldwork.duckdb'))
        return Promise.reject(new Error(HELD))
      if (kind === 'COMMIT' && isTorn) generation.tornLogFrom = logBytes(generation)
      nested.add(generation)
      const result = call(...sharing(given)) as Promise<unknown>
      nested.delete(generation)
      return result
    }
    return take(time, generation, kind, detailOf(given), run).then(async (value) => {
      if (name === 'stream') wrapResult(value as { fetchChunk: () => Promise<unknown> }, time)
      if (kind === 'COMMIT' && commitMs > 0) await new Promise((resolve) => setTimeout(resolve, commitMs))
      return value
    })
  })
}

/** All databases here are files of one instance, so none may close it to the others. */
const sharing = ([statement, ...values]: readonly unknown[]): readonly unknown[] => [
  typeof statement === 'string' ? statement.replaceAll(CLOSING, '') : statement,
  ...values,
]

const CLOSING =
  /;SET (?:allowed_directories|allowed_paths|enable_external_access|lock_configuration) = [^;]*/g

/** Reading a part of a streamed result is no step of its own, but the time stands still meanwhile. */
const wrapResult = (result: { fetchChunk: () => Promise<unknown> }, time: VirtualTime): void => {
  const fetchChunk = result.fetchChunk.bind(result)
  result.fetchChunk = () => time.underWay(fetchChunk)
}

/** DuckDB's message about a file that another process has open for writing. */
const HELD =
  'IO Error: Could not set lock on file "fieldwork.duckdb": Conflicting lock is held in /usr/bin/python3 (PID 4711). See also https://duckdb.org/docs/stable/connect/concurrency'

/** `runAndReadAll` calls other methods of its class, which together are one step. */
const nested = new WeakSet<Generation>()

/** The bytes of its write-ahead log. */
const logBytes = ({ logFile }: Generation): number =>
  logFile === null ? 0 : (fs.lstatSync(logFile, { throwIfNoEntry: false })?.size ?? 0)
